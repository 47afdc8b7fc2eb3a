"""What a question set can show at all, what a difference means, and sets of refusals alone."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.runs.comparison import LEANING
from rag import InvalidInput, KnowledgeBase, posterior
from rag.evaluation.comparison import compare
from rag.experiments.runs.history import RunHistory
from rag.operation import operation
from tests.pages.conftest import questions_file

OpenPage = Callable[..., AppTest]
_FOREIGN = (("a", "Who won the 2022 world cup?"), ("b", "What is the weather in Paris tomorrow?"))


def _said(app: AppTest) -> str:
    return "\n".join(each.value for each in app.main.caption)


def test_a_set_of_questions_without_an_answer_is_measured_by_its_refusals(labelled, open_page):
    base = labelled.base("notes")
    rows = [{"id": name, "text": text, "answerable": False} for name, text in _FOREIGN]
    content = "\n".join(json.dumps(row) for row in rows)
    base.questions.import_file("foreign", "foreign.jsonl", content)
    strict = base.recipe().with_fields({"search.threshold": 1.0})
    lax = base.recipe().with_fields({"search.threshold": None, "search.refuse": "off"})
    refused = base.runs.evaluate("foreign", strict).run
    answered = base.runs.evaluate("foreign", lax).run
    assert refused.metrics == {"correct_refusal": 1.0, "correct_doubt": 1.0}
    assert answered.metrics == {"correct_refusal": 0.0, "correct_doubt": 1.0}
    app = open_page("metrics.py", set="foreign")
    assert not app.error
    assert [card.value for card in app.metric] == ["100%"]
    table = app.dataframe[0].value
    assert list(table["Answer"]) == ["not answered, rightly"] * 2
    assert not {"First relevant", "nDCG@10"} & {*table}  # no metric of ranking
    app = open_page("runs.py", set="foreign")
    assert not app.error
    assert list(app.dataframe[0].value["Refused by the search"]) == [1.0, 0.0]
    with pytest.raises(InvalidInput, match="there is nothing to report"):
        base.runs.report(answered.id)


def test_how_probably_a_difference_matters_is_told_for_a_chosen_width(labelled, open_page):
    base = labelled.base("notes")
    good, bad = _every_question_thrice(base, {"group": "-"})
    app = open_page("runs.py", set="many", runs=bad)
    assert "over 99%" in _said(app)
    app = open_page("runs.py", set="many", runs=bad, equal="0.5")
    (found,) = base.runs.compare([bad], good)
    expected = posterior(found.figures.differences, 0.5)
    assert expected.sentence in _said(app)


def test_questions_that_the_test_counts_as_one_are_one_in_the_probability_too(labelled, open_page):
    base = labelled.base("notes")
    good, bad = _every_question_thrice(base, {})
    (found,) = base.runs.compare([bad], good)
    assert (found.figures.verdict, found.figures.clusters) == ("undecided", 3)
    assert posterior(found.figures.differences) is not None
    assert "The probability that" not in _said(open_page("runs.py", set="many", runs=bad))


def _every_question_thrice(base: KnowledgeBase, more: Mapping[str, str]) -> tuple[str, str]:
    """Makes the set "many"; a run that finds everything, pinned, and one that finds nothing."""
    rows = [json.loads(line) for line in questions_file().splitlines()]
    many = [row | more | {"id": f"{row['id']}-{n}"} for n in range(3) for row in rows]
    content = "\n".join(json.dumps(row) for row in many)
    base.questions.import_file("many", "many.jsonl", content)
    good, bad = (
        base.runs.evaluate("many", base.recipe().with_fields({"search.threshold": value})).run.id
        for value in (None, 1.0)
    )
    base.runs.pin(good)
    return good, bad


@pytest.mark.parametrize(
    ("losses", "said"),
    [(12, LEANING), (6, LEANING), (5, "On these questions alone: The probability")],
)
def test_no_probability_reads_like_a_verdict_where_the_test_has_none(
    losses, said, labelled, open_page, monkeypatch
):
    base = labelled.base("notes")
    good, bad = _every_question_thrice(base, {})
    before = {f"q{number}": 0.5 for number in range(12)}
    after = {name: 0.44 if n < losses else 0.53 for n, name in enumerate(before)}
    figures = compare("ndcg@10", after, before)
    assert figures.verdict == "undecided"
    (found,) = base.runs.compare([bad], good)
    shown = [replace(found, figures=figures, groups={})]
    monkeypatch.setattr(RunHistory, "compare", operation("viewer")(lambda *args: shown))
    captions = _said(open_page("runs.py", set="many", runs=bad))
    assert said in captions
    assert "over 99%" not in captions


def _importing(base: object, content: str) -> None:
    import io

    import streamlit as st

    from pages.components.labels import question_sets
    from pages.components.shell.guard import notices

    notices()
    if st.button("Import", key="import"):
        file = io.BytesIO(content.encode())
        file.name = "asked.csv"
        question_sets._import(base, "asked", file, {}, [], "refuse", skip_bad=False)


def test_an_import_says_how_many_questions_no_metric_counts(filled):
    lines = [
        "question,document,quote,answer",
        "Where is the canteen?,,,",
        "And the bar?,,,On the roof",  # its answer is measured
        "A hotel?,travel.txt,140 euros,",
    ]
    base = filled.base("notes")
    app = AppTest.from_function(_importing, args=(base, "\n".join(lines))).run()
    app.button(key="import").click().run()
    assert not app.exception
    assert base.questions.named("asked").questions == 3
    (warning,) = [one.value for one in app.warning]
    assert re.findall(r"\d+", warning) == ["1"]


def test_intervals_of_precision_end_at_its_ceiling(labelled):
    base = labelled.base("notes")
    good, bad = _every_question_thrice(base, {})
    metric = "precision@5"  # of at most 0.2, as each question has one relevant passage
    (compared,) = base.runs.compare([bad], good, metric)
    changed = base.runs.changes(bad, good, [metric])[metric]
    tuner, recipe = base.tuning.tuner("many"), base.recipe()
    others = [recipe.with_fields({"search.threshold": value}) for value in (1.0, None)]
    none, every = (tuner.figures([other], [metric]) for other in others)
    moved = none.changes([metric], every)[metric]
    for found in (compared.figures, changed, moved, base.runs.paired(bad, good, metric).figures):
        assert (found.interval.low, found.difference) == (-0.2, pytest.approx(-0.2))
        assert found.interval_95.low == -0.2
