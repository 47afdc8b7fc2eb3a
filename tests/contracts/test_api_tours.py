"""Guided tours by the API."""

from rag import TourQuote, TourStop
from tests.api import client
from tests.contracts.test_api_access import BASES, problem
from tests.runs import handbook

TOURS = f"{BASES}/handbook/tours"


def test_tours_are_listed_read_and_deleted(home):
    workspace, base = handbook(home)
    api = client(workspace)
    assert api.get(TOURS).json() == {"items": [], "total": 0, "next": None}
    tour_id = base.conversations.tours.create("For the board")
    stop = TourStop("page", "Where?", quotes=(TourQuote("leave.md", "text", "before "),))
    base.conversations.tours.add(tour_id, [stop])
    tour = api.get(f"{TOURS}/{tour_id}").json()
    assert (tour["id"], tour["title"]) == (tour_id, "For the board")
    assert tour["stops"] == [
        {
            "kind": "page",
            "title": "Where?",
            "text": "",
            "quotes": [
                {
                    "source": "leave.md",
                    "text": "text",
                    "before": "before ",
                    "after": "",
                    "markdown": True,
                }
            ],
            "values": [],
            "points": [],
            "note": "",
            "basis": None,
            "tested": "",
        }
    ]
    assert api.get(TOURS).json()["items"] == [tour]
    assert api.delete(f"{TOURS}/{tour_id}").status_code == 204
    problem(api.get(f"{TOURS}/{tour_id}"), 404)
    problem(api.delete(f"{TOURS}/{tour_id}"), 404)


def test_a_link_is_made_for_one_tour(home):
    workspace, base = handbook(home)
    api = client(workspace)
    tour = base.conversations.tours.create("For the board")
    links = f"{BASES}/handbook/links"
    made = api.post(links, json={"name": "board", "tour": tour}).json()
    path = made.pop("path")
    assert made["tour"] == tour
    assert path.endswith(f"/tour/{tour}")
    link = workspace.access.link(path.split("/")[2])
    assert (link.id, link.tour_id) == (made["id"], tour)
    assert api.post(links, json={}).json()["tour"] is None
    problem(api.post(links, json={"tour": tour + 1}), 404)
    assert api.delete(f"{TOURS}/{tour}").status_code == 204
    assert [item["tour"] for item in api.get(links).json()["items"]] == [None, 0]
