"""What goes into the prompt around a hit, and that it is still the document's own text."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import Chunk, Document, Hit, KnowledgeBase, SearchRecipe
from rag.answering import with_context
from rag.types import Heading, Page, chunk_key
from tests.answers import trace
from tests.handbook import LEAVE, RECIPE, make

TEXT = "".join(f"{letter * 9}\n" for letter in "abcdefghij")  # ten lines of ten characters
DOCUMENT = Document(
    "d",
    "d.md",
    "d.md",
    "text/markdown",
    TEXT,
    pages=(Page(1, 0, 30), Page(2, 30, 60), Page(3, 60, 100)),
    headings=(Heading(20, 1, "One"), Heading(40, 2, "Part"), Heading(60, 1, "Two")),
)
LINES = [
    Chunk(chunk_key("d", 10 * n, 10 * n + 9), "d", 10 * n, 10 * n + 9, TEXT[10 * n : 10 * n + 9], n)
    for n in range(10)
]


class Around:
    def document(self, document_id: str) -> Document | None:
        return DOCUMENT if document_id == "d" else None

    def passages(self, _document_id: str, first: int, last: int) -> Sequence[Chunk]:
        return [chunk for chunk in LINES if first <= chunk.order <= last]


def hits(*lines: int) -> list[Hit]:
    return [Hit(LINES[n], "d.md", rank, 1.0, 1.0, {}) for rank, n in enumerate(lines, start=1)]


def spans(found: Sequence[int], most: int = 1000, **fields: object) -> list[tuple[int, int, int]]:
    """(start, end, rank of the best hit) of every piece."""
    recipe = SearchRecipe.model_validate(fields)
    told = with_context(trace(hits(*found)), most, len, recipe, Around())
    return [(hit.chunk.start, hit.chunk.end, hit.rank) for hit in told.context]


def test_neighbours_stop_at_the_ends_of_the_document():
    assert spans([0, 9], context="neighbours") == [(0, 19, 1), (80, 99, 2)]
    assert spans([5], context="neighbours", neighbours=2) == [(30, 79, 1)]


def test_what_overlaps_after_widening_is_one_piece_with_the_best_rank():
    assert spans([7, 1, 5], context="neighbours") == [(40, 89, 1), (0, 29, 2)]


@pytest.mark.parametrize(
    ("line", "span"),
    [(0, (0, 20)), (2, (20, 60)), (3, (20, 60)), (4, (40, 60)), (5, (40, 60)), (9, (60, 100))],
)
def test_a_section_goes_to_the_next_heading_of_its_rank(line, span):
    assert spans([line], context="section") == [(*span, 1)]


def test_pages_are_shown_whole():
    assert spans([4, 5, 9], context="page") == [(30, 60, 1), (60, 100, 3)]


def test_a_wider_piece_has_the_heading_that_it_begins_under_or_else_that_of_its_passage():
    found = [
        Hit(replace(LINES[n], heading="of the passage"), "d.md", rank, 1.0, 1.0, {})
        for rank, n in enumerate((5, 1), start=1)
    ]
    told = with_context(trace(found), 1000, len, SearchRecipe(context="page"), Around())
    headings = [(hit.chunk.start, hit.chunk.heading) for hit in told.context]
    assert headings == [(30, "One"), (0, "of the passage")]


def test_what_would_not_fit_is_left_at_the_passage():
    assert spans([9, 4], most=30, context="section") == [(90, 99, 1), (40, 60, 2)]
    assert spans([4, 6], most=48, context="neighbours") == [(30, 59, 1)]  # joined it had 49


def test_merging_joins_what_touches():
    assert spans([3, 4, 8, 5], merge=True) == [(30, 59, 1), (80, 89, 3)]
    assert spans([3, 4], merge=False) == [(30, 39, 1), (40, 49, 2)]


def test_hits_of_another_base_stay_as_they_are():
    other = Hit(Chunk(1, "elsewhere", 5, 9, "text", 0), "e.md", 1, 1.0, 1.0, {})
    recipe = SearchRecipe(context="section")
    (shown,) = with_context(trace([other]), 1000, len, recipe, Around()).context
    assert shown is other


def test_the_order_of_documents_is_that_of_their_best_hits():
    recipe = SearchRecipe(order="document")
    told = with_context(trace(hits(8, 2, 5)), 1000, len, recipe, Around())
    assert [hit.chunk.order for hit in told.context] == [2, 5, 8]
    assert [hit.chunk.order for hit in told.hits] == [8, 2, 5]


def test_the_budget_counts_what_is_shown():
    recipe = SearchRecipe(context="neighbours")
    told = with_context(trace(hits(1, 5, 9)), 58, len, recipe, Around())
    assert [(hit.chunk.start, hit.chunk.end) for hit in told.context] == [(0, 29), (40, 69)]
    stage = told.stages[-1]
    assert (stage.name, stage.taken, stage.given) == ("context", 3, 2)
    assert [drop.hit.chunk.order for drop in stage.dropped] == [9]
    assert [hit.chunk.order for hit in told.in_prompt] == [1, 5]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True),
    st.sampled_from(["passage", "neighbours", "section", "page"]),
    st.integers(1, 5),
    st.booleans(),
    st.integers(5, 120),
)
def test_every_hit_stands_in_a_piece_of_the_documents_text(found, context, neighbours, merge, most):
    recipe = SearchRecipe.model_validate(
        {"context": context, "neighbours": neighbours, "merge": merge}
    )
    told = with_context(trace(hits(*found)), most, len, recipe, Around())
    left_out = [drop.hit for drop in told.stages[-1].dropped]
    assert sorted(hit.chunk.order for hit in (*told.in_prompt, *left_out)) == sorted(found)
    pieces = [hit.chunk for hit in told.context]
    assert [piece.text for piece in pieces] == [TEXT[one.start : one.end] for one in pieces]
    for hit in told.in_prompt:
        ranks = [
            piece.rank
            for piece in told.context
            if piece.chunk.start <= hit.chunk.start <= hit.chunk.end <= piece.chunk.end
        ]
        assert min(ranks) <= hit.rank
    assert [hit.rank for hit in told.context] == sorted(hit.rank for hit in told.context)


def test_hits_and_figures_stay_about_passages(tmp_path):
    base: KnowledgeBase = make(tmp_path)[1]
    plain = base.search(LEAVE, RECIPE)
    wide = base.search(LEAVE, RECIPE.with_fields({"search.context": "section"}))
    assert [hit.chunk for hit in wide.hits] == [hit.chunk for hit in plain.hits]
    best = wide.context[0].chunk
    assert best.text == base.documents.document(best.document_id).text[best.start : best.end]
    assert best.text.startswith("# Leave")
    answer = base.ask(LEAVE, RECIPE.with_fields({"search.context": "section"})).answer
    cited = answer.citations[0].hit.chunk
    assert (cited.start, cited.end) == (best.start, best.end)
    assert answer.citations[0].quote in cited.text
