"""Several retrievals as one: from the command line down to stages, scales and copies."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import (
    Chunk,
    Dropped,
    FurtherBase,
    Hit,
    InvalidInput,
    InvalidRecipe,
    NotFound,
    ProviderUnavailable,
    Recipe,
    Stage,
    Trace,
    Workspace,
)
from rag.retrieval import Part, merge_traces
from rag.types import chunk_key
from tests.workspaces import QUICK, add, fill_home, workspace_at

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


LEAVE = "Unused leave may be carried over until 30 June."
PUMP = "The pump grinds when its bearing is dry."
QUESTION = "How long may unused leave be carried over?"


@pytest.fixture
def workspace(home: Path) -> Workspace:
    fill_home(home, three_bases)
    return workspace_at(home)


def three_bases(home: Path) -> None:
    workspace = workspace_at(home)
    for name, text in (("pumps", PUMP), ("policies", LEAVE), ("copies", LEAVE + " Ask us.")):
        add(workspace, workspace.create(name, QUICK), {f"{name}.txt": text})
    workspace.close()


@pytest.mark.parametrize(
    "also",
    [
        FurtherBase("policies"),
        FurtherBase("a: b, c", 3, 0.25, 0.5),
        FurtherBase("x", threshold="off"),
        FurtherBase("x", weight=2.0, threshold="auto"),
    ],
)
def test_what_is_written_is_read(also):
    assert FurtherBase.parse(str(also)) == also


def test_a_name_may_have_colons():
    assert FurtherBase.parse("notes: 2026") == FurtherBase("notes: 2026")
    assert FurtherBase.parse("notes: 2026:top_k=3,weight=0.5") == FurtherBase(
        "notes: 2026", 3, weight=0.5
    )


@pytest.mark.parametrize("text", ["", ":top_k=3", "x:top_k=many", "x:weight=0", "x:top_k=3,y=1"])
def test_what_makes_no_sense_is_refused(text):
    with pytest.raises(InvalidInput) as caught:
        FurtherBase.parse(text)
    assert "KB2:top_k=3" in caught.value.hint


def test_hits_say_where_they_come_from(workspace):
    base = workspace.base("pumps")
    beside = workspace.beside("pumps", [FurtherBase("policies")])
    trace = base.search(QUESTION, QUICK, beside)
    assert [(hit.base, hit.chunk.text) for hit in trace.hits] == [
        ("policies", LEAVE),
        ("pumps", PUMP),
    ]
    assert trace.passages == 2
    assert [stage.name for stage in trace.stages][-3:] == ["top_k", "merge", "context"]
    assert [hit.base for hit in trace.context] == ["policies", "pumps"]
    assert base.search(QUESTION, QUICK).hits[0].base == ""


def test_a_base_is_searched_by_its_own_recipe(workspace):
    workspace.base("policies").recipes.save(QUICK.with_fields({"search.threshold": 0.99}))
    base = workspace.base("pumps")

    def found(also: FurtherBase) -> list[str]:
        return [
            hit.base for hit in base.search(QUESTION, QUICK, workspace.beside("pumps", [also])).hits
        ]

    assert found(FurtherBase("policies")) == ["pumps"]
    assert found(FurtherBase("policies", threshold="off")) == ["policies", "pumps"]


def test_a_weight_moves_a_base_down(workspace):
    def found(also: FurtherBase) -> list[str]:
        beside = workspace.beside("copies", [also])
        return [hit.base for hit in workspace.base("copies").search(QUESTION, QUICK, beside).hits]

    assert found(FurtherBase("policies")) == ["policies", "copies"]
    assert found(FurtherBase("policies", weight=0.5)) == ["copies", "policies"]


def test_the_answer_cites_the_other_base(workspace):
    base = workspace.base("pumps")
    answer = base.ask(QUESTION, QUICK, workspace.beside("pumps", [FurtherBase("policies")])).answer
    assert answer.citations[0].hit.base == "policies"


def test_cosines_of_two_embedders_are_not_compared(workspace):
    other = Recipe().with_fields({"index.embedder": "wordllama", "search.threshold": None})
    add(workspace, workspace.create("static", other), {"leave.txt": LEAVE})
    trace = workspace.base("pumps").search(
        QUESTION, QUICK, workspace.beside("pumps", [FurtherBase("static")])
    )
    merge = trace.stage("merge")
    assert "do not compare: by ranks" in merge.note
    assert {hit.base: hit.score for hit in trace.hits} == {"pumps": 1 / 61, "static": 1 / 61}


def test_a_base_that_fails_is_a_note(workspace, monkeypatch):
    beside = workspace.beside("pumps", [FurtherBase("policies")])

    def down(*_: object) -> None:
        raise ProviderUnavailable("The model is down.", "Start it.")

    monkeypatch.setattr(beside[0].base.explanations, "part", down)
    trace = workspace.base("pumps").search(QUESTION, QUICK, beside)
    merge = trace.stage("merge")
    assert merge.note.endswith("policies returned nothing: The model is down.")
    assert [hit.base for hit in trace.hits] == ["pumps"]


@pytest.mark.parametrize(
    ("also", "error"),
    [("pumps", InvalidInput), ("nowhere", NotFound), ("policies:top_k=0", InvalidRecipe)],
)
def test_bases_that_cannot_be_searched_beside_it(workspace, also, error):
    with pytest.raises(error):
        workspace.beside("pumps", [FurtherBase.parse(also)])
