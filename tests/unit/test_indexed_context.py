"""Context that is indexed and not shown: in vectors, in BM25, in what explains them."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text as sql

from rag import Hit, KnowledgeBase, Workspace
from rag.answering import with_context
from tests.answers import trace
from tests.workspaces import QUICK, add, workspace_at

MANUAL = "# Corvane C16R\n\n## Faults\n\nThe display is dark.\n\n" + "Call the service. " * 12
PLAIN = "The display is dark.\n\n" + "Call the service. " * 12
CONTEXT = QUICK.with_fields({"index.context": "headings", "search.top_k": 20})
NONE = CONTEXT.with_fields({"index.context": "none"})
WORDS = {"search.mode": "lexical"}


@pytest.fixture
def workspace(home: Path) -> Workspace:
    workspace = workspace_at(home)
    base = workspace.create("devices", CONTEXT)
    add(workspace, base, {"c16r.md": MANUAL, "other.txt": PLAIN})
    return workspace


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("devices")


def _last(base: KnowledgeBase) -> Hit:
    """The last passage of the manual, which does not name the device, as it is found by words."""
    hits = base.search("Corvane C16R", CONTEXT.with_fields(WORDS)).hits
    return max(hits, key=lambda hit: hit.chunk.order)


def test_a_passage_is_found_by_the_words_of_its_context_and_shown_without(workspace, base):
    found = _last(base)
    assert found.document == "c16r.md"
    assert found.chunk.context == "Corvane C16R\nFaults"
    assert "Corvane" not in found.chunk.text
    text = base.documents.document(found.chunk.document_id).text
    assert text[found.chunk.start : found.chunk.end] == found.chunk.text
    job = base.documents.build(NONE.index)
    assert workspace.jobs.run(job).status == "done"
    plain = base.search("Corvane C16R", NONE.with_fields(WORDS)).hits
    assert [hit.chunk.order for hit in plain] == [0]  # only the one with the heading


def test_vectors_are_those_of_the_indexed_text(workspace, base):
    database, models = workspace._services.database, workspace._services.models
    held = base.documents.documents(CONTEXT.index)
    with database.read() as connection:
        rows = connection.execute(
            sql("SELECT context, text, data FROM chunk JOIN text_vector USING (text_hash)")
        ).all()
    assert len(rows) == sum(len(base.documents.chunks(each.id, CONTEXT.index)) for each in held)
    for context, text, data in rows:
        indexed = f"{context}\n{text}" if context else text
        expected = models.embedder("fake").embed([indexed], "document")[0]
        assert np.frombuffer(data, np.float32) == pytest.approx(expected, abs=1e-6)


def test_without_context_the_cut_is_another_one_and_its_texts_are_plain(workspace, base):
    workspace.jobs.run(base.documents.build(NONE.index))
    found = _last(base).chunk
    with_context = base.documents.chunks(found.document_id, CONTEXT.index)
    plain = base.documents.chunks(found.document_id, NONE.index)
    assert [one.key for one in plain] == [one.key for one in with_context]
    assert [one.text for one in plain] == [one.text for one in with_context]
    assert {one.context for one in plain} == {""}


def test_words_say_how_often_they_matched_in_the_context(base):
    recipe = CONTEXT.with_fields(WORDS)
    found = _last(base)
    trace = base.search("Which Corvane service?", recipe)
    explained = base.explanations.explain_words(found.chunk.key, trace, recipe)
    there = {match.matched: (match.tf, match.in_context) for match in explained.matches}
    times = found.chunk.text.casefold().count("service")
    assert there == {"corvan": (1, 1), "servic": (times, 0)}
    assert explained.score == pytest.approx(sum(m.contribution for m in explained.matches))


def test_matched_words_of_text_and_context_stand_apart(base):
    recipe = CONTEXT.with_fields(WORDS)
    trace, found = base.search("Corvane service", recipe), _last(base)
    inside = base.explanations.word_finder(trace, recipe)(found)
    around = base.explanations.word_finder(trace, recipe, context=True)(found)
    assert {found.chunk.text[start:end] for start, end in inside} == {"service"}
    assert [found.chunk.context[start:end] for start, end in around] == ["Corvane"]


def test_a_piece_wider_than_its_passage_has_no_context(base):
    found = _last(base)
    recipe = CONTEXT.with_fields({"search.context": "section"}).search

    class Around:
        def document(self, document_id: str) -> object:
            return base.documents.document(document_id)

        def passages(self, *_: object) -> list[object]:
            return []

    told = with_context(trace([found]), 10_000, len, recipe, Around())  # type: ignore[arg-type]
    (piece,) = told.context
    assert len(piece.chunk.text) > len(found.chunk.text)
    assert piece.chunk.context == ""
