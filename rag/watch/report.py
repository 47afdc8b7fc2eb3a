"""The report of a look of the drift watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag.evaluation.comparison import metric_name
from rag.evaluation.intervals import signed

WatchOutcome = Literal["reference", "passed", "drifted", "incomparable"]
"""``incomparable``: the recipe or the question set changed since the reference."""
METRIC = "ndcg@10"
QUESTIONS_LEVEL = 0.001
"""The p-value from which on the questions of chats differ from those of the set."""


@dataclass(frozen=True, slots=True)
class MovedText:
    """A text whose vector is another one; ``cosine`` is to the vector of the reference."""

    text: str
    cosine: float


@dataclass(frozen=True, slots=True)
class VectorDrift:
    """Vectors of fixed sentences against the reference, and of stored passages against the index.

    ``lowest`` is the lowest cosine of the sentences. ``foreign`` of ``sampled`` stored vectors are
    not those that the embedder makes now.
    """

    embedder: str
    lowest: float
    moved: tuple[MovedText, ...]
    sampled: int
    foreign: int


@dataclass(frozen=True, slots=True)
class MetricDrift:
    """METRIC against the reference.

    ``number`` counts the different results so far, which share an alpha of 0.05; ``level`` is the
    share of this one. ``digest`` names the figures.
    """

    mean: float
    reference: float
    p: float
    level: float
    number: int
    questions: int
    lost: int
    won: int
    verdict: Literal["better", "worse", "undecided", "same"]
    digest: str

    @property
    def difference(self) -> float:
        """The mean difference, above 0 where this look is ahead."""
        return self.mean - self.reference

    @property
    def sentence(self) -> str:
        """The comparison with its test, in plain English."""
        name = metric_name(METRIC)
        if self.verdict == "same":
            return f"{name} is {self.mean:.3f}, the same on all questions as in the reference."
        return (
            f"{name} is {self.mean:.3f} instead of {self.reference:.3f} "
            f"({signed(self.difference)}, p = {self.p:.2g}, drift needs p ≤ {self.level:.2g}): "
            f"{self.won} better and {self.lost} worse of {self.questions} questions."
        )


@dataclass(frozen=True, slots=True)
class CanaryChange:
    """A canary question with its expected passage or the state of its answer, before and now."""

    question: str
    before: str
    now: str


@dataclass(frozen=True, slots=True)
class QuestionDrift:
    """Questions of chats against those of the set, of which ``labelled`` were compared.

    ``distance`` is the coefficient of inhomogeneity, from 0 to 1. ``last_turn`` is the newest
    question of the sample. ``is_new`` is False for the result of an earlier look.
    """

    asked: int
    labelled: int
    distance: float
    p: float
    last_turn: int
    is_new: bool = True

    @property
    def has_moved(self) -> bool:
        """Whether the two differ beyond chance."""
        return self.p <= QUESTIONS_LEVEL


@dataclass(frozen=True, slots=True)
class WatchReport:
    """The result of a look. ``metrics`` is None without anything to compare with.

    ``canaries`` counts canary questions. ``obstacles`` say what changed since the reference that
    makes looks incomparable, ``notes`` what else may matter.
    """

    question_set: str
    recipe: str
    is_reference: bool
    mean: float
    vectors: VectorDrift
    metrics: MetricDrift | None
    canaries: int
    changed: tuple[CanaryChange, ...]
    questions: QuestionDrift | None
    obstacles: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def findings(self) -> tuple[str, ...]:
        """The drift in plain English."""
        vectors, sentences = self.vectors, list[str]()
        if vectors.moved:
            first = vectors.moved[0]
            sentences.append(
                f"{vectors.embedder} returns other vectors for {len(vectors.moved)} of the fixed "
                f"sentences: the cosine of “{first.text}” to its earlier vector is "
                f"{first.cosine:.3f}. The provider changed the model."
            )
        if vectors.foreign:
            sentences.append(
                f"{vectors.foreign} of {vectors.sampled} sampled vectors of the index are not "
                f"those that {vectors.embedder} makes now. Embed the documents again."
            )
        if self.metrics is not None and self.metrics.verdict == "worse":
            sentences.append(f"Worse than the reference. {self.metrics.sentence}")
        sentences += [
            f"Canary “{change.question}”: {change.before} before, {change.now} now."
            for change in self.changed
        ]
        drift = self.questions
        if drift is not None and drift.is_new and drift.has_moved:
            sentences.append(
                f"The last {drift.asked} questions of chats differ from the {drift.labelled} "
                f"labelled ones: energy distance {drift.distance:.3f}, p = {drift.p:.2g}. Add some "
                "of them to the set."
            )
        return tuple(sentences)

    @property
    def outcome(self) -> WatchOutcome:
        """The worst of what was found."""
        if self.findings:
            return "drifted"
        if self.obstacles:
            return "incomparable"
        return "reference" if self.is_reference else "passed"

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        findings = self.findings
        if findings:
            more = f" {len(findings) - 1} more." if len(findings) > 1 else ""
            return f"Drift. {findings[0]}{more}"
        if self.obstacles:
            return f"Nothing to compare. {self.obstacles[0]}"
        if self.is_reference:
            return "This look is the reference for the next ones."
        return "No drift beyond chance since the reference."
