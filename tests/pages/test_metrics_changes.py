"""What the cards of the Metrics page say of changes: against what, and what else differs."""

import json
import re
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from pages.components.shell.text import plain
from rag import signed, signed_points
from tests.pages.conftest import DOCUMENTS, questions_file
from tests.pages.test_metrics import evaluated

OpenPage = Callable[..., AppTest]


def _is_unchanged(app: AppTest) -> bool:
    """Whether the page says once that no figure changed, in place of a word on each card."""
    said = [one.value for one in app.caption if one.value.startswith("No change against")]
    return len(said) == 1 and {card.delta for card in app.metric} == {""}


def test_a_change_is_shown_against_the_run_before(labelled, open_page):
    base = labelled.base("notes")
    before = evaluated(labelled)
    strict = base.recipe().with_fields({"search.threshold": 1.0})
    base.recipes.save(strict)
    after = evaluated(labelled)
    app = open_page("metrics.py")
    change = after["recall@10"] - before["recall@10"]
    assert change < 0
    assert app.metric[2].delta == signed(change)
    said = next(one.value for one in app.caption if "Change against" in one.value)
    assert "threshold 1\\.0" in said
    (_, first) = base.runs.list_all("checks")
    assert first.recipe is not None
    assert f"just now, recipe *{plain(base.runs.recipe_name(first.recipe))}*:" in said


def test_an_experiment_compares_with_the_saved_recipe(labelled, open_page):
    base = labelled.base("notes")
    by_saved = evaluated(labelled)
    worst = base.recipe().with_fields({"search.threshold": 1.0})
    base.runs.evaluate("checks", worst)
    worse = base.recipe().with_fields({"search.threshold": 0.99})
    run = base.runs.evaluate("checks", worse).run
    app = open_page("metrics.py", threshold="0.99")
    change = run.metrics["recall@10"] - by_saved["recall@10"]
    assert change < 0
    assert app.metric[2].delta == signed(change)
    assert [one.value for one in app.caption if "Compared with" in one.value] == [
        "Compared with the saved recipe."
    ]


def test_after_the_documents_changed_the_same_recipe_is_compared(labelled, open_page):
    base = labelled.base("notes")
    evaluated(labelled)
    strict = base.recipe().with_fields({"search.threshold": 1.0})
    base.runs.evaluate("checks", strict)
    base.documents.edit_passages("travel.txt", "exclude", (0, len(DOCUMENTS["travel.txt"])))
    evaluated(labelled)
    app = open_page("metrics.py")
    assert _is_unchanged(app)
    said = next(one.value for one in app.caption if "Change against" in one.value)
    assert "threshold" not in said


def test_answer_metrics_compare_with_the_latest_run_that_scored_answers(labelled, open_page):
    base = labelled.base("notes")
    recipe = base.recipe().with_fields({"answer.provider": "extractive"})
    base.recipes.save(recipe)
    strict = recipe.with_fields({"search.threshold": 1.0})
    assert labelled.jobs.run(base.runs.start_answers("checks", strict)).status == "done"
    evaluated(labelled)
    assert labelled.jobs.run(base.runs.start_answers("checks", recipe)).status == "done"
    now, without, scored = base.runs.list_all("checks")
    assert "correct_decision" not in without.metrics
    app = open_page("metrics.py")
    (card,) = [one for one in app.metric if one.label == "Correct decisions"]
    change = now.metrics["correct_decision"] - scored.metrics["correct_decision"]
    assert change > 0
    assert card.delta == f"{signed_points(change)} points"
    assert app.metric[0].delta == "no change"
    (said,) = [one.value for one in app.caption if one.value.startswith("Compared with")]
    assert re.search(r"; scored answers with the run .*threshold 1", said)  # not the same one


def test_a_change_of_labels_is_not_told_as_one_of_the_recipe(labelled, open_page):
    base = labelled.base("notes")
    loose = base.recipe().with_fields({"search.threshold": None})
    base.recipes.save(loose)
    evaluated(labelled)
    rows = [json.loads(line) for line in questions_file().splitlines()]
    rows[0]["evidence"] = rows[1]["evidence"]
    base.questions.import_file("checks", "checks.jsonl", "\n".join(map(json.dumps, rows)))
    evaluated(labelled)
    app = open_page("metrics.py")
    assert _is_unchanged(app)
    (said,) = [one.value for one in app.caption if "Change against" in one.value]
    assert "the same recipe" in said
    assert "labels changed" in said
    assert "version 2" in said


def test_a_document_that_was_left_out_leaves_its_questions_out_of_the_change(labelled, open_page):
    base = labelled.base("notes")
    evaluated(labelled)
    base.documents.edit_passages("travel.txt", "exclude", (0, len(DOCUMENTS["travel.txt"])))
    evaluated(labelled)
    app = open_page("metrics.py")
    now, before = base.runs.list_all("checks")
    changes = base.runs.changes(now.id, before.id, ["recall@10"])
    assert sorted(changes["recall@10"].differences) == ["q1", "q2"]
    assert _is_unchanged(app)
    assert any(plain("travel.txt") in one.value for one in app.caption)


def test_cards_have_intervals_and_the_change_against_the_baseline(labelled, open_page):
    base = labelled.base("notes")
    first = base.runs.evaluate("checks", base.recipe()).run
    base.runs.pin(first.id)
    base.runs.evaluate("checks", base.recipe().with_fields({"search.threshold": 1.0}))
    last = base.runs.evaluate("checks", base.recipe()).run
    app = open_page("metrics.py")
    low, high = base.runs.intervals(last.id)["mrr@10"]
    assert f"95% interval of the mean: {low:.2f} to {high:.2f}." in app.metric[1].help
    assert any("Change against the baseline, the run" in each.value for each in app.caption)
    assert _is_unchanged(app)
