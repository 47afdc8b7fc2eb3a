"""Words, markup and content of a report; whatever is not markup already is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from rag.evaluation.comparison import Comparison, Groups
from rag.evaluation.intervals import Interval
from rag.evaluation.reliability import Quality, ReliabilityBin
from rag.evaluation.run_intervals import TagFigures, UnjudgedShare, by_tag, intervals
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.types import percent
from rag.types.results import QuestionResult, Run

_VOID = frozenset({"meta", "br", "hr"})


class Markup(str):
    """Text that is HTML already, made by ``element``; plain text is never taken for it."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def element(name: str, *children: str | None, **attributes: str | float | None) -> Markup:
    """``<name>`` with children and attributes; plain text in either is escaped.

    A trailing underscore of an attribute is dropped (``class_``), others become hyphens. None
    leaves a child or an attribute out.
    """
    rendered = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{rendered}>")
    return Markup(f"<{name}{rendered}>{join(*children)}</{name}>")


def table(head: Iterable[Markup], rows: Iterable[Markup]) -> Markup:
    """A table that scrolls sideways where it is too wide; ``head`` are the cells of its head."""
    body = join(element("thead", element("tr", *head)), element("tbody", *rows))
    return element("div", element("table", body), class_="scroll")


def join(*children: str | None) -> Markup:
    """Children one after another, plain text escaped."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def escaped(text: str) -> Markup:
    """The text as markup that shows it."""
    return text if isinstance(text, Markup) else Markup(html.escape(text))


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


_CUTS: Mapping[str, str] = {
    "fixed": "after a fixed length",
    "recursive": "at the ends of paragraphs, lines and sentences",
    "sentence": "at the ends of sentences",
    "markdown": "at headings",
    "page": "at the ends of pages",
}


def setting(value: Any) -> str:
    """The value of a recipe's field."""
    if value is None or value is False:
        return "off"
    return "on" if value is True else str(value)


def first_hits(
    results: Sequence[QuestionResult],
    unit: str,
    near: int = 5,
) -> str:
    """Say how often the first hit is relevant, and one of the first ``near``.

    ``results`` are those with relevant passages.
    """
    counts = [_among_first(results, k) for k in (1, near)]
    first, within = (
        str(count) if len(results) < 20 else percent(count / len(results)) for count in counts
    )
    return (
        f"A right {unit} comes first for {first} of {counted(len(results), 'question')}, "
        f"and is among the first {near} for {within}."
    )


GOOD, FAIR = 0.9, 0.7
"""Least shares of questions, by convention: see ``search_grade``."""


def search_grade(
    results: Sequence[QuestionResult], near: int = 5
) -> Literal["good", "fair", "weak"]:
    """Grade a search by the share of questions with a relevant hit among the first ``near``.

    ``results`` are those with relevant passages, at least one.
    """
    share = _among_first(results, near) / len(results)
    return "good" if share >= GOOD else "fair" if share >= FAIR else "weak"


def _among_first(results: Sequence[QuestionResult], k: int) -> int:
    return sum((result.first_relevant or k + 1) <= k for result in results)


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 question``, ``1,240 questions``; with ``plural`` if that is irregular."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"


def recipe_sentences(recipe: Recipe, threshold: float | None) -> list[str]:
    """Return the steps from a question to its passages, one sentence each."""
    return [
        _cutting(recipe.index),
        f"Passages and questions are embedded with the model “{recipe.index.embedder}”.",
        _searching(recipe.search),
        _sieving(recipe.search, threshold),
        *_other_languages(recipe.search, threshold),
    ]


def _cutting(recipe: IndexRecipe) -> str:
    if recipe.chunker == "whole":
        return "Documents are not split: each is one passage."
    where = _CUTS.get(recipe.chunker, f"by the method “{recipe.chunker}”")
    overlap = (
        f"with an overlap of up to {recipe.chunk_overlap}"
        if recipe.chunk_overlap
        else "without overlap"
    )
    return (
        f"Documents are split {where}, into passages of at most {recipe.chunk_size} "
        f"{recipe.unit}, {overlap}."
    )


