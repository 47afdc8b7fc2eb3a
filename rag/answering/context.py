"""The passages of a prompt: widened to neighbours, section or page, and as many as fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

from rag.recipe import SearchRecipe
from rag.types import Chunk, Document, Dropped, Hit, Span, Stage, Trace

Fits = Callable[[str], bool]


class Surroundings(Protocol):
    """The source of documents and passages for the expansion of hits."""

    def document(self, document_id: str) -> Document | None:
        """A document, or None where it is not (any more) here."""

    def passages(self, document_id: str, first: int, last: int) -> Sequence[Chunk]:
        """The passages of a document from order ``first`` to ``last``."""


@dataclass(frozen=True, slots=True)
class ShapedPassage:
    """A piece of text for the prompt with the hits that it stands for, best first."""

    hit: Hit
    of: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    hits: tuple[Hit, ...]


def shapes(recipe: SearchRecipe) -> bool:
    """Whether a recipe shows anything else than its hits."""
    return recipe.context != "passage" or recipe.merge


def shape_passages(
    hits: Sequence[Hit], recipe: SearchRecipe, around: Surroundings, fits: Fits
) -> list[ShapedPassage]:
    """The pieces of text that ``hits`` (best first) become, by their best hit.

    A piece that does not fit is left at the passage itself, and pieces are not joined to one that
    does not. Hits whose document is elsewhere stay as they are.
    """
    passages = list[ShapedPassage]()
    for document_id in dict.fromkeys(hit.chunk.document_id for hit in hits):
        own = [hit for hit in hits if hit.chunk.document_id == document_id]
        document = around.document(document_id)
        if document is None:
            passages += [ShapedPassage(hit, (hit,)) for hit in own]
            continue
        pieces = [_Piece(*_span(hit.chunk, document, recipe, around, fits), (hit,)) for hit in own]
        joined = _joined(pieces, document, recipe, fits)
        passages += [ShapedPassage(_shown(piece, document), piece.hits) for piece in joined]
    place = {id(hit): number for number, hit in enumerate(hits)}
    return sorted(passages, key=lambda passage: place[id(passage.of[0])])


def _span(
    chunk: Chunk, document: Document, recipe: SearchRecipe, around: Surroundings, fits: Fits
) -> Span:
    start, end = chunk.start, chunk.end
    match recipe.context:
        case "neighbours":
            reach = chunk.order - recipe.neighbours, chunk.order + recipe.neighbours
            near = around.passages(chunk.document_id, *reach)
            start = min([start, *(neighbour.start for neighbour in near)])
            end = max([end, *(neighbour.end for neighbour in near)])
        case "section":
            first, last = section(document, chunk.start)
            start, end = min(start, first), max(end, last)
        case "page":
            pages = [page for page in document.pages if page.start < end and start < page.end]
            start = min([start, *(page.start for page in pages)])
            end = max([end, *(page.end for page in pages)])
    return (start, end) if fits(document.text[start:end]) else (chunk.start, chunk.end)


def section(document: Document, offset: int) -> Span:
    """From the heading in force at ``offset`` to the next one of its rank or above.

    Before the first heading it is what stands there; text without headings has no section, and the
    span is empty.
    """
    if not document.headings:
        return offset, offset
    before = [heading for heading in document.headings if heading.start <= offset]
    level = before[-1].level if before else document.headings[0].level
    start = before[-1].start if before else 0
    later = document.headings[len(before) :]
    ends = (heading.start for heading in later if not before or heading.level <= level)
    return start, next(ends, len(document.text))


def _joined(
    pieces: Sequence[_Piece], document: Document, recipe: SearchRecipe, fits: Fits
) -> list[_Piece]:
    """Overlapping pieces as one where they were widened; with ``merge`` also those that touch."""
    done = list[_Piece]()
    for piece in sorted(pieces, key=lambda part: (part.start, part.end)):
        last = done[-1] if done else None
        if last is not None and _belong(last, piece, document, recipe):
            end = max(last.end, piece.end)
            inside = end == last.end
            if inside or fits(document.text[last.start : end]):
                hits = sorted(last.hits + piece.hits, key=lambda hit: hit.rank)
                done[-1] = _Piece(last.start, end, tuple(hits))
                continue
        done.append(piece)
    return done


def _belong(one: _Piece, other: _Piece, document: Document, recipe: SearchRecipe) -> bool:
    if other.start < one.end:
        return True
    return recipe.merge and not document.text[one.end : other.start].strip()


def _shown(piece: _Piece, document: Document) -> Hit:
    """The best hit of a piece with the text of all of it: a citation of it opens there.

    A piece that is wider than its passage has no context: that of a passage is about its beginning.
    """
    best = piece.hits[0]
    chunk, start, end = best.chunk, piece.start, piece.end
    if (start, end) == (chunk.start, chunk.end):
        return best
    wide = replace(
        chunk,
        start=start,
        end=end,
        text=document.text[start:end],
        heading=document.heading_at(start) or chunk.heading,
        page=document.page_at(start),
        context="",
    )
    return replace(best, chunk=wide)


Count = Callable[[str], int]


def pack(
    hits: Sequence[Hit], budget_tokens: int, count: Count
) -> tuple[tuple[Hit, ...], tuple[Dropped, ...]]:
    """Whole passages in rank order until the budget is spent: (kept, dropped).

    The first that does not fit ends the list, so a larger budget never loses a passage. The best
    passage is always kept, whole, even when it exceeds the budget alone: half a passage may say
    the opposite of the whole.
    """
    spent, packed = 0, 0
    for hit in hits:
        size = count(hit.chunk.text)
        if packed and spent + size > budget_tokens:
            break
        spent, packed = spent + size, packed + 1
    reason = f"does not fit: better passages use {spent} of {budget_tokens} tokens"
    return tuple(hits[:packed]), tuple(Dropped(hit, reason) for hit in hits[packed:])


def with_context(
    trace: Trace,
    budget_tokens: int,
    count: Count,
    recipe: SearchRecipe | None = None,
    around: Surroundings | None = None,
) -> Trace:
    """The trace with its last stage, ``context``: which results go into the prompt.

    ``hits`` stay as they are; ``trace.context`` gives what fits: the passages, or what the recipe
    shows of them, read from ``around``.
    """
    start = time.perf_counter()
    pieces = [ShapedPassage(hit, (hit,)) for hit in trace.hits]
    if recipe is not None and around is not None and shapes(recipe):
        pieces = shape_passages(
            trace.hits, recipe, around, lambda text: count(text) <= budget_tokens
        )
    size = cache(count)  # asked again for what was packed
    packed, excess = pack([piece.hit for piece in pieces], budget_tokens, size)
    spent = sum(size(hit.chunk.text) for hit in packed)
    used = pieces[: len(packed)]
    dropped = tuple(
        Dropped(hit, drop.reason)
        for piece, drop in zip(pieces[len(packed) :], excess, strict=True)
        for hit in piece.of
    )
    note, ordered = f"at most {budget_tokens} tokens", trace.shaped
    if recipe is not None and around is not None and (shapes(recipe) or recipe.order != "rank"):
        note = f"{_shape(recipe)}; {note}; pieces of text: {len(used)}"
        ordered = _ordered(packed, recipe)
    elif len(packed) == 1 and spent > budget_tokens:
        note = f"the best passage alone has {spent} tokens, more than the limit of {budget_tokens}"
    seconds = time.perf_counter() - start
    passages_out = sum(len(piece.of) for piece in used)
    figures = {"tokens": float(spent), "budget": float(budget_tokens)}
    stage = Stage("context", len(trace.hits), passages_out, dropped, seconds, note, figures=figures)
    stages = (*trace.stages, stage)
    return replace(trace, stages=stages, seconds=trace.seconds + seconds, shaped=ordered)


def _ordered(hits: Sequence[Hit], recipe: SearchRecipe) -> tuple[Hit, ...]:
    """Best first, or as they stand in their documents, that of the best hit first."""
    if recipe.order == "rank":
        return tuple(hits)
    documents = list(dict.fromkeys(hit.chunk.document_id for hit in hits))
    place = {name: number for number, name in enumerate(documents)}
    return tuple(sorted(hits, key=lambda hit: (place[hit.chunk.document_id], hit.chunk.start)))


def _shape(recipe: SearchRecipe) -> str:
    labels = {"passage": "passages", "section": "whole sections", "page": "whole pages"}
    wide = labels.get(recipe.context, f"passages with up to {recipe.neighbours} more on each side")
    joined = ", joined where they touch" if recipe.merge else ""
    return wide + joined + (", in the order of the documents" if recipe.order != "rank" else "")
