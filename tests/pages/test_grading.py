"""Labelling in the inspector: grades, exact words, questions without an answer."""

from dataclasses import replace

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from pages.components.inspector.candidates import candidates, figure
from pages.components.labels.grading import chosen, sentences
from pages.components.shell.charts import LIGHT
from rag import Chunk, InvalidInput, KnowledgeBase, Label, LabelledQuestion
from tests.handbook import LEAVE, texts, visit

SET = "questions"


def _chunks(base: KnowledgeBase) -> list[Chunk]:
    """The best two candidates: the passage on leave, and one of travel.md."""
    trace = base.search(LEAVE, base.recipe().with_fields({"search.threshold": None}))
    return [hit.chunk for hit in trace.hits]


def _asked(base: KnowledgeBase, text: str = LEAVE, set_name: str = SET) -> LabelledQuestion:
    return next(each for each in base.questions.labelled(set_name) if each.text == text)


def _labels(base: KnowledgeBase) -> list[Label]:
    return list(_asked(base).labels)


def _grade(app: AppTest, chunk: Chunk, grade: str | None) -> AppTest:
    app.query_params["passage"] = chunk.id
    app.run()
    return app.get_by_key(f"inspector_grade_{chunk.id}").set_value(grade).run()


def test_a_grade_is_stored_shown_and_taken_back(base):
    leave, _ = _chunks(base)
    app = visit("inspector.py", q=LEAVE)
    _grade(app, leave, "2")
    (label,) = _labels(base)
    assert (label.document_name, label.start, label.end, label.grade) == (
        "leave.md",
        leave.start,
        leave.start + len(leave.text.strip()),
        2,
    )
    assert app.get_by_key(f"inspector_grade_{leave.id}").value == "2"
    assert "Filled: 1 labelled relevant." in texts(app)
    _grade(app, leave, None)
    assert _labels(base) == []


def test_not_relevant_is_a_label_too(base):
    _, other = _chunks(base)
    app = visit("inspector.py", q=LEAVE)
    _grade(app, other, "0")
    assert [label.grade for label in _labels(base)] == [0]
    assert app.get_by_key(f"inspector_grade_{other.id}").value == "0"
    assert "Filled: 0 labelled relevant." in texts(app)


def test_grading_a_new_question_adds_it(base):
    text = "When does carried leave lapse?"
    app = visit("inspector.py", q=text)
    assert "not in this set" in texts(app)
    chunk = base.search(text, base.recipe().with_fields({"search.threshold": None})).hits[0].chunk
    _grade(app, chunk, "3")
    assert [label.grade for label in _asked(base, text).labels] == [3]


def test_a_question_is_added_without_a_grade(base):
    text = "When does carried leave lapse?"
    app = visit("inspector.py", q=text)
    app.button(key="inspector_collect").click().run()
    assert _asked(base, text).labels == ()
    assert not [b for b in app.button if b.key == "inspector_collect"]


def test_labels_go_to_the_set_that_has_the_question_whatever_was_used_last(base):
    base.questions.create_set("another set")
    app = visit("metrics.py", set="another set")
    app.query_params["q"] = LEAVE
    app.switch_page("inspector.py").run()
    assert app.selectbox(key="set").value == SET
    app.selectbox(key="set").set_value("another set").run()
    assert app.run().selectbox(key="set").value == "another set"  # the visitor's choice for it
    app.text_input(key="q").set_value("When does carried leave lapse?").run()
    assert app.selectbox(key="set").value == "another set"  # the last used, as none has it
    app.text_input(key="q").set_value(LEAVE).run()
    assert app.selectbox(key="set").value == "another set"
    other = next(each.text for each in base.questions.labelled(SET) if each.text != LEAVE)
    app.text_input(key="q").set_value(other).run()
    assert app.selectbox(key="set").value == SET
    base.questions.collect("another set", LEAVE)
    app = visit("metrics.py", set="another set")
    app.query_params["q"] = LEAVE
    app.switch_page("inspector.py").run()
    assert app.selectbox(key="set").value == "another set"  # both have it


def test_no_answer_asks_only_when_labels_go(base):
    leave, _ = _chunks(base)
    app = visit("inspector.py", q=LEAVE)
    app.button(key="inspector_unanswerable").click().run()
    assert not _asked(base).answerable
    app.button(key="inspector_answerable").click().run()
    assert _asked(base).answerable
    _grade(app, leave, "1")
    app.button(key="inspector_unanswerable").click().run()
    assert _asked(base).answerable
    app.button(key="inspector_unanswerable_really").click().run()
    assert (_asked(base).answerable, _labels(base)) == (False, [])