def _searching(recipe: SearchRecipe) -> str:
    if recipe.mode == "dense":
        return "Passages are found by dense search: the nearest vectors."
    if recipe.mode == "lexical":
        return (
            f"Passages are found by lexical search: BM25 with k1 {recipe.k1:g} and b {recipe.b:g}."
        )
    if recipe.fusion == "rrf":
        how = f"their ranks are merged (reciprocal rank fusion, constant {recipe.rrf_k})"
    elif recipe.fusion == "saturation":
        how = (
            "the cosine and bm25 / (bm25 + pivot) are merged (saturation, "
            f"pivot {recipe.bm25_pivot:g})"
        )
    elif recipe.fusion == "qdrant_rrf":
        how = (
            "their ranks, divided by the weights, are merged (reciprocal rank fusion of Qdrant, "
            f"constant {recipe.rrf_k})"
        )
    elif recipe.fusion != "weighted":
        how = f"the scores of each list, stretched alone, are merged ({recipe.fusion})"
    else:
        how = "their scores are merged"
    return (
        f"Passages are found by dense search (vectors) and lexical search (BM25); {how} "
        f"with {percent(recipe.dense_weight)} of the weight on dense."
    )


def _sieving(recipe: SearchRecipe, threshold: float | None) -> str:
    limit = "No threshold applies"
    if threshold is not None:
        what = "relevance" if recipe.relevance == "cosine" else "probability of being relevant"
        limit = f"Passages with a {what} below {threshold:g} are dropped"
    return f"{limit}; an answer uses the first {recipe.top_k}."


def _other_languages(recipe: SearchRecipe, threshold: float | None) -> list[str]:
    if recipe.mode != "hybrid" or recipe.other_languages != "words":
        return []
    limit = recipe.relevance == "cosine" and threshold is not None
    exempt = ", and no passage is dropped by its relevance" if limit else ""
    return [
        "Questions in a language that the model does not support are ranked mainly by lexical "
        f"search{exempt}."
    ]


_DOCUMENT_ID = 64  # hexadecimal digits of a document's id; a passage's has 16


@dataclass(frozen=True, slots=True)
class Expected:
    """Evidence as it was labelled; an empty ``quote`` stands for the whole document."""

    document: str
    quote: str


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A passage (or document) that came back; ``text`` is "" where it is not stored any more."""

    rank: int
    document: str
    text: str
    grade: int


@dataclass(frozen=True, slots=True)
class Miss:
    """A question with its evidence, and the first passages that came instead.

    ``answer`` is the one that was scored, "" for none.
    """

    result: QuestionResult
    expected: tuple[Expected, ...]
    retrieved: tuple[Retrieved, ...]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The run that a report compares with. ``chips`` are the changes of the recipe.

    ``changes`` are the comparisons by metric: those on the cards, corrected together, and nDCG at
    all cutoffs.
    ``decisions`` are the verdicts of few labels, in words. ``step`` is what to do, with the names
    of the recipes.
    """

    run: Run
    figures: Comparison
    texts: Mapping[str, str]
    chips: tuple[str, ...]
    caveats: tuple[str, ...]
    changes: Mapping[str, Comparison]
    step: str
    decisions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CalibrationNote:
    """The calibration of the run's index; ``used`` tells that the run compared with it."""

    question_set: str
    questions: int
    quality: Quality
    bins: tuple[ReliabilityBin, ...]
    used: bool


@dataclass(frozen=True, slots=True)
class FailureNote:
    """The diagnosis of the run: causes as (title, questions, advice), fixes as (change, result)."""

    headline: str
    causes: tuple[tuple[str, int, str], ...]
    fixes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RunReport:
    """Everything that a report shows. ``threshold`` is the relevance that was asked for.

    ``name`` is that of the run.
    """

    base: str
    run: Run
    name: str
    results: Sequence[QuestionResult]
    passages: int
    threshold: float | None
    metric: str
    misses: Sequence[Miss]
    baseline: Baseline | None = None
    notes: tuple[str, ...] = ()
    unjudged: UnjudgedShare | None = None
    calibrated: CalibrationNote | None = None
    groups: Groups = field(default_factory=dict)
    failures: FailureNote | None = None

    @cached_property
    def judged(self) -> list[QuestionResult]:
        """Questions with relevant passages, over which the ranking metrics are means."""
        return [item for item in self.results if self.metric in item.metrics]

    @property
    def unit(self) -> str:
        """The ranked and judged unit: passages or whole documents."""
        ids = (entry[0] for item in self.judged for entry in item.ranking[:1])
        return "document" if any(len(key) == _DOCUMENT_ID for key in ids) else "passage"

    @property
    def cutoffs(self) -> list[int]:
        """The k at which the run was measured."""
        names = (name.partition("@") for name in self.run.metrics)
        return sorted({int(k) for measure, _, k in names if measure == "ndcg"})

    def interval(self, metric: str) -> Interval:
        """The 95% interval of a figure of the run."""
        return intervals(self.results, [metric], self.groups).get(metric, Interval(0.0, 1.0))

    def tagged(self) -> list[TagFigures]:
        """The metric by tag, where questions have it; the largest tag first."""
        rows = by_tag(self.results, [self.metric], self.groups)
        return [row for row in rows if self.metric in row.means]
