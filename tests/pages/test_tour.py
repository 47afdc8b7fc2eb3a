"""The Tour page, and the button that keeps what a page shows as a stop."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest

from rag import KnowledgeBase, TourQuote, TourStop, TourValue, Workspace
from tests.answers import asked
from tests.pages.conftest import QUESTIONS
from tests.workspaces import add

OpenPage = Callable[..., AppTest]
QUESTION = QUESTIONS[0][1]


@pytest.fixture
def base(labelled: Workspace) -> KnowledgeBase:
    return labelled.base("notes")


@pytest.fixture
def tour(base: KnowledgeBase) -> int:
    tour_id = base.conversations.tours.create("For the board")
    value = TourValue("nDCG@10", "0.812", "0.740 to 0.870")
    base.conversations.tours.add(
        tour_id,
        [
            TourStop("answer", QUESTION, "Until 30 June.", note="Look here."),
            TourStop("metrics", "How good is it?", values=(value,)),
        ],
    )
    return tour_id


def _said(app: AppTest) -> str:
    shown = [*app.main.markdown, *app.main.caption, *app.main.info, *app.main.warning]
    return "\n".join(element.value for element in shown)


def _links(app: AppTest) -> list[str]:
    return [link.proto.label for link in app.main.get("page_link")]


def test_without_tours_it_says_how_to_compose_one(base, open_page):
    app = open_page("tour.py")
    assert [title.value for title in app.title] == ["Tours"]


def test_a_reader_goes_from_stop_to_stop(tour, open_page):
    app = open_page("tour.py", tour=str(tour))
    assert [title.value for title in app.title] == ["For the board"]
    assert [header.value for header in app.subheader] == [
        f":material/forum: {QUESTION.replace('?', chr(92) + '?')}"
    ]
    assert "Look here\\." in _said(app)
    assert app.button(key="tour_back").disabled
    assert _links(app).count("Ask your own question") == 1
    app.button(key="tour_next").click().run()
    assert app.query_params["stop"] == "2"
    assert [metric.value for metric in app.metric] == ["0.812"]
    assert app.button(key="tour_next").disabled
    assert "That was the last stop." in _said(app)
    assert _links(app).count("Ask your own question") == 1
    app.button(key="tour_again").click().run()
    assert app.query_params["stop"] == "1"
    assert "That was the last stop." not in _said(app)
    assert not app.exception


def test_what_is_read_aloud_has_no_backslashes(tour, open_page):
    app = open_page("tour.py", tour=str(tour))
    assert [area.label for area in app.text_area] == [QUESTION, "How good is it?"]


def test_a_tour_of_one_stop_has_no_way_to_others(base, open_page):
    tour = base.conversations.tours.create(
        "One", [TourStop("answer", QUESTION, "Until **30 June**.")]
    )
    app = open_page("tour.py", tour=str(tour))
    keys = {button.key for button in app.button}
    assert {"tour_back", "tour_next"}.isdisjoint(keys)
    assert "Until 30 June\\." in _said(app)
    app.button(key="tour_share").click().run()
    assert any("*notes*" in element.value for element in app.markdown)


def test_code_and_rows_around_a_quote_are_shown_as_such(base, open_page):
    before = ":::note\n\nField\tMeaning\n\n:::\n\n```yaml\na:\n  - b\n```\n\n"
    quote = TourQuote("a.md", "It is held,\nthen sent.", before, " Then\nit ends.")
    tour = base.conversations.tours.create("Code", [TourStop("page", "Where", quotes=(quote,))])
    app = open_page("tour.py", tour=str(tour))
    assert ("a:\n  - b", "yaml") in [(code.value, code.language) for code in app.code]
    shown = [markdown.value for markdown in app.markdown]
    assert "Field · Meaning" in shown
    assert ":orange-background[It is held\\, then sent\\.] Then it ends\\." in shown


def test_the_next_stop_goes_to_the_tour_of_the_last_one(base, tour, open_page):
    newer = base.conversations.tours.create("Newer")
    app = open_page("chat.py")
    app.chat_input[0].set_value(QUESTION).run()
    (turn,) = base.conversations.turns(1)
    app.button(key=f"tour_turn_{turn.id}").click().run()
    assert app.selectbox(key="tour_add_to").value == newer
    app.selectbox(key="tour_add_to").set_value(0)
    app.button(key="tour_add_really").click().run()
    added = base.conversations.tours.list_tours()[0].id
    assert added not in (newer, tour)
    app.button(key=f"tour_turn_{turn.id}").click().run()
    assert app.selectbox(key="tour_add_to").value == added


def test_the_page_of_a_stop_is_that_of_the_source_that_is_open(base, tour, open_page):
    app = open_page("chat.py")
    app.chat_input[0].set_value("How is leave carried over and sick leave reported?").run()
    (turn,) = base.conversations.turns(1)
    first, last = turn.citations
    assert first.quote != last.quote
    app.query_params["source"] = f"{turn.id}.{last.n}"
    app.run()
    app.button(key=f"tour_turn_{turn.id}").click().run()
    assert any("source that is open beside the answer" in one.value for one in app.caption)
    app.button(key="tour_add_really").click().run()
    assert base.conversations.tours.get(tour).stops[-1].quotes[0].text == last.quote


@pytest.mark.parametrize("stop", ["0", "99", "x", "-1"])
def test_a_stop_that_is_none_shows_the_nearest(tour, open_page, stop):
    app = open_page("tour.py", tour=str(tour), stop=stop)
    assert not app.exception
    assert len(app.subheader) == 1


@pytest.mark.parametrize("named", ["999", "x", "9" * 30])
def test_a_tour_that_is_gone_is_said(tour, open_page, named):
    app = open_page("tour.py", tour=named)
    assert not app.exception
    assert app.button(key=f"tour_open_{tour}").label == "Open"


def test_an_owner_changes_order_and_words(base, tour, open_page):
    app = open_page("tour.py", tour=str(tour))
    first, second = (box for box in app.number_input if box.label == "Place")
    first.set_value(2)
    second.set_value(1)
    app.text_area[1].set_value("Good enough.")
    app.button(key="FormSubmitter:tour_form-Save").click().run()
    assert not app.exception
    stops = base.conversations.tours.get(tour).stops
    assert [(stop.kind, stop.note) for stop in stops] == [
        ("metrics", "Good enough."),
        ("answer", "Look here."),
    ]


def test_one_moved_stop_takes_the_place_that_it_is_given(base, tour, open_page):
    base.conversations.tours.add(tour, [TourStop("why", "Why?")])
    app = open_page("tour.py", tour=str(tour))
    places = [box for box in app.number_input if box.label == "Place"]
    places[2].set_value(1)
    app.button(key="FormSubmitter:tour_form-Save").click().run()
    assert [stop.kind for stop in base.conversations.tours.get(tour).stops] == [
        "why",
        "answer",
        "metrics",
    ]
    places = [box for box in app.number_input if box.label == "Place"]
    assert [box.value for box in places] == [1, 2, 3]
    places[0].set_value(2)
    app.button(key="FormSubmitter:tour_form-Save").click().run()
    assert [stop.kind for stop in base.conversations.tours.get(tour).stops] == [
        "answer",
        "why",
        "metrics",
    ]


def test_what_another_tab_added_while_somebody_types_is_kept(base, tour, open_page):
    app = open_page("tour.py", tour=str(tour))
    app.text_area[0].set_value("My words.")
    base.conversations.tours.add(tour, [TourStop("why", "Why?")])
    app.button(key="FormSubmitter:tour_form-Save").click().run()
    assert [error.value for error in app.error] != []
    assert "changed elsewhere" in app.error[0].value
    assert [stop.kind for stop in base.conversations.tours.get(tour).stops] == [
        "answer",
        "metrics",
        "why",
    ]
    assert app.text_area[0].value == "My words."


def test_a_link_leads_to_the_tour(base, tour, open_page):
    app = open_page("tour.py", tour=str(tour))
    app.button(key="tour_share").click().run()
    app.selectbox(key="tour_life").set_value("30 days")
    app.button(key="tour_share_really").click().run()
    (link,) = base.access.links()
    assert (link.name, link.tour_id) == ("For the board", tour)
    assert (link.expires - link.created).days == 30
    (code,) = app.main.code
    assert code.value.endswith(f"/tour/{tour}")


def test_an_answer_is_kept_in_a_new_tour(base, open_page):
    talk = base.conversations.open(None)
    turn = asked(base, QUESTION, talk=talk).id
    app = open_page("chat.py", talk=str(talk))
    app.button(key=f"tour_turn_{turn}").click().run()
    assert app.text_input(key="tour_add_title").value == "notes"
    (listed,) = (one.value for one in app.markdown if one.value.startswith("This adds"))
    assert listed.startswith("This adds 2 stops:\n\n1. ")
    app.text_input(key="tour_add_title").set_value("Demo")
    app.text_area(key="tour_add_note").set_value("See.")
    app.button(key="tour_add_really").click().run()
    assert not app.exception
    (kept,) = base.conversations.tours.list_tours()
    assert kept.title == "Demo"
    assert app.button(key=f"tour_go_turn_{turn}").help == "Demo"
    assert [(stop.kind, stop.note) for stop in kept.stops] == [("answer", "See."), ("page", "")]
    assert kept.stops[0].title == QUESTION
    app.button(key=f"tour_go_turn_{turn}").click().run()
    assert app.query_params["tour"] == str(kept.id)
    assert app.title[0].value == "Demo"


def test_an_answer_that_is_out_of_date_is_asked_again(labelled, base, open_page):
    app = open_page("chat.py")
    app.chat_input[0].set_value(QUESTION).run()
    (turn,) = base.conversations.turns(1)
    app.button(key=f"tour_turn_{turn.id}").click().run()
    app.text_area(key="tour_add_note").set_value("See.")
    app.button(key="tour_add_really").click().run()
    (tour,) = base.conversations.tours.list_tours()
    app = open_page("tour.py", tour=str(tour.id))
    assert "changed since" not in _said(app)
    newer = "Unused leave may be carried over until 31 August, as the board decided."
    add(labelled, base, {"board.txt": newer})
    app = open_page("tour.py", tour=str(tour.id))
    assert "31 August" not in _said(app)
    app.button(key="tour_update").click().run()
    assert not app.exception
    assert "changed since" not in _said(app)
    assert "31 August" in _said(app)
    kept = base.conversations.tours.get(tour.id)
    assert (kept.title, len(kept.stops), kept.stops[0].note) == (tour.title, 2, "See.")
    assert len(base.conversations.recent()) == 1


def test_a_refused_new_answer_leaves_the_stop(base, open_page):
    recipe = base.recipe()
    basis = base.conversations.tours.basis(QUESTION, datetime.now(UTC), recipe)
    stop = TourStop("answer", QUESTION, "Until 30 June.", basis=basis)
    tour = base.conversations.tours.create("Board", [stop])
    base.recipes.save(recipe.with_fields({"search.threshold": 1.0}))
    app = open_page("tour.py", tour=str(tour))
    app.button(key="tour_update").click().run()
    assert not app.exception
    assert "not complete" not in _said(app)
    assert base.conversations.tours.get(tour).stops == (stop,)
    assert base.conversations.recent() == []
