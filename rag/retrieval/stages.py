"""The stages of one retrieval: the time each took, what it dropped and why."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from rag.recipe import SearchRecipe
from rag.retrieval.fusion import ranking
from rag.retrieval.hits import Hits
from rag.retrieval.selection import Selection
from rag.types import Dropped, Hit, Keys, Stage


class Timeline:
    """Collects stages; the time since the last one is that of the next."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._start = self._last = time.perf_counter()

    def passed(
        self,
        name: str,
        taken: int,
        given: int,
        note: str = "",
        dropped: Sequence[Dropped] = (),
        *,
        failed: bool = False,
    ) -> None:
        """Notes a stage that has just ended; ``failed`` where it passed on what it was given."""
        now = time.perf_counter()
        seconds = now - self._last
        self.stages.append(Stage(name, taken, given, tuple(dropped), seconds, note, failed))
        self._last = now

    @property
    def seconds(self) -> float:
        """Since the first stage began."""
        return time.perf_counter() - self._start


def pass_cuts(
    keys: Keys,
    selection: Selection,
    hits: Hits,
    recipe: SearchRecipe,
    threshold: float | None,
    timeline: Timeline,
) -> None:
    """Notes threshold, doubles, diversity and top-k; ``keys`` are those of the candidates."""
    below, same = _below(selection, hits, recipe, threshold), list(_doubles(selection, hits))
    left = len(selection.order)
    name = _relevance(recipe)
    note = "no threshold" if threshold is None else f"{name} ≥ {threshold:.3g}"
    timeline.passed("threshold", left, left - len(below), note, below)
    left -= len(below)
    if recipe.duplicates is not None:
        note = f"cosine ≥ {recipe.duplicates:.3g} to a better one"
        timeline.passed("duplicates", left, left - len(same), note, same)
        left -= len(same)
    if recipe.mmr is not None:
        timeline.passed("mmr", left, left, _moved(keys, selection, recipe.mmr))
    beyond = [
        Dropped(hit, f"place {place} of those above the threshold, top-k is {recipe.top_k}")
        for place, hit in enumerate(hits.of(selection.beyond), start=recipe.top_k + 1)
    ]
    kept = len(selection.kept)
    timeline.passed("top_k", kept + len(beyond), kept, f"top-k {recipe.top_k}", beyond)


def _below(
    selection: Selection, hits: Hits, recipe: SearchRecipe, threshold: float | None
) -> list[Dropped]:
    name = _relevance(recipe)
    return [
        Dropped(hit, f"{name} {hit.relevance:.3f} is below {threshold:.3f}")
        for hit in hits.of(selection.below)
    ]


def _doubles(selection: Selection, hits: Hits) -> Iterator[Dropped]:
    for double in selection.doubles:
        hit, better = hits.at(double.place), hits.at(double.of)
        if hit is not None and better is not None:
            yield Dropped(hit, f"says what {_name(better)} says (cosine {double.cosine:.3f})")


def _name(hit: Hit) -> str:
    page = "" if hit.chunk.page is None else f", page {hit.chunk.page}"
    return f"#{hit.rank}, {hit.document}{page}, passage {hit.chunk.order + 1}"


def _moved(keys: Keys, selection: Selection, share: float) -> str:
    """How many results would not be there by score alone."""
    kept = selection.kept
    every = selection.order
    plain = every[ranking(keys[every], selection.scores[every])]
    out = {*selection.below.tolist(), *(double.place for double in selection.doubles)}
    first = [place for place in plain.tolist() if place not in out][: len(kept)]
    new = len(set(kept.tolist()).difference(first))
    return f"lambda {share:.2g}; {new} of {len(kept)} came up from lower places"


def _relevance(recipe: SearchRecipe) -> str:
    return "relevance" if recipe.relevance == "cosine" else "probability"
