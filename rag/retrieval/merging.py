"""Several retrievals of one question as one: other knowledge bases, results of tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.types import Dropped, Hit, Stage, StageName, Trace

RRF_K = 60
"""The constant of Cormack, Clarke, Büttcher: Reciprocal Rank Fusion, SIGIR 2009."""


@dataclass(frozen=True, slots=True)
class Part:
    """The results of one source, best first by its own recipe.

    ``scale`` names the meaning of the relevance. Relevances compare only on equal scales.
    """

    name: str
    trace: Trace
    scale: str
    weight: float = 1.0


def merge_traces(
    parts: Sequence[Part], recipe: str, top_k: int, failures: Sequence[str] = ()
) -> Trace:
    """One trace of all parts, the first one leading; ``recipe`` is the hash it carries.

    A list keeps the order that its own recipe gave it; what is decided here is how the lists are
    interleaved. That goes by ``weight * relevance``, which has one meaning across sources:
    the cosine of the same embedder, or a calibrated probability. Since hybrid or reranked lists
    are not sorted by relevance, it is first fitted to the order of its list (isotonic regression,
    Barlow et al. 1972). Sorting by bare relevance would undo hybrid search: with SciFact cut
    in two at random, nDCG@10 was 0.647 that way, 0.708 this way, 0.614 by reciprocal ranks.

    Where scales differ, relevances do not compare: the lists are merged by ``weight / (60 + rank)``
    and the stage says so. The best ``top_k`` stay. Of a passage that several sources have, the best
    place counts. ``failures`` tell of sources that gave nothing.
    """
    how, ordered = _interleaved(parts)
    hits, copies = _without_copies(ordered)
    beyond = tuple(
        Dropped(hit, f"place {hit.rank} of the merged list, top-k is {top_k}")
        for hit in hits[top_k:]
    )
    notes = [how, *([f"{copies} in several"] if copies else []), *failures]
    note, count_out = " · ".join(notes), len(hits) - len(beyond)
    merge = Stage("merge", len(ordered), count_out, beyond, note=note, failed=bool(failures))
    first = parts[0].trace
    return Trace(
        question=first.question,
        recipe=recipe,
        passages=sum(part.trace.passages for part in parts),
        threshold=first.threshold,
        stages=(*_summed_stages(parts, hits), merge),
        hits=hits[:top_k],
        seconds=sum(part.trace.seconds for part in parts),
        relevance=first.relevance,
        words=first.words,
        typed=first.typed,
        reading=first.reading,
        corrections=tuple(
            dict.fromkeys(correction for part in parts for correction in part.trace.corrections)
        ),
    )


def isotonic_fit(relevance: Sequence[float]) -> list[float]:
    """The non-increasing sequence that is nearest to one, in squares: pool adjacent violators."""
    blocks: list[tuple[float, int]] = []
    for value in relevance:
        mean, size = value, 1
        while blocks and blocks[-1][0] < mean:
            before, count = blocks.pop()
            mean, size = (mean * size + before * count) / (size + count), size + count
        blocks.append((mean, size))
    return [mean for mean, size in blocks for _ in range(size)]


def _interleaved(parts: Sequence[Part]) -> tuple[str, list[Hit]]:
    """Return the method as text, and all hits with their deciding scores, best first.

    Ties are broken by rank, then by key.
    """
    scales = list(dict.fromkeys(part.scale for part in parts))
    alike = len(scales) == 1
    ranked = []
    for part in parts:
        worth = isotonic_fit([max(hit.relevance, 0.0) for hit in part.trace.hits])
        for rank, hit in enumerate(part.trace.hits, start=1):
            score = part.weight * (worth[rank - 1] if alike else 1.0 / (RRF_K + rank))
            own = {**hit.parts, "own": hit.score, "merged": score}
            ranked.append((-score, rank, hit.chunk.key, part.name, hit, own))
    ranked.sort(key=lambda entry: entry[:4])
    weighed = ", ".join(f"{p.name} × {p.weight:g}" for p in parts if p.weight != 1.0)
    how = f"by {scales[0]}" if alike else f"{' and '.join(scales)} do not compare: by ranks"
    hits = [replace(h, base=name, score=-s, parts=own) for s, _, _, name, h, own in ranked]
    return how + (f", {weighed}" if weighed else ""), hits


def _without_copies(hits: Sequence[Hit]) -> tuple[tuple[Hit, ...], int]:
    """Every passage once, where it stands best, ranks from 1; and how many that left out."""
    first: dict[int, Hit] = {}
    for hit in hits:
        first.setdefault(hit.chunk.key, hit)
    unique = (replace(hit, rank=rank) for rank, hit in enumerate(first.values(), start=1))
    return tuple(unique), len(hits) - len(first)


def _summed_stages(parts: Sequence[Part], hits: Sequence[Hit]) -> list[Stage]:
    """Stages of the same name as one, in an order that every part agrees with."""
    names: list[StageName] = []
    for part in parts:
        at = len(names)
        for stage in reversed(part.trace.stages):
            if stage.name in names:
                at = names.index(stage.name)
            else:
                names.insert(at, stage.name)
    # Places behind the merged list, by part and key: by the rank that each source gave.
    dropped = sorted(
        (drop.hit.rank, number, drop.hit.chunk.key)
        for number, part in enumerate(parts)
        for stage in part.trace.stages
        for drop in stage.dropped
    )
    places = dict.fromkeys((parts[number].name, key) for _, number, key in dropped)
    ranks = {place: rank for rank, place in enumerate(places, start=len(hits) + 1)}
    seen = {hit.chunk.key for hit in hits}
    # Later stages first: a passage that several sources have counts where it came furthest.
    summed = [_summed(name, parts, ranks, seen) for name in reversed(names)]
    return summed[::-1]


def _summed(
    name: StageName, parts: Sequence[Part], ranks: dict[tuple[str, int], int], seen: set[int]
) -> Stage:
    pairs = [(part, stage) for part in parts for stage in part.trace.stages if stage.name == name]
    dropped = []
    for part, stage in pairs:
        for drop in stage.dropped:
            key = drop.hit.chunk.key
            if key not in seen:
                seen.add(key)
                hit = replace(drop.hit, base=part.name, rank=ranks[part.name, key])
                dropped.append(Dropped(hit, drop.reason))
    stages = [stage for _, stage in pairs]
    return Stage(
        name,
        sum(stage.taken for stage in stages),
        sum(stage.given for stage in stages),
        tuple(dropped),
        sum(stage.seconds for stage in stages),
        _notes(pairs),
        any(stage.failed for stage in stages),
        pairs[0][1].figures if pairs[0][0] is parts[0] else {},
        pairs[0][1].hint,
    )


def _notes(pairs: Sequence[tuple[Part, Stage]]) -> str:
    """Return the notes of the sources on a stage, with their counts.

    A note that is the same for all sources appears once.
    """
    notes = {stage.note for _, stage in pairs}
    if len(notes) == 1 and all(stage.taken == 1 for _, stage in pairs):
        return notes.pop()
    counts = (f"{part.name} {stage.given:,} of {stage.taken:,}" for part, stage in pairs)
    if len(notes) == 1:
        return " · ".join([*counts, *(note for note in notes if note)])
    return " · ".join(
        f"{count} ({stage.note})" if stage.note else count
        for count, (_, stage) in zip(counts, pairs, strict=True)
    )
