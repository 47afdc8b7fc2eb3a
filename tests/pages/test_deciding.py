"""Two runs side by side: the verdict meter, judging in place, and the parity strip."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.runs import agreement, deciding
from pages.components.runs.deciding import next_hit
from pages.components.shell.charts import DARK, LIGHT
from rag import HitToJudge, KnowledgeBase, ParityData, QuestionParityData, RunDecision, Workspace
from rag.evaluation.deciding import Decision, Step
from rag.experiments.runs import decisions

OpenPage = Callable[..., AppTest]
STEPS = (Step(0, 0.1, -0.4, 0.6), Step(1, 0.2, -0.1, 0.5), Step(2, 0.25, 0.02, 0.4))


def _decision(verdict: str, steps: tuple[Step, ...], more: int | None) -> RunDecision:
    state = Decision(verdict, len(steps) - 1, 9, 0.05, more, steps)  # type: ignore[arg-type]
    return RunDecision("a", "b", "dcg@10", "set", 4, 0, state, ())


@pytest.mark.parametrize(
    ("verdict", "more", "words"),
    [
        (
            "better",
            None,
            "New is better than Old: +0.250 DCG@10 (95% interval +0.020 to +0.400) after 2 labels.",
        ),
        (
            "open",
            18,
            "About 18 more labels decide this. After 2 labels the difference in DCG@10 is +0.020 "
            "to +0.400 (95% interval).",
        ),
        (
            "open",
            1,
            "About 1 more label decides this. After 2 labels the difference in DCG@10 is +0.020 "
            "to +0.400 (95% interval).",
        ),
        (
            "equal",
            None,
            "New and Old are equal within 0.05: +0.250 DCG@10 (95% interval +0.020 to +0.400) "
            "after 2 labels.",
        ),
    ],
)
def test_the_verdict_comes_first(verdict, more, words):
    assert _decision(verdict, STEPS, more).headline("New", "Old") == words


def test_the_meter_has_interval_zone_and_forecast():
    for colours in (LIGHT, DARK):
        chart = deciding.figure(_decision("open", STEPS, 3), "<New>", "Old", colours)
        high, low, line = chart.data
        assert (list(high.y), list(low.y)) == ([0.6, 0.5, 0.4], [-0.4, -0.1, 0.02])
        assert list(line.y) == [0.1, 0.2, 0.25]
        zone, forecast = chart.layout.shapes
        assert (zone.y0, zone.y1) == (-0.05, 0.05)
        assert forecast.x0 == 5
        assert chart.layout.annotations[0].text == "&lt;New> is better"
    far = deciding.figure(_decision("open", STEPS, 500), "New", "Old", LIGHT)
    assert len(far.layout.shapes) == 1
    assert deciding.meter_rows(_decision("open", STEPS, 3))[0] == {
        "Labels": 2, "Difference": 0.25, "Low": 0.02, "High": 0.4
    }  # fmt: skip


def test_a_skipped_hit_comes_again_when_no_other_is_left():
    one, two = (HitToJudge("q", "?", i, "d", "d", None, 0, 1, "x", (1, None)) for i in "ab")
    assert next_hit((one, two), []) == one
    assert next_hit((one, two), [("q", "a")]) == two
    assert next_hit((one, two), [("q", "a"), ("q", "b")]) == one


def test_the_strip_shows_the_least_agreement_first():
    rows = tuple(
        QuestionParityData(
            id=f"q{n}",
            question=f"Is {n} < 3?",
            overlap=n / 30,
            rank_biased_overlap=1 - n / 30,
            first_difference=None if n == 30 else 1,
        )
        for n in range(31)
    )
    parity = ParityData(
        run="a",
        other="b",
        k=10,
        overlap=0.5,
        rank_biased_overlap=0.5,
        equal=1,
        left_out=2,
        questions=rows,
    )
    (cells,) = agreement.figure(parity, "overlap", LIGHT).data
    assert list(cells.marker.color) == [n / 30 for n in range(31)]
    assert (cells.x[24], cells.base[24], cells.base[0]) == (0, -2, -1)
    assert list(cells.customdata[1][:2]) == ["q1", "Is 1 &lt; 3?"]
    (cells,) = agreement.figure(parity, "rank_biased_overlap", DARK).data
    assert cells.customdata[0][0] == "q30"


@pytest.fixture
def base(labelled: Workspace) -> KnowledgeBase:
    return labelled.base("notes")


def test_hits_are_judged_in_place_and_undone(base, open_page, monkeypatch):
    monkeypatch.setattr(decisions, "_seed", lambda *_: 7)  # run ids are random, and seed the draw
    run, other = (
        base.runs.evaluate("checks", base.recipe().with_fields(changes)).run.id
        for changes in (
            {"search.mode": "lexical", "search.threshold": None},
            {"search.mode": "dense", "search.threshold": None},
        )
    )
    key = f"deciding_{run}_{other}_dcg@10"
    asked = {"runs": f"{run},{other}", "against": other, "pair": "Which is better?"}
    app = open_page("runs.py", **asked, decide="DCG@10")
    app.button(key=f"{key}_start").click().run()
    begun = base.runs.decision(run, other, "dcg@10")
    assert (begun.state.verdict, begun.state.pool > 2) == ("open", True)
    assert f"0 of {begun.state.pool}" in "\n".join(line.value for line in app.caption)
    hit = begun.next_hits[0]
    base.runs.judge_decision(run, other, "dcg@10", [(hit.question_id, hit.item, 2)])
    app.button(key=f"{key}_grade_0").click().run()  # the page still shows the judged hit
    assert not app.exception
    labels = [item.grade for each in base.questions.labelled("checks") for item in each.labels]
    assert 0 not in labels
    app.button(key=f"{key}_grade_0").click().run()
    assert base.runs.decision(run, other, "dcg@10").state.labels == 2
    app.button(key=f"{key}_undo").click().run()
    assert base.runs.decision(run, other, "dcg@10").state.labels == 1
    app.segmented_control(key="pair").set_value("Same results?").run()
    listed = next(table.value for table in app.dataframe if "Verdict" in table.value)
    assert list(listed["State"]) == ["open"]
    assert "After 1 label the difference in DCG@10" in listed["Verdict"][0]
    assert any("The runs share" in line.value for line in app.markdown)
