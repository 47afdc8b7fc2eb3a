"""From a failed question of the metrics page to the passage that it missed."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from pages.components.metrics.failures import address
from pages.components.shell.text import plain
from rag import Workspace

OpenPage = Callable[..., AppTest]


def test_the_inspector_opens_with_the_passage_that_was_missed(
    labelled: Workspace, open_page: OpenPage
) -> None:
    base = labelled.base("notes")
    strict = base.recipe().with_fields({"search.threshold": 1.0, "search.exact_codes": False})
    base.save_recipe(strict)
    found = base.evaluator.evaluate("checks", strict)
    failed = next(each for each in found.results if each.answerable)
    labels = base.passage_labels.of("checks", failed.text, strict.index)
    [missed] = labels.grades
    parameters = address(base, found.run, failed)
    assert parameters == {
        "q": failed.text,
        "view": "What if",
        "passage": f"{missed:016x}",
    }
    assert labels.missed([missed]) is None
    standing = base.explain(failed.text, strict).standing(missed)
    app = open_page("inspector.py", **parameters)
    assert not app.exception
    assert any(plain(standing.summary) in each.value for each in app.markdown)
    [stages] = [each.value["stage"] for each in app.dataframe if "how" in each.value]
    assert list(stages) == [step.stage for step in standing.steps]


def test_a_question_that_missed_nothing_opens_as_it_is(labelled: Workspace) -> None:
    base = labelled.base("notes")
    loose = base.recipe().with_fields({"search.threshold": None, "search.top_k": 50})
    found = base.evaluator.evaluate("checks", loose)
    failed = next(each for each in found.results if each.answerable)
    assert address(base, found.run, failed) == {"q": failed.text}
