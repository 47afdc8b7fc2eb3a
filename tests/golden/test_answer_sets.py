"""Answers on short documents of ten trades: right ones, and doubt where nothing answers."""

from __future__ import annotations

from collections.abc import Sequence

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
@pytest.mark.parametrize("names", [SETS, KEPT])
def test_what_short_documents_answer_is_answered_and_near_misses_are_doubted(
    names: Sequence[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    figures = shares(names, tmp_path_factory)
    assert figures["right"] >= 0.85
    assert figures["answered"] >= 0.92
    assert figures["flagged"] <= 0.15
    assert figures["doubted"] >= 0.68
