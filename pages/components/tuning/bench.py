"""What the tuning page measures with: candidates that are there already, one recipe, one part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from rag import KnowledgeBase, QuestionFigures, QuestionPart, QuestionSet, Recipe, Tuner, WhatIf

METRICS = ("ndcg@10", "mrr@10", "recall@10", "precision@5")
Key = tuple[object, ...]
Measured = TypeVar("Measured")


@dataclass(frozen=True)
class Bench:
    """``recipe`` is what the sliders say; ``saved`` is None where its index is not built.

    ``state`` names the documents, the questions and the calibration that figures rest on.
    """

    base: KnowledgeBase
    tuner: Tuner
    set_name: str
    recipe: Recipe
    saved: Recipe | None
    part: QuestionPart
    state: str

    @property
    def key(self) -> Key:
        """What all figures depend on, beside the recipe."""
        return self.base.id, self.state, self.part

    @property
    def threshold(self) -> float | None:
        """The threshold as a number; None where it is off."""
        return self.base.threshold(self.recipe)

    @property
    def relevance(self) -> str:
        """What the threshold is compared with, as an axis has it."""
        by = self.recipe.search.relevance
        return "cosine" if by == "cosine" else "probability of being relevant"

    @property
    def what_if(self) -> WhatIf:
        """The recipe with what would happen if it were changed."""
        return WhatIf(self.tuner, self.recipe, self.part, self.threshold)

    def without(self, *fields: str) -> Key:
        """What figures depend on when these search fields are varied."""
        search = self.recipe.search.model_dump()
        return (*self.key, self.recipe.index.hash, *(search[n] for n in search if n not in fields))


def bench(
    base: KnowledgeBase,
    chosen: QuestionSet,
    recipe: Recipe,
    part: QuestionPart,
    place: DeltaGenerator,
) -> Bench:
    """Everything at hand for one rerun; missing candidates are found, with a bar in ``place``."""
    measuring, state = _current(base, chosen, recipe)
    saved: Recipe | None = base.recipe()
    if saved is not None and saved.index != recipe.index and base.documents.missing(saved.index):
        saved = None

    def tell(done: int, total: int) -> None:
        if done % 10 == 0:
            place.progress(done / total, f"Finding candidates, once: {done:,} of {total:,}")

    for needed in filter(None, (recipe, saved)):
        measuring.fetch(needed, tell)
    place.empty()
    return Bench(base, measuring, chosen.name, recipe, saved, part, state)


def tuner(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> Tuner:
    """What measures a set, before anything is fetched."""
    return _current(base, chosen, recipe)[0]


def _current(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> tuple[Tuner, str]:
    state = base.tuning.state(chosen.name, recipe)
    return _tuner(base, state, chosen.name), state


@st.cache_resource(max_entries=4, show_spinner=False)
def _tuner(_base: KnowledgeBase, state: str, set_name: str) -> Tuner:
    return _base.tuning.tuner(set_name)


@st.cache_data(max_entries=128, show_spinner="Measuring …")
def cached(_measure: Callable[[], Measured], name: str, key: Key) -> Measured:
    """What a function measures, once for all that it depends on."""
    return _measure()


def figures(found: Bench, recipe: Recipe) -> QuestionFigures:
    """The figures of one recipe for the cards."""
    measure = partial(found.tuner.figures, [recipe], METRICS, found.part)
    return cached(measure, "cards", (*found.key, recipe.index.hash, recipe.search.hash))


def meaning(found: Bench) -> str:
    """The threshold in terms of the questions, for the recipe panel."""
    now, limit = figures(found, found.recipe), found.threshold
    what = "no threshold" if limit is None else f"{found.relevance.split(' ')[0]} ≥ {limit:.2f}"
    shares = {"answers": now.means("answered"), "rightly refuses": now.means("correct_refusal")}
    said = [f"{verb} {row[0]:.0%}" for verb, row in shares.items() if row is not None]
    return f"{what}: {', '.join(said)}"
