"""Results of search tools in the shapes of 13 public tools: text, title, id and score."""

import json
from typing import Any

import pytest

from rag.experiments.systems.mcp_endpoints import recognised

TEXT = "The warranty of the pump lasts for three years."
URL = "https://docs.example.com/pump"
SCORED = {"relevance_score": 0.5}
SHAPES: list[tuple[Any, tuple[str, str, float | None]]] = [
    (
        {
            "results": [{"title": "Pump", "url": URL, "content": TEXT, "score": 0.5}],
            "metadata": {"total_results": 1, "query": "q"},
        },
        ("Pump", URL, 0.5),
    ),
    ({"results": [{"title": "Pump", "url": URL, "snippet": TEXT}]}, ("Pump", URL, None)),
    ([json.dumps([{"title": "Pump", "url": URL, "snippet": TEXT}])], ("Pump", URL, None)),
    (
        {
            "results": [{"content": TEXT, "score": 0.5, "metadata": {"source": "pump.md"}}],
            "query_expansion": ["a", "b"],
        },
        ("pump.md", "", 0.5),
    ),
    (
        {
            "response": "Based on your documents",
            "sources": [{"chunk_id": "1-1", "title": "Pump", "excerpt": TEXT, **SCORED}],
        },
        ("Pump", "1-1", 0.5),
    ),
    (
        {
            "answer": "Three years",
            "citations": [{"document_id": "d1", "document_name": "Pump", "chunk": TEXT, **SCORED}],
        },
        ("Pump", "d1", 0.5),
    ),
    ({"retrieved_docs": [{"content": TEXT, "filename": "Pump", **SCORED}]}, ("Pump", "", 0.5)),
    (
        {"sources": [{"filename": "Pump", "page_numbers": [3], "chunk_text": TEXT, **SCORED}]},
        ("Pump", "", 0.5),
    ),
    (
        [{"title": "Pump", "description": TEXT, "category": "A", "url": URL, **SCORED}],
        ("Pump", URL, 0.5),
    ),
    ([{"title": "Pump", "source": "Times", "url": URL, "summary": TEXT}], ("Pump", URL, None)),
    (
        {"results": [{"path": "pump.md", "title": "Pump", "excerpt": TEXT, "size": 3}]},
        ("Pump", "pump.md", None),
    ),
    (
        {"results": [{"name": "Pump", "description": TEXT, "example": "call it"}], "count": 1},
        ("Pump", "", None),
    ),
]


@pytest.mark.parametrize(("content", "expected"), SHAPES)
def test_texts_titles_ids_and_scores_are_found(content, expected):
    (result,) = recognised(content)
    assert (result.text, result.title, result.id, result.score) == (TEXT, *expected)


def test_a_result_without_a_text_has_its_id_by_which_the_text_is_fetched():
    (result,) = recognised([json.dumps({"results": [{"id": "d1", "title": "Pump", "url": URL}]})])
    assert (result.text, result.title, result.id) == ("", "Pump", "d1")
