"""Labels are spans of text: no chunker and no edit around them changes what they mean."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from rag import Chunk, Document, IndexRecipe
from rag.chunking import CHUNKERS, chunks
from rag.evaluation.anchoring import Haystack
from rag.evaluation.relevance import relevant_chunks
from rag.types import Evidence, Heading
from tests.text_vectors import text_vectors
from tests.tokenizers import Words

_WORD = st.text(alphabet="abcdefghij", min_size=2, max_size=9)
_GAP = st.sampled_from([" "] * 8 + [". ", "\n", "\n\n", "  "])


@st.composite
def documents(draw: st.DrawFn) -> Document:
    words = draw(st.lists(_WORD, min_size=12, max_size=90))
    text = "".join(f"{word}{number}" + draw(_GAP) for number, word in enumerate(words))
    headings = [Heading(start, 1, "h") for start in sorted(draw(st.sets(st.integers(0, 200))))[:3]]
    return Document("d", "d.md", "d.md", "text/markdown", text, headings=tuple(headings))


@st.composite
def labelled(draw: st.DrawFn) -> tuple[Document, Evidence]:
    document = draw(documents())
    words = [match.span() for match in re.finditer(r"\w+", document.text)]
    first = draw(st.integers(0, len(words) - 1))
    last = draw(st.integers(first, len(words) - 1))
    start, end = words[first][0], words[last][1]
    return document, Evidence("d", start, end, 1, document.text[start:end])


RECIPES = st.builds(
    IndexRecipe,
    chunker=st.sampled_from(sorted(CHUNKERS)),
    chunk_size=st.integers(8, 60),
    chunk_overlap=st.integers(0, 7),
    chunk_unit=st.sampled_from(["tokens", "characters"]),
)


def _relevant(document: Document, label: Evidence, recipe: IndexRecipe) -> list[Chunk]:
    cut = list(chunks(document, recipe, Words(), text_vectors))
    rows = [(each.key, "d", each.start, each.end) for each in cut]
    grades = relevant_chunks([label], rows)
    return [each for each in cut if each.key in grades]


@given(labelled(), RECIPES)
def test_every_chunker_finds_the_labelled_text(given_label, recipe):
    document, label = given_label
    assert label.end is not None
    relevant = _relevant(document, label, recipe)
    assert relevant
    covered = {at for each in relevant for at in range(each.start, each.end)}
    visible = [at for at in range(label.start, label.end) if document.text[at].strip()]
    # What is missing of the text lies in the passages at its ends, each of which has less than
    # half of it or of themselves.
    missing = [at for at in visible if at not in covered]
    held = [
        each for each in chunks(document, recipe, Words(), text_vectors) if each not in relevant
    ]
    for each in held:
        inside = [at for at in range(each.start, each.end) if label.start <= at < label.end]
        assert not inside or each.start < label.start or each.end > label.end
    assert len(missing) < len(visible)


@given(labelled(), st.lists(RECIPES, min_size=2, max_size=4))
def test_a_label_is_the_same_after_any_number_of_cuts(given_label, recipes):
    document, label = given_label
    first = _relevant(document, label, recipes[0])
    for recipe in recipes:
        _relevant(document, label, recipe)
        span = Haystack(document.text).locate(label.quote, label.start, label.end)
        assert span == (label.start, label.end)
    assert _relevant(document, label, recipes[0]) == first


@given(
    labelled(),
    st.lists(_WORD, max_size=30),
    st.lists(_WORD, max_size=30),
    st.sampled_from([" ", "\n", "  ", "\r\n"]),
)
def test_a_label_survives_edits_around_it_and_of_its_white_space(given_label, before, after, blank):
    document, label = given_label
    assert label.end is not None
    assume(len(label.quote.split()) > 1)
    quote = blank.join(label.quote.split())
    head = " ".join([*before, document.text[: label.start]])
    new = head + quote + " ".join([document.text[label.end :], *after])
    near = label.start / len(document.text)
    span = Haystack(new).find(label.quote, near)
    assert span is not None
    assert new[slice(*span)].split() == quote.split()


@given(labelled(), RECIPES, st.lists(_WORD, min_size=1, max_size=20))
def test_relevant_passages_of_a_new_version_hold_the_same_words(given_label, recipe, before):
    document, label = given_label
    assume(document.text.count(label.quote) == 1 and len(label.quote) >= 12)
    text = " ".join(before) + ".\n\n" + document.text
    assume(text.count(label.quote) == 1)
    span = Haystack(text).find(label.quote, label.start / len(document.text))
    new = Document("d", "d.md", "d.md", "text/markdown", text)
    moved = Evidence("d", *span, 1, label.quote)
    relevant = _relevant(new, moved, recipe)
    assert relevant
    assert all(each.start < span[1] and each.end > span[0] for each in relevant)
