"""Headings stay with the text that they announce, and name it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from rag import Chunk, Document, IndexRecipe, place_of
from rag.chunking import chunks
from rag.types import Heading, Page, Vectors
from tests.tokenizers import WordPiece, Words


def _cut(document: Document, chunker: str, size: int) -> list[Chunk]:
    recipe = IndexRecipe.model_validate({"chunker": chunker, "chunk_size": size})
    return list(chunks(document, recipe, Words()))


def _texts(document: Document, chunker: str, size: int) -> list[str]:
    return [chunk.text for chunk in _cut(document, chunker, size)]


def _marked(text: str, *titles: str) -> Document:
    """A document whose headings are lines of its text."""
    headings = tuple(
        Heading(text.index(title), 1 + title.count("#") - title.startswith("#"), title.lstrip("# "))
        for title in titles
    )
    return Document("d", "", "", "", text, headings=headings)


def test_a_heading_without_text_goes_with_what_follows_it():
    text = "# A\n\n# B\n\nb b\n\n## C\n\n# D\n\nd d\n"
    document = _marked(text, "# A", "# B", "## C", "# D")
    found = [(chunk.text, chunk.heading) for chunk in _cut(document, "markdown", 12)]
    assert found == [("# A\n\n# B\n\nb b", "B"), ("## C\n\n# D\n\nd d", "D")]


def test_a_heading_that_is_underlined_goes_with_what_follows_it():
    text = "Part\n====\n\nChapter\n----\n\nb b\n"
    document = _marked(text, "Part", "Chapter")
    assert _texts(document, "markdown", 12) == [text.strip()]


@pytest.mark.parametrize("chunker", ["recursive", "sentence", "markdown", "page"])
def test_headings_at_the_end_go_with_what_precedes_them(chunker):
    text = "# A\n\nBird. Dog e.\n\n# H\n\n# I"
    document = _marked(text, "# A", "# H", "# I")
    found = [(chunk.text, chunk.heading) for chunk in _cut(document, chunker, 8)]
    assert found == [("# A\n\nBird.", "A"), ("Dog e.\n\n# H\n\n# I", "A")]


def test_a_heading_at_the_end_of_a_page_goes_with_what_precedes_it():
    text = "A b. C d e f.\n\nPart\x0cI j."
    document = replace(_marked(text, "Part"), pages=(Page(1, 0, 19), Page(2, 20, 24)))
    assert _texts(document, "page", 8) == ["A b.", "C d e f.\n\nPart", "I j."]


def test_headings_alone_are_one_passage():
    document = _marked("# A\n\n## B\n\n# C", "# A", "## B", "# C")
    found = [(chunk.text, chunk.heading) for chunk in _cut(document, "markdown", 12)]
    assert found == [(document.text, "C")]


def test_a_heading_is_not_cut_where_a_sentence_seems_to_end_in_it():
    text = "A b c d.\n\nWhy? Since then\n\nE f g h i j."
    document = _marked(text, "Why? Since then")
    assert _texts(document, "sentence", 8) == ["A b c d.", "Why? Since then\n\nE f g h", "i j."]


def test_no_topic_ends_between_a_heading_and_its_text():
    text = "Whales sing songs. Whales dive.\n\nOf 2. Steel\n\nBridges are steel. Bridges stand."

    def embed(texts: Sequence[str]) -> Vectors:
        topics = ["Whales", "Of", "Steel", "Bridges"]
        which = [next(n for n, topic in enumerate(topics) if topic in said) for said in texts]
        return np.eye(4, dtype=np.float32)[which]

    recipe = IndexRecipe(chunker="semantic", chunk_size=40, breakpoint_percentile=0)
    document = _marked(text, "Of 2. Steel")
    assert [chunk.text for chunk in chunks(document, recipe, WordPiece(), embed)] == [
        "Whales sing songs. Whales dive.",
        "Of 2. Steel\n\nBridges are steel. Bridges stand.",
    ]


def test_a_heading_without_text_has_no_part_of_a_place():
    text = "# The first part of it all\n\n## C\n\nc c"
    document = _marked(text, "# The first part of it all", "## C")
    assert place_of(document, 0, len(text)).heading == "The first part of it all > C"
    document = _marked("# A part without text\n\n# D\n\nd d", "# A part without text", "# D")
    assert place_of(document, 0, len(document.text)).heading == "D"
    assert place_of(document, 0, 21).heading == "A part without text"


def test_an_outline_places_passages_as_its_document_does():
    text = "# Doors\n\nClose them.\n\n# Lorries\n\n# Forklifts\n\nThey charge in the north hall."
    document = _marked(text, "# Doors", "# Lorries", "# Forklifts")
    outline = replace(document, text="")
    ends = [text.index("# Lorries"), text.index("# Forklifts"), len(text)]
    assert [place_of(document, 0, end).heading for end in ends] == ["Doors", "Doors", "Forklifts"]
    assert [place_of(outline, 0, end).heading for end in ends] == ["Doors", "Doors", "Forklifts"]
    start = text.index("# Lorries")
    assert place_of(outline, start, len(text)).heading == "Forklifts"