def test_a_question_without_an_answer_can_be_the_first_of_a_set(base):
    app = visit("inspector.py", q=LEAVE)
    app.button(key="inspector_unanswerable").click().run()
    assert not _asked(base).answerable
    assert [each.value for each in app.error] == []


def test_the_exact_words_become_the_label(base):
    leave, _ = _chunks(base)
    app = visit("inspector.py", q=LEAVE)
    app.button(key="inspector_evidence").click().run()
    app.button(key="inspector_evidence_store").click().run()
    assert _labels(base) == []  # nothing is chosen at first
    app.button(key="inspector_evidence").click().run()
    app.text_input(key=f"inspector_evidence_words_{leave.id}_{LEAVE}").set_value("until 30  June")
    app.button(key="inspector_evidence_store").click().run()
    assert [(label.quote, label.grade) for label in _labels(base)] == [("until 30 June", 2)]
    assert app.get_by_key(f"inspector_grade_{leave.id}").value == "2"


def test_the_picture_fills_what_is_relevant(base):
    trace = base.search(LEAVE, base.recipe())
    shown = candidates(trace)
    first, second = (each.hit.chunk for each in shown[:2])
    chart = figure(trace, shown, None, LIGHT, {first.key: 2, second.key: 0})
    symbols = {
        data[0]: symbol
        for points in chart.data
        for data, symbol in zip(points.customdata, points.marker.symbol, strict=True)
    }
    assert not symbols[first.id].endswith("-open")
    assert symbols[second.id].endswith("-x-open")
    assert {name.endswith("-open") for key, name in symbols.items() if key != first.id} == {True}


def test_points_that_do_not_come_back_are_small_and_not_faint(base):
    trace = base.search(LEAVE, base.recipe())
    shown = candidates(trace)
    back = {each.hit.chunk.id for each in shown if each.group in ("prompt", "context")}
    chart = figure(trace, shown, None, LIGHT, {})
    sizes = {
        data[0]: size
        for points in chart.data
        for data, size in zip(points.customdata, points.marker.size, strict=True)
    }
    assert {key for key, size in sizes.items() if size == 9} == back
    assert {key for key, size in sizes.items() if size == 7} == sizes.keys() - back
    assert {(points.marker.opacity, points.unselected.marker.opacity) for points in chart.data} == {
        (1.0, 1.0)
    }


def test_plotly_finds_nothing_wrong_with_the_picture(base):
    trace = base.search(LEAVE, base.recipe())
    shown = candidates(trace)
    drawn = figure(trace, shown, shown[0].hit.chunk.key, LIGHT, {}).to_dict()
    low, high = drawn["layout"]["xaxis"]["range"]  # no point lies across the end of the axis
    assert (low, high) == (0.5, max(one.hit.rank for one in shown) + 0.5)
    assert drawn["layout"]["shapes"]
    assert go.Figure(drawn).to_dict() == drawn


def test_sentences_and_pasted_words():
    text = "One is here.  Two: 3.5 mm!\n\nA heading\n\nThe last"
    pieces = sentences(text)
    assert [text[start:end] for start, end in pieces] == [
        "One is here.",
        "Two: 3.5 mm!",
        "A heading",
        "The last",
    ]
    assert text[slice(*chosen(text, pieces[1:3], ""))] == "Two: 3.5 mm!\n\nA heading"
    assert text[slice(*chosen(text, pieces, "mm! A heading"))] == "mm!\n\nA heading"
    with pytest.raises(InvalidInput, match="does not contain these words"):
        chosen(text, pieces, "cm! A heading")


@pytest.mark.parametrize(
    ("relevances", "corner"),
    [
        ((0.9, 0.5, 0.1, 0.05), (1, "right", "bottom")),
        ((0.9, 0.5, 0.3, 0.22), (0, "left", "bottom")),
        ((0.22, 0.5, 0.3, 0.22), (1, "right", "top")),
    ],
)
def test_the_label_of_the_threshold_covers_no_points(base, relevances, corner):
    trace = replace(base.search(LEAVE, base.recipe()), threshold=0.2)
    first = candidates(trace)[0]
    shown = [
        replace(first, hit=replace(first.hit, rank=rank, relevance=relevance))
        for rank, relevance in enumerate((*relevances, *relevances[-1:]), start=1)
    ]
    label = figure(trace, shown, None, LIGHT, {}).layout.annotations[0]
    assert label.text == "threshold 0.20"
    assert (label.x, label.xanchor, label.yanchor) == corner
