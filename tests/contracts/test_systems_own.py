"""This product as the system under test: its REST forms return the rankings of its recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag import SCOPES
from rag.systems.endpoints import ask, system_of
from tests.api import served
from tests.workspaces import QUICK, add, workspace_at

TEXTS = {
    "leave.md": "Unused leave may be carried over until 31 March.",
    "travel.md": "Trains are booked in second class. Leave the hotel by noon.",
    "sick.md": "Report sick leave on the first day, before noon.",
}
QUESTIONS = ("unused leave", "When is sick leave reported?", "trains", "noon")


@pytest.mark.parametrize("form", ["dify-external", "openai"])
def test_own_forms_return_the_ranking_of_the_recipe(form: str, tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path)
    base = workspace.create("manuals", QUICK)
    add(workspace, base, TEXTS)
    secret, _ = workspace.access.tokens.create("audit", SCOPES)
    variables = {"TOUCHSTONE_TOOL_OWN": secret}
    recipe = base.recipe().with_fields({"search.top_k": 3})
    with served(workspace) as url:
        system = system_of(form, "own", f"{url}/api/v1", "manuals", 3, "TOUCHSTONE_TOOL_OWN")
        for question in QUESTIONS:
            returned = ask(system, question, variables, allow_private=True)
            hits = base.search(question, recipe).hits
            assert hits
            assert [(text.text, text.title) for text in returned.texts] == [
                (hit.chunk.text, hit.document) for hit in hits
            ]
            scores = [text.score for text in returned.texts]
            relevances = [min(1.0, max(0.0, hit.relevance)) for hit in hits]
            assert scores == sorted(scores, reverse=True)
            assert max(scores) == pytest.approx(max(relevances))
            if hits[0].score > hits[-1].score:
                assert min(scores) == pytest.approx(min(relevances))
