"""States of decisions between two runs, with their verdicts in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rag.evaluation.deciding.verdict import Decision
from rag.evaluation.intervals import signed
from rag.evaluation.report.words import counted
from rag.library.questions.judging_queue import HitToJudge


@dataclass(frozen=True, slots=True)
class RunDecision:
    """The state of a decision of run ``run`` against run ``other``.

    ``questions`` is the number of questions that both runs measured, and ``before`` the number of
    hits that had a label before the draw. ``next_hits`` are the hits to judge, in order; there are
    none once it is decided.
    """

    run: str
    other: str
    metric: str
    question_set: str
    questions: int
    before: int
    state: Decision
    next_hits: tuple[HitToJudge, ...]

    @property
    def sentence(self) -> str:
        """The verdict, its interval, the labels and their reach, in words."""
        state = self.state
        headline = self.headline(f"Run {self.run}", f"run {self.other}")
        return f"{headline} {state.labels:,} of {state.pool:,} hits are judged. {self.reach}"

    @property
    def reach(self) -> str:
        """The questions that the verdict holds for."""
        return (
            f"This holds for these {counted(self.questions, 'question')}. It does not say that "
            "other questions would agree."
        )

    @property
    def measure(self) -> str:
        """The metric as people write it: ``DCG@10`` or ``precision@10``."""
        return self.metric.replace("dcg", "DCG")

    def headline(self, run: str, other: str) -> str:
        """The verdict first, then its figures. ``run`` and ``other`` are names of the two runs."""
        state, ends = self.state, self.state.interval
        labels = counted(state.labels, "label")
        between = f"{signed(ends.low)} to {signed(ends.high)}"
        figures = (
            f"{signed(state.difference)} {self.measure} (95% interval {between}) after {labels}."
        )
        match state.verdict:
            case "equal":
                return f"{run} and {other} are equal within {state.margin:g}: {figures}"
            case "open":
                # The estimate of the first labels jumps; its interval says so.
                return (
                    f"{self._more()} After {labels} the difference in {self.measure} is "
                    f"{between} (95% interval)."
                )
            case verdict:
                return f"{run} is {verdict} than {other}: {figures}"

    def _more(self) -> str:
        if self.state.more is None:
            return "Not decided yet."
        verb = "decides" if self.state.more == 1 else "decide"
        return f"About {counted(self.state.more, 'more label')} {verb} this."


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """A decision in a list. ``decision`` is None where ``obstacle`` says what is gone."""

    run: str
    other: str
    metric: str
    started: datetime
    decision: RunDecision | None
    obstacle: str

    @property
    def finished(self) -> bool:
        """Whether it has a verdict."""
        return self.decision is not None and self.decision.state.verdict != "open"
