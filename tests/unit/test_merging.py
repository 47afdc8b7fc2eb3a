"""Several retrievals as one: order, scales, copies, and what the stages say."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import Chunk, Dropped, Hit, Stage, Trace
from rag.retrieval import Part, merge_traces
from rag.types import chunk_key

COSINE = "cosine of fake"
RELEVANCES = st.lists(st.floats(-1, 1), max_size=8)


def hit(document: str, rank: int, relevance: float) -> Hit:
    chunk = Chunk(chunk_key(document, 0, 4), document, 0, 4, "text", 0)
    return Hit(chunk, document, rank, 10.0 - rank, relevance, {"dense": relevance})


def part(
    name: str,
    relevances: Sequence[float],
    *,
    scale: str = COSINE,
    weight: float = 1.0,
    below: Sequence[float] = (),
    documents: Sequence[str] = (),
    stages: tuple[Stage, ...] = (),
) -> Part:
    names = documents or [f"{name}{place}" for place in range(1, len(relevances) + 1)]
    hits = [hit(*each) for each in zip(names, range(1, 99), relevances, strict=False)]
    lost = tuple(
        Dropped(hit(f"{name}-{place}", place, value), "relevance too low")
        for place, value in enumerate(below, start=len(hits) + 1)
    )
    count = len(hits)
    cuts = (
        Stage("question", 1, 1, note="embedding of the question", seconds=0.1),
        Stage("dense", 40, count + len(lost), note="nearest 10 vectors"),
        *stages,
        Stage("threshold", count + len(lost), count, lost, note="relevance ≥ 0.2"),
        Stage("top_k", count, count, note="top-k 5"),
    )
    return Part(name, Trace("q", "own", 40, 0.2, cuts, tuple(hits), 0.25), scale, weight)


def documents(trace: Trace) -> list[str]:
    return [each.document for each in trace.hits]


def test_lists_are_interleaved_by_relevance():
    trace = merge_traces([part("a", [0.9, 0.5]), part("b", [0.7, 0.6])], "hash", 5)
    assert documents(trace) == ["a1", "b1", "b2", "a2"]
    assert [(each.base, each.rank, each.score) for each in trace.hits] == [
        ("a", 1, 0.9),
        ("b", 2, 0.7),
        ("b", 3, 0.6),
        ("a", 4, 0.5),
    ]
    assert (trace.recipe, trace.passages, trace.threshold, trace.seconds) == ("hash", 80, 0.2, 0.5)


def test_a_list_keeps_the_order_of_its_own_recipe():
    """The first of "a" was put there by its words: its cosine alone would place it last."""
    trace = merge_traces([part("a", [0.2, 0.8]), part("b", [0.6, 0.4])], "hash", 5)
    assert documents(trace) == ["b1", "a1", "a2", "b2"]
    assert [each.relevance for each in trace.hits] == [0.6, 0.2, 0.8, 0.4]
    assert trace.hits[1].parts == {"dense": 0.2, "own": 9.0, "merged": 0.5}


def test_a_weight_multiplies_relevance():
    trace = merge_traces([part("a", [0.6]), part("b", [0.9], weight=0.5)], "hash", 5)
    assert documents(trace) == ["a1", "b1"]
    merge = trace.stage("merge")
    assert merge.note == "by cosine of fake, b × 0.5"


def test_scales_that_do_not_compare_are_merged_by_ranks_and_it_is_said():
    other = part("b", [0.3, 0.2], scale="cosine of other", weight=2.0)
    trace = merge_traces([part("a", [0.9, 0.8]), other], "hash", 5)
    assert documents(trace) == ["b1", "b2", "a1", "a2"]
    assert trace.hits[0].score == pytest.approx(2 / 61)
    merge = trace.stage("merge")
    assert "cosine of fake and cosine of other do not compare: by ranks" in merge.note


def test_the_merged_list_is_cut_and_the_cut_is_explained():
    trace = merge_traces([part("a", [0.9, 0.5]), part("b", [0.7, 0.6])], "hash", 3)
    merge = trace.stage("merge")
    assert (merge.taken, merge.given) == (4, 3)
    assert [(drop.hit.document, drop.reason) for drop in merge.dropped] == [
        ("a2", "place 4 of the merged list, top-k is 3")
    ]


def test_a_passage_of_two_bases_comes_once_where_it_stands_best():
    shared = part("b", [0.9, 0.1], documents=["same", "b2"])
    trace = merge_traces([part("a", [0.5, 0.4], documents=["a1", "same"]), shared], "hash", 5)
    assert [(each.document, each.base) for each in trace.hits] == [
        ("same", "b"),
        ("a1", "a"),
        ("b2", "b"),
    ]
    merge = trace.stage("merge")
    assert (merge.taken, merge.given, merge.note) == (4, 3, "by cosine of fake · 1 in several")


def test_stages_of_all_parts_are_one_list():
    rerank = Stage("rerank", 3, 3, note="chat")
    parts = [part("a", [0.9], below=[0.1]), part("b", [0.7, 0.6], stages=(rerank,))]
    trace = merge_traces(parts, "hash", 5, ["c returned nothing: down."])
    assert [(stage.name, stage.taken, stage.given, stage.note) for stage in trace.stages] == [
        ("question", 2, 2, "embedding of the question"),
        ("dense", 80, 4, "a 2 of 40 · b 2 of 40 · nearest 10 vectors"),
        ("rerank", 3, 3, "b 3 of 3 · chat"),
        ("threshold", 4, 3, "a 1 of 2 · b 2 of 2 · relevance ≥ 0.2"),
        ("top_k", 3, 3, "a 1 of 1 · b 2 of 2 · top-k 5"),
        ("merge", 3, 3, "by cosine of fake · c returned nothing: down."),
    ]
    below = trace.stage("threshold")
    assert [(drop.hit.document, drop.hit.base, drop.hit.rank) for drop in below.dropped] == [
        ("a-2", "a", 4)
    ]


@given(RELEVANCES, RELEVANCES, st.integers(1, 20))
def test_nothing_is_lost_and_every_list_keeps_its_order(one, other, top_k):
    trace = merge_traces([part("a", one), part("b", other)], "hash", top_k)
    merge = trace.stage("merge")
    every = [*trace.hits, *(drop.hit for drop in merge.dropped)]
    assert [each.rank for each in every] == list(range(1, len(one) + len(other) + 1))
    assert len(trace.hits) == min(top_k, len(every))
    for name, values in (("a", one), ("b", other)):
        assert [each.relevance for each in every if each.base == name] == values
