"""From a failed question of the metrics page to the passage that it missed."""

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.metrics import failures
from pages.components.metrics.failures import address
from pages.components.shell.tables import row_height
from pages.components.shell.text import plain

OpenPage = Callable[..., AppTest]


def test_the_inspector_opens_with_the_passage_that_was_missed(labelled, open_page):
    base = labelled.base("notes")
    strict = base.recipe().with_fields({"search.threshold": 1.0, "search.exact_codes": False})
    base.recipes.save(strict)
    found = base.runs.evaluate("checks", strict)
    failed = next(each for each in found.results if each.answerable)
    labels = base.questions.labels_of("checks", failed.text, strict.index)
    [missed] = labels.grades
    parameters = address(base, found.run, failed)
    assert parameters == {
        "q": failed.text,
        "view": "What if",
        "passage": f"{missed:016x}",
    }
    assert labels.missed([missed]) is None
    standing = base.explanations.explain(failed.text, strict).standing(missed)
    app = open_page("inspector.py", **parameters)
    assert not app.exception
    assert any(plain(standing.summary) in each.value for each in app.markdown)
    [stages] = [each.value["stage"] for each in app.dataframe if "how" in each.value]
    assert list(stages) == [step.stage for step in standing.steps]


def test_a_question_that_missed_nothing_opens_as_it_is(labelled):
    base = labelled.base("notes")
    loose = base.recipe().with_fields({"search.threshold": None, "search.top_k": 50})
    found = base.runs.evaluate("checks", loose)
    failed = next(each for each in found.results if each.answerable)
    assert address(base, found.run, failed) == {"q": failed.text}


@pytest.mark.parametrize(
    ("ks", "counts"),
    [((1, 5), "1 of 3 questions failed: 1 found low or not at all (nDCG@5 below 0.5)."), ((), "")],
)
def test_questions_fail_by_a_cutoff_that_the_run_has(labelled, monkeypatch, ks, counts):
    base = labelled.base("notes")
    evaluated = base.runs.evaluate("checks", base.recipe())
    metrics = {f"ndcg@{k}": 0.7 for k in ks}
    question = next(one for one in evaluated.results if one.answerable)
    good, bad = (replace(question, metrics=dict.fromkeys(metrics, value)) for value in (1.0, 0.0))
    helps, tables = [], []

    def draw(rows: object, **_: object) -> SimpleNamespace:
        tables.append(rows)
        return SimpleNamespace(selection=SimpleNamespace(rows=[], cells=[]))

    monkeypatch.setattr(failures.st, "header", lambda *_, help, **__: helps.append(help or ""))
    monkeypatch.setattr(failures.st, "dataframe", draw)
    recipe = base.recipe().with_fields({"search.top_k": 8})
    run = replace(evaluated.run, metrics=metrics, recipe=recipe)
    failures.failures_table(base, run, [good, good, bad])
    (said,) = helps
    assert said.startswith(counts)
    assert ("*Also score answers*" in said) == bool(counts)  # this run did not score answers
    ((first, *_),) = tables
    assert first.get(f"nDCG@{max(ks, default=10)}") == (0.0 if ks else None)  # not measured, or 0


def test_long_questions_wrap_in_tables(labelled, open_page):
    base = labelled.base("notes")
    loose = base.recipe().with_fields({"search.threshold": None})
    base.runs.evaluate("checks", loose)
    app = open_page("metrics.py", set="checks")
    table = next(one for one in app.dataframe if "First relevant" in one.value)
    longest = max(table.value["Question"], key=len)
    assert len(longest) > 32
    assert table.proto.row_height == 66  # Streamlit wraps text in rows of more than 64 pixels
    assert [row_height(["Who?", longest], width) for width in (220, 400)] == [66, None]
    assert [row_height(["word " * words], 400) for words in (40, 100, 500)] == [86, 126, 126]
    assert row_height([], 400) is None


def test_the_table_of_questions_has_no_blank_row(labelled, monkeypatch):
    base = labelled.base("notes")
    evaluated = base.runs.evaluate("checks", base.recipe())
    heights = []

    def draw(*_: object, height: object, **__: object) -> SimpleNamespace:
        heights.append(height)
        return SimpleNamespace(selection=SimpleNamespace(rows=[], cells=[]))

    monkeypatch.setattr(failures.st, "dataframe", draw)
    long = [replace(result, text="Why? " * 9) for result in evaluated.results]
    short = [replace(result, text="Why?") for result in evaluated.results]
    for results in (short * 3, short * 4, long, long * 2):
        failures.failures_table(base, evaluated.run, results)
    # 12 short questions fit, 16 scroll; of long ones, which wrap, 8 scroll.
    assert heights == ["content", 332, "content", 332]


def test_a_passage_below_top_k_is_not_returned(filled, open_page):
    base = filled.base("notes")
    one = base.recipe().with_fields({"search.threshold": None, "search.top_k": 1})
    base.recipes.save(one)
    asked = "Why does the Hollin pump make a grinding noise when its bearing is dry?"
    labels = [
        {"document": "travel.txt", "quote": "Train journeys are second class."},
        {"document": "pump.txt", "quote": "Grease the bearing every 500 hours"},
    ]
    rows = [
        {"id": label["document"], "text": f"{asked}{' ' * at}", "evidence": [label]}
        for at, label in enumerate(labels)
    ]
    base.questions.import_file("low", "low.jsonl", "\n".join(map(json.dumps, rows)))
    run = base.runs.evaluate("low", one).run
    low, first = (row.first_relevant for row in base.runs.results(run.id))
    assert (low or 0) > 1
    assert first == 1
    app = open_page("metrics.py", set="low")
    table = next(one.value for one in app.dataframe if "First relevant" in one.value)
    assert list(table["First relevant"]) == [f"rank {low}, beyond top-k", "rank 1"]
    assert list(table["Relevant passages"]) == ["0 of 1", "1 of 1"]
