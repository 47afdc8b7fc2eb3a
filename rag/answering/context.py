"""Which passages fit into a prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

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
    spent, kept = 0, 0
    for hit in hits:
        size = count(hit.chunk.text)
        if kept and spent + size > budget_tokens:
            break
        spent, kept = spent + size, kept + 1
    reason = f"does not fit: {spent} of {budget_tokens} tokens are taken by better passages"
    return tuple(hits[:kept]), tuple(Dropped(hit, reason) for hit in hits[kept:])


def with_context(trace: Trace, budget_tokens: int, count: Count) -> Trace:
    """The trace with its last stage, ``context``: which results go into the prompt.

    ``hits`` stay as they are; ``trace.context`` gives those that fit.
    """
    start = time.perf_counter()
    kept, dropped = pack(trace.hits, budget_tokens, count)
    note = f"at most {budget_tokens} tokens"
    if len(kept) == 1 and (size := count(kept[0].chunk.text)) > budget_tokens:
        note = f"the best passage alone has {size} tokens, more than the {budget_tokens} asked for"
    seconds = time.perf_counter() - start
    stage = Stage("context", len(trace.hits), len(kept), dropped, seconds, note)
    return replace(trace, stages=(*trace.stages, stage), seconds=trace.seconds + seconds)
