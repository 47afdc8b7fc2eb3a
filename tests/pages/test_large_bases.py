"""What a page reads again when nothing changed: counted in SQL statements, not in seconds."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from rag import KnowledgeBase, Workspace
from tests.half_judged import NEW, OLD, half_judged
from tests.half_judged import SET as HALF
from tests.handbook import visit
from tests.runs import SET, handbook
from tests.workspaces import QUICK

WHOLE_TABLES = ("FROM run_question", "FROM evidence", "FROM question \n", "FROM question\n")


@contextmanager
def statements() -> Iterator[list[str]]:
    """Texts of the SQL statements that are executed inside."""
    found: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        found.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.fixture
def evaluated(home: Path) -> Iterator[tuple[Workspace, KnowledgeBase]]:
    workspace, base = handbook(home)
    for count in (1, 2):
        recipe = base.recipe().with_fields({"search.top_k": count})
        workspace.jobs.run(base.runs.start_evaluation(SET, recipe))
    yield workspace, base
    workspace.close()


def _reads(noted: list[str]) -> list[str]:
    """Those that read rows of questions, of their labels, or of what happened to them."""
    return [each for each in noted if any(part in f"{each}\n" for part in WHOLE_TABLES)]


def test_figures_of_a_run_are_read_once_for_each_state(evaluated):
    _, base = evaluated
    with statements() as opening:
        app = visit("metrics.py")
    assert _reads(opening)
    with statements() as rerun:
        assert not app.run().exception
    assert _reads(rerun) == []
    base.questions.add_question(SET, "Who pays?")
    with statements() as changed:
        assert not app.run().exception
    assert _reads(changed)


def test_all_figures_of_a_run_come_of_one_reading(evaluated):
    _, base = evaluated
    run, before = (each.id for each in base.runs.list_all(SET))
    with statements() as opening:
        visit("metrics.py")
    assert sum("run_question.ranking" in each for each in opening) == 2
    with statements() as further:
        assert base.runs.intervals(run)
        assert base.runs.unjudged(run)
        assert base.runs.changes(run, before, ["ndcg@10"])
    assert _reads(further) == []


def test_open_hits_of_many_metrics_are_looked_up_once(home):
    workspace, base = half_judged(home)
    old, new = (base.runs.evaluate(HALF, each, (5, 10)).run.id for each in (OLD, NEW))
    metrics = [f"{name}@{k}" for name in ("ndcg", "mrr", "recall") for k in (5, 10)]
    with statements() as noted:
        changes = base.runs.changes(new, old, metrics)
    assert [each.verdict_by_labels for each in changes.values()] == ["worse"] * 6
    assert all(each.open_hits for each in changes.values())
    assert sum("FROM run_question" in each for each in noted) == 2
    assert sum("FROM evidence" in each for each in noted) <= 1
    workspace.close()


def test_a_list_of_bases_takes_as_many_statements_whatever_their_number(evaluated):
    workspace, base = evaluated
    with statements() as few:
        before = workspace.bases()
    workspace.create("beside", QUICK)
    workspace.create("besides", QUICK)
    with statements() as more:
        after = workspace.bases()
    assert len(more) == len(few)
    assert [(each.name, each.documents, each.passages) for each in after] == [
        ("beside", 0, 0),
        ("besides", 0, 0),
        *((each.name, each.documents, each.passages) for each in before),
    ]
    documents = base.documents.documents(base.recipe().index)
    assert before[0].documents == len(documents)
    assert before[0].passages == sum(each.passages for each in documents)
