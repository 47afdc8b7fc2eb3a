"""Decisions between two runs by the API, as the command line makes them."""

from tests.api import client
from tests.contracts.test_api_access import BASES, problem
from tests.runs import SET, VECTORS, WORDS, handbook

BASE = f"{BASES}/handbook"


def test_a_decision_is_started_judged_and_listed(home):
    workspace, base = handbook(home)
    run, other = (base.runs.evaluate(SET, each, (3,)).run.id for each in (WORDS, VECTORS))
    api, address = client(workspace), f"{BASE}/runs/{run}/decision"
    asked = {"against": other, "metric": "dcg@3"}
    missing = api.get(address, params=asked)
    assert "There is no decision" in str(problem(missing, 404)["detail"])
    begun = api.post(address, json=asked).json()
    assert (begun["verdict"], begun["labels"], begun["questions"]) == ("open", 0, 4)
    assert api.get(address, params=asked).json() == begun
    hit = begun["next"][0]
    grade = {"question": hit["question"], "passage": hit["passage"], "grade": 0}
    judged = api.post(f"{address}/judgements", json=asked | {"judgements": [grade]}).json()
    assert judged["labels"] == 1
    assert hit not in judged["next"]
    again = asked | {"judgements": [grade | {"grade": 3}], "replace": False}
    assert api.post(f"{address}/judgements", json=again).json() == judged
    unknown = asked | {"judgements": [grade | {"passage": "unknown"}]}
    refused = api.post(f"{address}/judgements", json=unknown)
    assert "is no hit" in str(problem(refused, 422)["detail"])
    few = api.get(address, params=asked | {"limit": 1, "margin": 0.01}).json()
    assert (len(few["next"]), few["margin"]) == (1, 0.01)
    (entry,) = api.get(f"{BASE}/decisions").json()["items"]
    assert (entry["run"], entry["other"], entry["metric"]) == (run, other, "dcg@3")
    assert (entry["verdict"], entry["labels"], entry["set"]) == ("open", 1, SET)
    state = base.runs.decision(run, other, "dcg@3").state
    assert entry["interval"] == list(state.interval) == judged["interval"]
