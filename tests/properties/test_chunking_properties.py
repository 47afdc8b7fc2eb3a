"""What holds for every chunker, size, overlap, unit and text."""

import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag import Chunk, Document, IndexRecipe, Table
from rag.chunking import CHUNKERS, chunks
from rag.chunking.contexts import MOST_TOKENS, tokens
from rag.protocols import Tokenizer
from rag.types import Heading, Page, chunk_key
from tests.text_vectors import text_vectors
from tests.tokenizers import WordPiece, Words

WORDS, WORDPIECE = Words(), WordPiece()

_PIECES = (
    *("The whale. ", "Call me Ishmael! ", "e.g. this", "Dr. Who? ", "3.14 ", "a", "word "),
    *("\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "   ", "\x0c", "\x0b", "\x85", "\u2029", " " * 70),
    *("日本語の文章。", "「はい！」", "漢字", "，", "한국어 ", "ภาษาไทย", "हिन्दी। ", "עברית "),
    *("👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "👍🏽", "e\u0301", "\u0301\u0302\u0303", "Z̸̧͇", "\ud83d\ude00", "\ud800"),
    *("\x00", "\u200b", "\ufeff", "\u00ad", "\x1c", "\u200d", "\ufffd", "ﷺ"),
    *("x" * 40, "abcdefghij" * 15, "https://example.org/a?b=c&d=%20" * 3, "0123456789abcdef" * 20),
)
TEXTS = st.one_of(
    st.lists(st.sampled_from(_PIECES), max_size=60).map("".join),
    st.text(max_size=200),
    st.text(alphabet=" \n\t\r\x0c\u200b\x00a.", max_size=120),
)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(TEXTS)
    offsets = st.lists(st.integers(0, len(text)), max_size=6).map(sorted)
    starts = draw(offsets)
    pages = [
        Page(number, start, end, draw(st.sampled_from(["", "Head | 3", text[:start]])))
        for number, (start, end) in enumerate(itertools.pairwise([*starts, len(text)]), 1)
    ]
    headings = [Heading(start, draw(st.integers(1, 3)), f"h{start}") for start in draw(offsets)]
    edges = draw(offsets)
    tables = [
        Table(start, end, ("Code", text[start:end]), text[:start])
        for start, end in itertools.pairwise(edges)
        if start < end
    ][::2]
    named = {"title": draw(TEXTS)}
    about = Document("d", draw(TEXTS), "d.txt", "text/plain", text, tuple(pages), tuple(headings))
    return replace(about, tables=tuple(tables), metadata=named)


@st.composite
def recipes(draw: st.DrawFn) -> IndexRecipe:
    size = draw(st.one_of(st.integers(8, 40), st.sampled_from([200, 8192])))
    return IndexRecipe(
        chunker=draw(st.sampled_from(sorted(CHUNKERS))),
        chunk_size=size,
        chunk_overlap=draw(st.integers(0, min(size - 1, 4096))),
        chunk_unit=draw(st.sampled_from(["tokens", "characters"])),
        context=draw(st.sampled_from(["none", "document", "headings", "table"])),
        breakpoint_percentile=draw(st.sampled_from([0, 50, 90, 100])),
    )


TOKENIZERS = st.sampled_from([WORDS, WORDPIECE])


def _cut(document: Document, recipe: IndexRecipe, tokenizer: Tokenizer) -> list[Chunk]:
    return list(chunks(document, recipe, tokenizer, text_vectors))


def _size(text: str, recipe: IndexRecipe, tokenizer: Tokenizer) -> int:
    return tokenizer.count(text) if recipe.chunk_unit == "tokens" else len(text)


@given(documents(), recipes(), TOKENIZERS)
@settings(max_examples=100, deadline=None)
def test_chunks_are_trimmed_slices_with_their_place(document, recipe, tokenizer):
    for order, chunk in enumerate(_cut(document, recipe, tokenizer)):
        assert document.text[chunk.start : chunk.end] == chunk.text
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.order == order
        assert chunk.document_id == "d"
        assert chunk.key == chunk_key("d", chunk.start, chunk.end)
        assert chunk.page == document.page_at(chunk.start)
        assert tokens(chunk.context) <= MOST_TOKENS
        assert chunk.indexed_text == (
            f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text
        )


@given(documents(), recipes(), TOKENIZERS)
@settings(max_examples=50, deadline=None)
def test_what_is_indexed_beside_a_text_moves_no_boundary(document, recipe, tokenizer):
    plain = _cut(document, recipe.model_copy(update={"context": "none"}), tokenizer)
    assert all(chunk.context == "" for chunk in plain)
    assert [replace(chunk, context="") for chunk in _cut(document, recipe, tokenizer)] == plain


@given(documents(), recipes(), TOKENIZERS)
@settings(max_examples=100, deadline=None)
def test_every_visible_character_is_covered_in_order(document, recipe, tokenizer):
    found = _cut(document, recipe, tokenizer)
    covered = 0
    for chunk in found:
        assert not document.text[covered : chunk.start].strip()
        covered = chunk.end
    assert not document.text[covered:].strip()
    for one, two in itertools.pairwise(found):
        assert one.start < two.start
        assert one.end < two.end


@given(documents(), recipes(), TOKENIZERS)
@settings(max_examples=100, deadline=None)
def test_neighbours_share_no_more_than_asked_for(document, recipe, tokenizer):
    for one, two in itertools.pairwise(_cut(document, recipe, tokenizer)):
        shared = document.text[two.start : one.end]
        if recipe.chunk_overlap == 0 or recipe.chunker == "whole":
            assert one.end <= two.start
        elif recipe.chunker != "fixed" or recipe.chunk_unit == "characters":
            assert _size(shared, recipe, tokenizer) <= recipe.chunk_overlap


@given(documents(), recipes(), TOKENIZERS)
@settings(max_examples=100, deadline=None)
def test_no_chunk_exceeds_the_size(document, recipe, tokenizer):
    if recipe.chunker == "whole":
        return
    for chunk in _cut(document, recipe, tokenizer):
        if recipe.chunker == "fixed" and recipe.chunk_unit == "tokens":
            continue
        assert _size(chunk.text, recipe, tokenizer) <= recipe.chunk_size or len(chunk.text) == 1


@given(TEXTS, st.integers(8, 30), st.integers(0, 7), TOKENIZERS)
@settings(max_examples=100, deadline=None)
def test_fixed_windows_count_tokens_of_the_running_text(text, size, overlap, tokenizer):
    recipe = IndexRecipe(chunker="fixed", chunk_size=size, chunk_overlap=overlap)
    ends = tokenizer.offsets(text)[:, 1]
    for chunk in _cut(Document("d", "", "", "", text), recipe, tokenizer):
        inside = ((ends > chunk.start) & (ends <= chunk.end)).sum()
        assert inside <= size or len(chunk.text) == 1


@given(documents(), recipes(), TOKENIZERS)
@settings(max_examples=100, deadline=None)
def test_the_same_input_gives_the_same_chunks(document, recipe, tokenizer):
    assert _cut(document, recipe, tokenizer) == _cut(document, recipe, tokenizer)


SIGNS = ("a", "字", "e\u0301", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "\ud83d\ude00", "각", "❤️", "。")


@given(
    st.lists(st.sampled_from(SIGNS), min_size=1, max_size=200),
    st.sampled_from(["fixed", "recursive", "sentence", "page"]),
    st.integers(8, 20),
    st.sampled_from(["tokens", "characters"]),
    TOKENIZERS,
)
@settings(max_examples=100, deadline=None)
def test_signs_of_several_characters_stay_whole(signs, chunker, size, unit, tokenizer):
    recipe = IndexRecipe.model_validate(
        {"chunker": chunker, "chunk_size": size, "chunk_overlap": 7, "chunk_unit": unit}
    )
    edges = {0, *itertools.accumulate(map(len, signs))}
    for chunk in _cut(Document("d", "", "", "", "".join(signs)), recipe, tokenizer):
        assert {chunk.start, chunk.end} <= edges


@pytest.mark.parametrize("chunker", sorted(CHUNKERS))
@pytest.mark.parametrize("text", ["", " ", "\n\n\t \r\n", "\u3000" * 100])
def test_nothing_comes_of_nothing(chunker, text):
    recipe = IndexRecipe.model_validate({"chunker": chunker})
    assert _cut(Document("d", "", "", "", text), recipe, WORDS) == []


@st.composite
def outlines(draw: st.DrawFn) -> Document:
    """A document of headings, some without text, and paragraphs."""
    lines = draw(st.lists(st.sampled_from(["#", "##", "###", "text"]), min_size=1, max_size=6))
    text, headings = "", list[Heading]()
    for number, kind in enumerate(lines):
        if kind == "text":
            text += f"Sentence {number} is short. " * draw(st.integers(1, 6)) + "\n\n"
        else:
            headings.append(Heading(len(text), len(kind), f"Part {number}"))
            text += f"{kind} Part {number}\n\n"
    return Document("d", "", "", "", text, headings=tuple(headings))


@given(
    outlines(),
    st.sampled_from(["markdown", "recursive", "sentence", "semantic"]),
    st.integers(40, 80),
)
@settings(max_examples=100, deadline=None)
def test_no_passage_is_a_heading_alone(document, chunker, size):
    recipe = IndexRecipe.model_validate({"chunker": chunker, "chunk_size": size})
    if "Sentence" in document.text:
        texts = [chunk.text for chunk in _cut(document, recipe, WORDS)]
        assert [text for text in texts if re.fullmatch(r"(#* ?Part \d\s*)+", text)] == []
