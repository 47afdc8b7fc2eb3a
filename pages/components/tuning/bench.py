"""The state of the tuning page: candidates, one recipe, one part of the questions.

A thread finds the candidates of many questions while the page is there already.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.components.shell.buttons import redraw
from pages.components.shell.job_progress import POLL_SECONDS
from pages.components.shell.session import cached_per_run
from pages.components.shell.text import plain
from rag import (
    CAPTIONS,
    KnowledgeBase,
    QuestionFigures,
    QuestionPart,
    QuestionSet,
    Recipe,
    TopicProbabilities,
    Tuner,
    WhatIf,
    counted,
    language_name,
    whole_percent,
)

AT_ONCE = 500
"""Questions whose candidates are found before the page is drawn: it takes about a second."""

_lock = threading.Lock()
_under_way: WeakKeyDictionary[Tuner, Fetch] = WeakKeyDictionary()


class Missing(NamedTuple):
    """Recipes whose candidates a tuner has not found yet."""

    tuner: Tuner
    recipes: Sequence[Recipe]


class Fetch:
    """The search for candidates that are missing; ``done`` of ``total`` questions so far."""

    def __init__(self, missing: Missing) -> None:
        self.done, self.total = 0, missing.tuner.questions
        self.error: Exception | None = None
        self._thread = threading.Thread(
            target=self._run, args=missing, name="candidates", daemon=True
        )
        self._thread.start()

    @property
    def active(self) -> bool:
        """Whether it goes on."""
        return self._thread.is_alive()

    def wait(self) -> None:
        """Return when it has ended."""
        self._thread.join()

    def _run(self, tuner: Tuner, recipes: Sequence[Recipe]) -> None:
        try:
            for recipe in recipes:
                tuner.fetch(recipe, self._tell)
        except Exception as error:  # the page raises it: here nobody would see it
            self.error = error

    def _tell(self, done: int, total: int) -> None:
        self.done, self.total = done, total


def fetch(missing: Missing) -> Fetch:
    """The search for what is missing, begun unless the tuner is at one; raises what ended it.

    All visitors of a question set follow the same one.
    """
    with _lock:
        current = _under_way.pop(missing.tuner, None)
        if current is not None and current.error is not None:
            raise current.error
        if current is None or not current.active:
            current = Fetch(missing)
        _under_way[missing.tuner] = current
        return current


def follow(missing: Missing) -> None:
    """Draw how far the search is, and the whole page again when it has ended."""
    _follow(fetch(missing))


@st.fragment(run_every=POLL_SECONDS)
def _follow(current: Fetch) -> None:
    if not current.active:
        redraw()
    share = current.done / max(current.total, 1)
    st.progress(share, f"Finding candidates, once: {current.done:,} of {current.total:,}")


METRICS = ("ndcg@10", "mrr@10", "recall@10", "precision@5")
Key = tuple[object, ...]
Measured = TypeVar("Measured")


@dataclass(frozen=True)
class Bench:
    """``recipe`` is what the sliders say; ``saved`` is None where its index is not built.

    ``state`` names the documents, the questions and the calibration that figures rest on.
    ``differs`` says whether both differ, also by steps that figures leave out.
    """

    base: KnowledgeBase
    tuner: Tuner
    set_name: str
    recipe: Recipe
    saved: Recipe | None
    part: QuestionPart
    state: str
    differs: bool = False

    @property
    def by_arithmetic(self) -> Bench:
        """The same without the steps that figures cannot follow while a slider moves."""
        saved, recipe = self.saved, self.tuner.by_arithmetic(self.recipe)
        moving = saved and self.tuner.by_arithmetic(saved)
        differs = saved is not None and saved.search != self.recipe.search
        return replace(self, recipe=recipe, saved=moving, differs=differs)

    @property
    def key(self) -> Key:
        """The part of a cache key that all metrics share, without the recipe."""
        return self.base.id, self.state, self.part

    @property
    def threshold(self) -> float | None:
        """The threshold as a number; None where it is off."""
        return self.base.recipes.threshold(self.recipe)

    @property
    def relevance(self) -> str:
        """The name of the value that the threshold is compared with, as an axis title."""
        by = self.recipe.search.relevance
        return "cosine" if by == "cosine" else "probability of being relevant"

    @property
    def what_if(self) -> WhatIf:
        """The recipe with what would happen if it were changed."""
        return WhatIf(self.tuner, self.recipe, self.part, self.threshold)

    def without(self, *fields: str) -> Key:
        """The cache key of metrics that vary these search fields."""
        search = self.recipe.search.model_dump()
        return (*self.key, self.recipe.index.hash, *(search[n] for n in search if n not in fields))


def bench(
    base: KnowledgeBase,
    chosen: QuestionSet,
    recipe: Recipe,
    part: QuestionPart,
    place: DeltaGenerator,
) -> Bench | Missing:
    """Everything at hand for one rerun; missing candidates are found, with a bar in ``place``.

    Those of many questions are left to a thread: what is missing is returned.
    """
    measuring, state = _current(base, chosen, recipe)
    saved: Recipe | None = base.recipe()
    if saved is not None and saved.index != recipe.index and base.documents.missing(saved.index):
        saved = None

    def on_progress(done: int, total: int) -> None:
        if done % 10 == 0:
            place.progress(done / total, f"Finding candidates, once: {done:,} of {total:,}")

    recipes = [measuring.by_arithmetic(needed) for needed in (recipe, saved) if needed]
    missing = [needed for needed in recipes if not measuring.has_candidates(needed)]
    if missing and measuring.questions > AT_ONCE:
        return Missing(measuring, missing)
    for needed in recipes:
        measuring.fetch(needed, on_progress)
    place.empty()
    return Bench(base, measuring, chosen.name, recipe, saved, part, state)


def left_out_note(opened: Bench) -> None:
    """Name the steps that the figures leave out, of the recipe or of the saved one."""
    recipes = filter(None, (opened.recipe, opened.saved))
    fields = [name for recipe in recipes for name in opened.tuner.left_out(recipe)]
    if fields:
        names = ", ".join(f"*{CAPTIONS[name]}*" for name in dict.fromkeys(fields))
        st.info(
            f"Cards, curves and thresholds leave out {names}, which no figure can follow while a "
            "slider moves. *Search all* and *Evaluate* on Metrics count it.",
            icon=":material/info:",
        )


def languages_note(opened: Bench) -> None:
    """Say how many questions the embedder does not support, and what does not apply to them."""
    counts = opened.tuner.unknown_languages(opened.recipe, opened.part)
    if not counts:
        return
    number, embedder = sum(counts.values()), plain(opened.recipe.index.embedder)
    names = " and ".join(language_name(code) for code in sorted(counts))
    are = f"{counted(number, 'question')} {'is' if number == 1 else 'are'}"
    said = f"{are} in {names}, which {embedder} does not support."
    search = opened.recipe.search
    if search.mode == "hybrid" and search.other_languages == "words":
        said += " They are ranked mainly by lexical search, whatever the dense weight is."
        if search.relevance == "cosine":
            said += " No threshold applies to them."
    st.info(said, icon=":material/translate:")


def tuner(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> Tuner:
    """Return the tuner of a question set, before any candidates are fetched."""
    return _current(base, chosen, recipe)[0]


def _current(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> tuple[Tuner, str]:
    name = "tuning state", base.id, chosen.name, recipe.hash
    state = cached_per_run(name, lambda: base.tuning.state(chosen.name, recipe))
    return _tuner(base, state, chosen.name), state


@st.cache_resource(max_entries=4, show_spinner=False)
def _tuner(_base: KnowledgeBase, state: str, set_name: str) -> Tuner:
    return _base.tuning.tuner(set_name)


@st.cache_data(max_entries=128, show_spinner="Measuring …")
def cached(_measure: Callable[[], Measured], name: str, key: Key) -> Measured:
    """Measure once for each ``name`` and ``key``, and cache the result."""
    return _measure()


def figures(bench_in_use: Bench, recipe: Recipe) -> QuestionFigures:
    """The figures of one recipe for the cards."""
    measure = partial(bench_in_use.tuner.figures, [recipe], METRICS, bench_in_use.part)
    return cached(measure, "cards", (*bench_in_use.key, recipe.index.hash, recipe.search.hash))


def topics(bench_in_use: Bench) -> TopicProbabilities | None:
    """The probability that each question is on topic; None without a trained topic model."""
    ranked = "dense_weight", "fusion", "rrf_k", "bm25_pivot"
    rest = bench_in_use.without("refuse", "threshold", "top_k", *ranked)
    return cached(
        partial(bench_in_use.tuner.topic_probabilities, bench_in_use.recipe), "topics", rest
    )


def shares(bench_in_use: Bench) -> list[str]:
    """The shares of questions that the search returns passages for, and refuses."""
    now = figures(bench_in_use, bench_in_use.recipe)
    returned, refused = now.means("answered"), now.means("correct_refusal")
    parts = []
    if returned is not None:
        share = whole_percent(returned[0])
        parts.append(f"the search returns passages for {share} of the answerable questions")
    if refused is not None:
        share = whole_percent(refused[0])
        parts.append(f"the search refuses {share} of those without an answer")
    return parts
