"""Two runs side by side: the passages that were measured, and which of them moved."""

import pytest

from rag import KnowledgeBase, NotFound, Recipe
from tests.runs import SET, VECTORS, WORDS


def _run(base: KnowledgeBase, recipe: Recipe) -> str:
    return base.runs.evaluate(SET, recipe, (1, 3, 10)).run.id


def test_each_side_is_the_stored_ranking_with_its_passages(base):
    words, vectors = _run(base, WORDS), _run(base, VECTORS)
    found = base.runs.side_by_side(vectors, words, "q1")
    assert found.question == "How long may unused leave be carried over?"
    for run, side in ((words, found.before), (vectors, found.after)):
        (stored,) = (r for r in base.runs.results(run) if r.question_id == "q1")
        ids = [place.chunk.id for place in side if place.chunk]
        assert ids == [entry[0] for entry in stored.ranking[:10]]
        assert [(place.score, place.grade) for place in side] == [
            entry[1:] for entry in stored.ranking[:10]
        ]
        assert [place.rank for place in side] == list(range(1, len(side) + 1))
    best = found.before[0]
    assert (best.document, best.grade) == ("leave.md", 1)
    assert best.chunk
    assert "carried over until 30 June" in best.chunk.text


def test_other_ranks_point_at_each_other(base):
    words, vectors = _run(base, WORDS), _run(base, VECTORS)
    found = base.runs.side_by_side(vectors, words, "q4")
    after = {place.chunk.id: place.rank for place in found.after if place.chunk}
    before = {place.chunk.id: place.rank for place in found.before if place.chunk}
    assert {p.chunk.id: p.other for p in found.before if p.chunk} == {
        name: after.get(name) for name in before
    }
    assert {p.chunk.id: p.other for p in found.after if p.chunk} == {
        name: before.get(name) for name in after
    }


def test_what_is_gone_keeps_its_place(base):
    words = _run(base, WORDS)
    infos = base.documents.documents(WORDS.index)
    base.documents.delete_documents([info.id for info in infos if info.name == "pump.txt"])
    place = base.runs.side_by_side(words, words, "q2").before[0]
    assert (place.rank, place.document, place.chunk, place.other) == (1, "", None, 1)


def test_an_unknown_question_is_refused(base):
    words = _run(base, WORDS)
    with pytest.raises(NotFound, match="did not measure question 'q9'"):
        base.runs.side_by_side(words, words, "q9")
