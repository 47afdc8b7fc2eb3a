"""Answers on short documents of twenty trades: right ones, and doubt where nothing answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from rag import Recipe
from tests.golden.answer_sets import KEPT, SETS, has_words, read_set
from tests.workspaces import add, workspace_at


def shares(names: Sequence[str], factory: pytest.TempPathFactory) -> dict[str, float]:
    """The shares of questions by what became of them."""
    right, answered, flagged, doubted = (list[bool]() for _ in range(4))
    workspace = workspace_at(factory.mktemp("sets"))
    for document_set in map(read_set, names):
        base = workspace.create(document_set.name, Recipe())
        assert set(add(workspace, base, document_set.files)) == {"added"}
        for question in document_set.questions:
            answer = base.ask(question.text, Recipe()).answer
            assert answer.assessment is not None
            doubtful = answer.assessment.state in ("doubtful", "refused")
            if not question.words:
                doubted.append(doubtful)
                continue
            first = bool(answer.citations) and has_words(answer.citations[0], question)
            right.append(first)
            flagged.append(doubtful)
            answered += [first] if not doubtful else []
    workspace.close()
    rows = {"right": right, "answered": answered, "flagged": flagged, "doubted": doubted}
    return {name: round(sum(row) / len(row), 3) for name, row in rows.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "least"),
    [
        (SETS[:5], {"right": 0.9, "answered": 0.95, "flagged": 0.9, "doubted": 0.85}),
        (SETS[5:], {"right": 0.6, "answered": 0.85, "flagged": 0.5, "doubted": 0.6}),
        (KEPT[:5], {"right": 0.85, "answered": 0.92, "flagged": 0.8, "doubted": 0.7}),
        (KEPT[5:], {"right": 0.55, "answered": 0.8, "flagged": 0.4, "doubted": 0.55}),
    ],
    ids=["near misses", "named things", "kept near misses", "kept named things"],
)
def test_what_short_documents_answer_is_answered_and_near_misses_are_doubted(
    names: Sequence[str], least: Mapping[str, float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    figures = shares(names, tmp_path_factory)
    figures["flagged"] = 1 - figures["flagged"]
    assert {name: share for name, share in figures.items() if share < least[name]} == {}
