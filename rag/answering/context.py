"""Selection of the passages that fit into a prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from rag.answering.shaping import ShapedPassage, Surroundings, shape_passages, shapes
from rag.recipe import SearchRecipe
from rag.types import Dropped, Hit, Stage, Trace

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
