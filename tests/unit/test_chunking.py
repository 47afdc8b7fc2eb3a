"""Every chunker on texts small enough to cut by hand."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rag import Chunk, Document, IndexRecipe, Table
from rag.chunking import chunks
from rag.types import Heading, Page
from tests.tokenizers import WordPiece, Words


def _cut(document: Document | str, chunker: str, size: int = 8, **fields: Any) -> list[Chunk]:
    if isinstance(document, str):
        document = Document("d", "d.txt", "d.txt", "text/plain", document)
    recipe = IndexRecipe.model_validate({"chunker": chunker, "chunk_size": size, **fields})
    return list(chunks(document, recipe, Words()))


def _texts(document: Document | str, chunker: str, size: int = 8, **fields: Any) -> list[str]:
    return [chunk.text for chunk in _cut(document, chunker, size, **fields)]


NUMBERS = " ".join(f"w{n}" for n in range(20))


def _numbers(first: int, last: int) -> str:
    return " ".join(f"w{n}" for n in range(first, last + 1))


def test_flags_are_kept_whole():
    flags = "🇩🇪🇫🇷🇮🇹🇯🇵🇧🇷🇨🇦"
    cut = _texts(flags, "fixed", 9, chunk_unit="characters")
    assert cut == ["🇩🇪🇫🇷🇮🇹🇯🇵", "🇧🇷🇨🇦"]


def test_an_overlap_that_leaves_no_room_is_done_without():
    text = "aa bb cc dddddddd ee"
    cut = _texts(text, "recursive", 8, chunk_overlap=7, chunk_unit="characters")
    assert cut == ["aa bb cc", "dddddddd", "ee"]


def test_whole_is_the_trimmed_text():
    assert _texts(" \n a  b\n\nc \n", "whole") == ["a  b\n\nc"]


def test_fixed_windows_have_exactly_the_size_and_step_by_size_less_overlap():
    assert _texts(NUMBERS, "fixed", 8) == [_numbers(0, 7), _numbers(8, 15), _numbers(16, 19)]
    expected = [_numbers(0, 7), _numbers(5, 12), _numbers(10, 17), _numbers(15, 19)]
    assert _texts(NUMBERS, "fixed", 8, chunk_overlap=3) == expected


def test_fixed_windows_in_characters():
    cut = _texts("abcdefghijklmnopqrst", "fixed", 8, chunk_unit="characters", chunk_overlap=2)
    assert cut == ["abcdefgh", "ghijklmn", "mnopqrst"]


def test_fixed_tokens_are_those_of_the_tokenizer():
    text = "Tokenization of uncharacteristically long antidisestablishmentarian words. " * 9
    tokenizer = WordPiece()
    starts = tokenizer.offsets(text)[:, 0]
    recipe = IndexRecipe(chunker="fixed", chunk_size=20)
    cut = list(chunks(Document("d", "", "", "", text), recipe, tokenizer))
    assert [chunk.start for chunk in cut] == starts[::20].tolist()


def test_recursive_prefers_paragraphs_then_lines_then_sentences_then_words():
    assert _texts("a b c\n\nd e\nf g h i", "recursive") == ["a b c", "d e\nf g h i"]
    assert _texts("a b c\nd e\nf g h i j k", "recursive") == ["a b c\nd e", "f g h i j k"]
    assert _texts("A b c. D e f g. H i", "recursive") == ["A b c.", "D e f g. H i"]
    assert _texts("a b c d e f g h i j", "recursive") == ["a b c d e f g h", "i j"]
    assert _texts("a b\n\nc d", "recursive") == ["a b\n\nc d"]


def test_a_heading_is_not_cut_off_from_its_text():
    text = "One two three.\n\nTitle\n\nFour five six."
    assert _texts(text, "recursive", 8) == ["One two three.", "Title\n\nFour five six."]


@pytest.mark.parametrize("chunker", ["recursive", "sentence", "markdown", "page"])
def test_a_heading_is_not_a_passage_of_its_own(chunker):
    # The heading and its first paragraph do not fit together: sentences of it go with the heading.
    text = "Ground rules.\n\n3 Special leave\n\nA b c d e. F g h i j."
    document = Document("d", "", "", "", text, headings=(Heading(15, 1, "3 Special leave"),))
    assert _texts(document, chunker, 10) == [
        "Ground rules.",
        "3 Special leave\n\nA b c d e.",
        "F g h i j.",
    ]


def test_headings_that_follow_each_other_stay_with_the_text():
    text = "# Part\n\n## Chapter\n\nA b c d e f g h i j."
    headings = (Heading(0, 1, "Part"), Heading(8, 2, "Chapter"))
    document = Document("d", "", "", "", text, headings=headings)
    assert _texts(document, "markdown", 8)[0] == "# Part\n\n## Chapter\n\nA b c"


def test_a_short_line_that_announces_a_paragraph_stays_with_it():
    paragraph = "One two three four five six. " * 4
    assert len(paragraph) > 80
    text = f"Before this all went well.\n\n3.2 Fine-tuning\n\n{paragraph.strip()}"
    assert _texts(text, "recursive", 20) == [
        "Before this all went well.",
        "3.2 Fine-tuning\n\nOne two three four five six. One two three four five six.",
        "One two three four five six. One two three four five six.",
    ]


def test_short_lines_that_follow_each_other_are_a_list_and_may_be_parted():
    lines = [f"Item {n} of it" for n in range(6)]
    assert _texts("\n\n".join(lines), "recursive", 9) == [
        "\n\n".join(lines[first : first + 2]) for first in (0, 2, 4)
    ]


def test_overlap_starts_with_a_sentence_where_one_fits():
    text = "A b c d. E f. G h i. J k."
    assert _texts(text, "recursive", 9, chunk_overlap=5) == [
        "A b c d. E f.",
        "E f. G h i.",
        "G h i. J k.",
    ]


def test_sentences_stay_whole_and_overlap_by_whole_sentences():
    text = "Dr. Who ran\nfast. He hid. Is 3.14 e.g. pi? Yes!"
    assert _texts(text, "sentence", 10) == [
        "Dr. Who ran\nfast. He hid.",
        "Is 3.14 e.g. pi?",
        "Yes!",
    ]
    assert _texts("A b. C d. E f. G h.", "sentence", 8, chunk_overlap=3) == [
        "A b. C d.",
        "C d. E f.",
        "E f. G h.",
    ]
    assert _texts("他来了。我走了。他说。", "sentence", 8, chunk_unit="characters") == [
        "他来了。我走了。",
        "他说。",
    ]


def test_sections_carry_the_path_of_their_headings():
    text = "Intro.\n# A\n## B\nb b b\n## C\nc c\n"
    titles = (("# A", 1, "A"), ("## B", 2, "B"), ("## C", 2, "C"))
    headings = tuple(Heading(text.index(mark), level, title) for mark, level, title in titles)
    document = Document("d", "", "", "", text, headings=headings)
    found = [(chunk.text, chunk.heading) for chunk in _cut(document, "markdown", 12)]
    assert found == [
        ("Intro.", ""),
        ("# A\n## B\nb b b", "A > B"),
        ("## C\nc c", "A > C"),
    ]
    assert _texts(text, "markdown", 9) == _texts(text, "recursive", 9)


def test_pages_are_chunks_and_long_ones_are_split():
    text = "a b c\x0cd e f g h i j k l m\x0c\x0cn"
    pages = (Page(1, 0, 5), Page(2, 6, 25), Page(3, 26, 26), Page(4, 27, 28))
    found = _cut(Document("d", "", "", "", text, pages), "page")
    assert [(chunk.text, chunk.page, chunk.order) for chunk in found] == [
        ("a b c", 1, 0),
        ("d e f g h i j k", 2, 1),
        ("l m", 2, 2),
        ("n", 4, 3),
    ]
    assert _texts(NUMBERS, "page") == _texts(NUMBERS, "recursive")


def test_an_endless_word_is_cut_to_size():
    assert _texts("x" * 20, "recursive", 8, chunk_unit="characters") == ["x" * 8, "x" * 8, "xxxx"]
    # One unknown token of 700 characters weighs one per 32 characters: pieces of 8 x 32.
    lengths = [len(text) for text in _texts("a b " + "x" * 700 + " c", "recursive", 8)]
    assert lengths == [3, 254, 254, 194]


@pytest.mark.parametrize("indent", ["", " " * 12])
@pytest.mark.parametrize("mark", ["2.", "#."])
def test_a_passage_does_not_end_with_the_mark_of_the_next_item(indent, mark):
    first, second = "1.  It is a rule of the house.", f"{mark}  It is the next one."
    assert _texts(f"{first}\n{indent}{second}", "sentence", 12) == [first, second]


def test_a_gap_of_megabytes_ends_a_passage():
    assert _texts("a" + " " * 3_000_000 + "b", "recursive") == ["a", "b"]
    assert _texts("a" + " " * 20 + "b", "recursive") == ["a" + " " * 20 + "b"]


@pytest.mark.parametrize("chunker", ["fixed", "recursive", "sentence"])
@pytest.mark.parametrize("unit", ["tokens", "characters"])
def test_where_blocks_end_leaves_no_trace(chunker, unit, monkeypatch):
    text = (
        "One fish.\nTwo fish, red fish. Blue fish!\n\n他来了。我走了。 Black fish e.g. old fish? "
        * 40
    )
    fields = {"chunk_unit": unit, "chunk_overlap": 7}
    expected = _cut(text, chunker, 30, **fields)
    for block in (60, 64, 97, 250):
        monkeypatch.setattr("rag.chunking.atoms.BLOCK", block)
        assert _cut(text, chunker, 30, **fields) == expected


class _Watched(Words):
    def __init__(self) -> None:
        self.read: list[int] = []

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        self.read.append(len(text))
        return super().offsets(text)


@pytest.mark.parametrize("chunker", ["fixed", "recursive", "sentence", "markdown", "page"])
def test_a_long_text_is_read_block_by_block_as_far_as_asked_for(chunker):
    document = Document("d", "", "", "", "It was a dark and stormy night. " * 20_000)
    tokenizer = _Watched()
    recipe = IndexRecipe.model_validate({"chunker": chunker})
    stream = chunks(document, recipe, tokenizer)
    next(stream)
    assert sum(tokenizer.read) <= len(document.text) / 19
    list(stream)
    assert max(tokenizer.read) <= len(document.text) / 19
    assert 18 / 19 * len(document.text) < sum(tokenizer.read) <= len(document.text)


@pytest.mark.parametrize("chunker", ["fixed", "recursive", "sentence", "markdown", "page"])
@pytest.mark.parametrize(("unit", "size", "overlap"), [("tokens", 24, 8), ("characters", 80, 30)])
def test_no_row_of_a_table_is_split(chunker, unit, size, overlap):
    rows = [f"CV-{n}\tRotor number {n} not seen. Or worn\tRemove it; call us" for n in range(900)]
    before, table = "Some words stand above it. " * 9 + "\n\nFault codes\n", "\n".join(rows)
    text = f"{before}{table}\n\nAnd words below. It ends."
    place = Table(len(before), len(before) + len(table), ("Code", "Meaning", "What to do"))
    recipe = IndexRecipe.model_validate(
        {"chunker": chunker, "chunk_size": size, "chunk_overlap": overlap, "chunk_unit": unit}
    )
    document = Document("d", "", "", "", text, tables=(place,))
    cut = list(chunks(document, recipe, WordPiece()))
    edges = {offset for chunk in cut for offset in (chunk.start, chunk.end)}
    inside = {offset for offset in edges if place.start < offset < place.end}
    assert inside
    assert {text[offset - 1 : offset + 1].count("\n") for offset in inside} == {1}


def test_a_row_beyond_the_limit_is_cut_between_its_words():
    text = "a\tb\n" + "\t".join(f"cell number {n}" for n in range(40)) + "\nc\td"
    document = Document("d", "", "", "", text, tables=(Table(0, len(text)),))
    cut = [c.text for c in chunks(document, IndexRecipe(chunk_size=20), WordPiece())]
    assert " ".join(" ".join(cut).split()) == " ".join(text.split())
    assert all(WordPiece().count(each) <= 20 for each in cut)
