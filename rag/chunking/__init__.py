"""Documents into passages.

``chunks`` is lazy and works in bounded memory, so a document of any size can be cut while its
passages are embedded. Sizes are tokens as the embedder counts them, or characters. In tokens the
limit is exact for tokenizers whose counts add up at white space (WordPiece does); a word that alone
exceeds the limit is cut inside, into pieces that are measured one by one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rag.chunking.atoms import Scale, closing_headings, heading_end, read_atoms
from rag.chunking.contexts import Contexts
from rag.chunking.estimates import EstimatedTokens
from rag.chunking.spans import Embed as Embed
from rag.chunking.spans import Policy, added_words, apply_edits, cut, topics
from rag.languages import document_language
from rag.protocols import Tokenizer
from rag.recipe import Chunker, IndexRecipe
from rag.types import Chunk, Document, Span, Vectors, chunk_key

_VISIBLE = re.compile(r"\S")

_ANYWHERE = Policy((0,) * 8)
# Order of preference: paragraphs, lines, sentences, words; among equals the boundary that also ends
# a sentence, so that a heading is not cut off from the text it announces.
_STRUCTURE = Policy((0, 1, 2, 3, 4, 5, 4, 5), overlap_from=1)
_SENTENCES = Policy((0, 2, 1, 2, 2, 2, 2, 2), overlap_from=2, overlap_strict=True)


Regions = Callable[[Document, IndexRecipe, Embed], Iterator[Span]]


def _everything(document: Document, *_: object) -> Iterator[Span]:
    yield 0, len(document.text)


def _sections(document: Document, *_: object) -> Iterator[Span]:
    """Text from one heading to the next; a heading without text of its own goes with what follows
    it, and at the end of the document with what precedes it."""
    start, title_end, text = 0, 0, document.text
    closing = closing_headings(text, document.headings, 0, len(text))
    for heading in document.headings:
        if heading.start >= closing:
            break
        if _VISIBLE.search(text, title_end, heading.start):
            yield start, heading.start
            start = heading.start
        title_end = heading_end(text, heading)
    yield start, len(text)


def _pages(document: Document, *_: object) -> Iterator[Span]:
    bounds = (0, *(page.start for page in document.pages[1:]), len(document.text))
    yield from itertools.pairwise(bounds)


def _topics(document: Document, recipe: IndexRecipe, embed: Embed) -> Iterator[Span]:
    yield from topics(document, embed, recipe.breakpoint_percentile)


def _no_embedder(_texts: Sequence[str]) -> Vectors:
    raise ValueError("this chunker embeds sentences and was given no embedder")


@dataclass(frozen=True, slots=True)
class Cutting:
    """One chunker: regions that no passage crosses, what it cuts between, and where it prefers to.

    ``policy`` None leaves the text whole. ``fine`` cuts between tokens (or characters), not words.
    """

    description: str
    regions: Regions
    policy: Policy | None
    fine: bool = False
    sectioned: bool = False
    """Every passage lies under one heading, the last one in it that has text."""


CHUNKERS: Mapping[Chunker, Cutting] = MappingProxyType(
    {
        "whole": Cutting("the document as one passage", _everything, None),
        "fixed": Cutting("windows of equal size", _everything, _ANYWHERE, fine=True),
        "recursive": Cutting("paragraphs, lines, sentences, words", _everything, _STRUCTURE),
        "sentence": Cutting("whole sentences", _everything, _SENTENCES),
        "markdown": Cutting("sections under their headings", _sections, _STRUCTURE, sectioned=True),
        "page": Cutting("pages", _pages, _STRUCTURE),
        "semantic": Cutting("where neighbouring sentences are least alike", _topics, _STRUCTURE),
    }
)
"""Every chunker by its name in a recipe."""


def chunks(
    document: Document,
    recipe: IndexRecipe,
    tokenizer: Tokenizer,
    embed: Embed = _no_embedder,
    languages: Collection[str] = (),
) -> Iterator[Chunk]:
    """The passages of ``document`` in order, by the chunker, size, overlap and unit of ``recipe``.
    Only the chunker ``semantic`` calls ``embed``. ``languages`` are the only ones that the embedder
    knows (ISO 639-1), none where it is not known to lack any: see ``chunk_unit``.

    Passages are trimmed of white space, never empty, and hold every visible character. Starts and
    ends strictly increase; no row of a table that is within the limit is split; neighbours share
    at most the overlap, and nothing across pages, sections or topics. A document without pages (or
    headings) is cut like ``recursive``. What people decided about its passages
    (``document.edits``) holds in every cut; words that they added are part of the context.
    """
    cutting, contexts = CHUNKERS[recipe.chunker], Contexts(document, recipe.context)
    counted = length_counter(document, recipe, tokenizer, languages)

    def cut_part(part: Document) -> Iterator[Span]:
        return _spans(part, recipe, counted, embed)

    for order, (start, end) in enumerate(apply_edits(document, cut_part)):
        about = contexts.of(start, end), added_words(document, start, end)
        first = document.heading_at(start)
        yield Chunk(
            key=chunk_key(document.id, start, end),
            document_id=document.id,
            start=start,
            end=end,
            text=document.text[start:end],
            order=order,
            heading=_last_heading(document, start, end) if cutting.sectioned else first,
            page=document.page_at(start),
            context="\n".join(filter(None, about)),
        )


def _last_heading(document: Document, start: int, end: int) -> str:
    """The last heading of a passage that has text in it, or the last one if none has."""
    closing = closing_headings(document.text, document.headings, start, end)
    return document.heading_at((closing if closing > start else end) - 1)


def length_counter(
    document: Document, recipe: IndexRecipe, tokenizer: Tokenizer, languages: Collection[str] = ()
) -> Tokenizer | None:
    """Return the tokenizer that measures a document's passages; None to measure in characters."""
    if recipe.chunk_unit == "characters":
        return None
    if recipe.chunk_unit == "tokens" or not languages:
        return tokenizer
    return tokenizer if document_language(document.text) in languages else EstimatedTokens()


def _spans(
    document: Document, recipe: IndexRecipe, counted: Tokenizer | None, embed: Embed
) -> Iterator[Span]:
    cutting = CHUNKERS[recipe.chunker]
    scale = Scale(recipe.chunk_size, counted, cutting.fine)
    for start, end in cutting.regions(document, recipe, embed):
        if cutting.policy is None:
            if match := _VISIBLE.search(document.text, start, end):
                yield match.start(), len(document.text[:end].rstrip())
        else:
            atoms = read_atoms(document.text, start, end, scale, document.tables, document.headings)
            yield from cut(atoms, recipe.chunk_size, recipe.chunk_overlap, cutting.policy)
