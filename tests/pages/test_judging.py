"""Judging what decides most: the queue of a run, and of two."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.labels.judging import where
from rag import HitToJudge, KnowledgeBase, Workspace

OpenPage = Callable[..., AppTest]


@pytest.fixture
def base(labelled: Workspace) -> KnowledgeBase:
    return labelled.base("notes")


def _run(base: KnowledgeBase, **fields: object) -> str:
    changes = {f"search.{name}": value for name, value in fields.items()}
    return base.runs.evaluate("checks", base.recipe().with_fields(changes)).run.id


def _labels(base: KnowledgeBase) -> int:
    return sum(len(each.labels) for each in base.questions.labelled("checks"))


def _said(app: AppTest) -> str:
    return "\n".join(each.value for each in [*app.markdown, *app.caption])


def test_a_grade_is_stored_and_the_next_passage_follows(base, open_page):
    run = _run(base, threshold=None)
    queue = base.questions.judging_queue(run)
    before = _labels(base)
    app = open_page("metrics.py")
    popover = f"metrics_judge_{run}"
    app.session_state[popover] = True
    app.button(key=f"judging_{run}").click().run()
    assert not app.session_state[popover]  # it would lie over the grades
    assert f"0 results judged, {len(queue)} to go." in _said(app)
    assert "rank" in _said(app)
    app.button(key="judging_grade_2").click().run()
    assert _labels(base) == before + 1
    question = next(
        each for each in base.questions.labelled("checks") if each.id == queue[0].question_id
    )
    last = question.labels[-1]
    assert (last.document_id, last.start, last.grade) == (queue[0].document_id, queue[0].start, 2)
    rest = base.questions.judging_queue(run)
    assert (queue[0].question_id, queue[0].start) not in {
        (each.question_id, each.start) for each in rest if each.document_id == queue[0].document_id
    }


def test_skipping_stores_nothing(base, open_page):
    run = _run(base, threshold=None)
    before = _labels(base)
    app = open_page("metrics.py")
    app.button(key=f"judging_{run}").click().run()
    app.button(key="judging_skip").click().run()
    assert _labels(base) == before


def _dialog() -> None:
    from pages.components.labels.judging import judge
    from pages.components.shell.session import workspace

    judge(workspace().base("notes"), "checks")


def test_the_last_grade_is_taken_back(base):
    queue = base.questions.judging_queue(_run(base, threshold=None))
    before = _labels(base)
    app = AppTest.from_function(_dialog, default_timeout=60)
    app.session_state["judging_queue"] = queue
    app.session_state["judging_done"] = 0
    app.run()
    assert f"**{queue[0].question}**".replace("?", r"\?") in _said(app)
    assert not [each for each in app.button if each.key == "judging_undo"]
    app.button(key="judging_grade_3").click().run()
    assert _labels(base) == before + 1
    assert f"1 result judged, {len(queue) - 1} to go." in _said(app)
    app.button(key="judging_undo").click().run()
    assert _labels(base) == before
    assert f"0 results judged, {len(queue)} to go." in _said(app)
    app.button(key="judging_skip").click().run()
    app.button(key="judging_undo").click().run()
    assert f"0 results judged, {len(queue)} to go." in _said(app)
    assert not [each for each in app.button if each.key == "judging_undo"]


def test_nothing_left_says_so(base, open_page):
    run = _run(base, threshold=1.0)
    assert base.questions.judging_queue(run) == []
    app = open_page("metrics.py")
    app.button(key=f"judging_{run}").click().run()
    assert "first ten results" in _said(app)


def test_two_runs_are_judged_where_they_differ(base, open_page):
    good, words = _run(base, threshold=None), _run(base, threshold=None, mode="lexical")
    base.runs.pin(good)
    queue = base.questions.judging_queue(words, good)
    app = open_page("runs.py", runs=words)
    app.button(key=f"judging_{words}").click().run()
    assert f"0 results judged, {len(queue)} to go." in _said(app)
    assert where(queue[0]) in _said(app)


def test_ranks_in_words():
    def hit(first: int | None, second: int | None) -> HitToJudge:
        return HitToJudge("q", "Q?", "i", "d", "d.md", None, 0, 9, "text", (first, second))

    assert where(hit(2, None)) == "rank 2"
    assert where(hit(None, 7)) == "rank 7"
    assert where(hit(1, 4)) == "rank 1 and rank 4"
