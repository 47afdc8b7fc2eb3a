"""What the tuning page measures with: candidates that are there already, one recipe, one part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.components.shell.session import workspace
from rag import KnowledgeBase, QuestionFigures, QuestionPart, QuestionSet, Recipe, Tuner

METRICS = ("ndcg@10", "mrr@10", "recall@10", "precision@5")
Key = tuple[object, ...]


@dataclass(frozen=True)
class Bench:
    """``recipe`` is what the sliders say; ``saved`` is None where its index is not built.

    ``key`` names the documents, the questions and the part that figures are of.
    """

    base: KnowledgeBase
    tuner: Tuner
    set_name: str
    recipe: Recipe
    saved: Recipe | None
    part: QuestionPart
    key: Key

    @property
    def threshold(self) -> float | None:
        """The threshold as a number; None where it is off."""
        return self.base.threshold(self.recipe)

    @property
    def relevance(self) -> str:
        """What the threshold is compared with, as an axis has it."""
        by = self.recipe.search.relevance
        return "similarity (cosine)" if by == "cosine" else "probability of being relevant"

    def varied(self, changes: Sequence[Mapping[str, Any]]) -> list[Recipe]:
        """The recipe with some search fields changed, once for every change, and as it is, last."""
        search = self.recipe.search
        return [
            *(
                self.recipe.model_copy(update={"search": search.model_copy(update=dict(each))})
                for each in changes
            ),
            self.recipe,
        ]

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
    measuring, key = _current(base, chosen, recipe)
    saved: Recipe | None = base.recipe()
    if saved is not None and saved.index != recipe.index and base.documents.missing(saved.index):
        saved = None
    _fetch(measuring, [recipe, *([saved] if saved else [])], place)
    return Bench(base, measuring, chosen.name, recipe, saved, part, (*key, part))


def tuner(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> Tuner:
    """What measures a set, before anything is fetched."""
    return _current(base, chosen, recipe)[0]


def _current(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> tuple[Tuner, Key]:
    fitted = base.tuning.calibrator.fitted(recipe.index)
    home = str(workspace().settings.home)
    calibrated = str(fitted.created) if fitted else ""
    filtered = (base.let_through(recipe), base.let_through(base.recipe()))
    asked = chosen.name, str(chosen.changed), chosen.split_seed, chosen.split_share
    key = (home, base.id, base.version(), asked, calibrated, filtered)
    return _tuner(base, *key), key


@st.cache_resource(max_entries=4, show_spinner=False)
def _tuner(
    _base: KnowledgeBase,
    home: str,
    base_id: int,
    version: int,
    asked: tuple[str, str, int, float],
    calibrated: str,
    filtered: tuple[str, str],
) -> Tuner:
    return _base.tuning.tuner(asked[0])


def _fetch(measuring: Tuner, recipes: Sequence[Recipe], place: DeltaGenerator) -> None:
    def tell(done: int, total: int) -> None:
        if done % 10 == 0:
            place.progress(done / total, f"Finding candidates, once: {done:,} of {total:,}")

    for recipe in recipes:
        measuring.fetch(recipe, tell)
    place.empty()


def figures(found: Bench, recipe: Recipe) -> QuestionFigures:
    """The figures of one recipe for the cards."""
    return _figures(found, recipe, found.key, recipe.index.hash, recipe.search.hash)


@st.cache_data(max_entries=64, show_spinner=False)
def _figures(
    _bench: Bench, _recipe: Recipe, key: Key, index_hash: str, search_hash: str
) -> QuestionFigures:
    return _bench.tuner.figures([_recipe], METRICS, _bench.part)


def meaning(found: Bench) -> str:
    """The threshold in terms of the questions, for the recipe panel."""
    now, limit = figures(found, found.recipe), found.threshold
    what = "no threshold" if limit is None else f"{found.relevance.split(' ')[0]} ≥ {limit:.2f}"
    shares = {"answers": now.means("answered"), "rightly refuses": now.means("correct_refusal")}
    said = [f"{verb} {row[0]:.0%}" for verb, row in shares.items() if row is not None]
    return f"{what}: {', '.join(said)}"
