"""The content of a report: a run, its data, and the passages that it missed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rag.evaluation.comparison import Comparison, Groups
from rag.evaluation.intervals import Interval
from rag.evaluation.reliability import Quality, ReliabilityBin
from rag.evaluation.run_intervals import TagFigures, UnjudgedShare, by_tag, intervals
from rag.results import QuestionResult, Run

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

    ``cards`` are the comparisons of the metrics on the cards, by metric, corrected together.
    ``decisions`` are the verdicts of few labels, in words. ``step`` is what to do, with the names
    of the recipes.
    """

    run: Run
    figures: Comparison
    texts: Mapping[str, str]
    chips: tuple[str, ...]
    caveats: tuple[str, ...]
    cards: Mapping[str, Comparison]
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
    """Everything that a report shows. ``threshold`` is the relevance that was asked for."""

    base: str
    run: Run
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
