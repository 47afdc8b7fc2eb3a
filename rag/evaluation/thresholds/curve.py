"""The effect of a relevance threshold: precision, lost passages, and answered questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rag.evaluation.inference.clusters import Clusters
from rag.evaluation.intervals import whole_percent
from rag.evaluation.report.words import counted
from rag.types import Floats, Integers, Mask

OFF_TOPIC = "off-topic"
"""The tag of unanswerable questions that are off-topic."""

_FEWEST_KEPT = 10


class Share(NamedTuple):
    """``part`` of ``total``."""

    part: int
    total: int

    @property
    def value(self) -> float | None:
        """Between 0 and 1; None where there is nothing to take a share of."""
        return self.part / self.total if self.total else None

    def __str__(self) -> str:
        return f"{self.part:,} of {self.total:,}"


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """One threshold, in counts.

    ``pure``: relevant passages of those that reach it. ``retained``: retrieved relevant passages
    that reach it. ``answering``: answerable questions with anything left. ``refusing``:
    unanswerable questions of the documents' topic with nothing left. ``turning_away``: the same of
    questions tagged ``OFF_TOPIC``.
    """

    threshold: float
    pure: Share
    retained: Share
    answering: Share
    refusing: Share
    turning_away: Share

    @property
    def precision(self) -> float | None:
        """The relevant share of what reaches it."""
        return self.pure.value

    @property
    def kept(self) -> float | None:
        """The share of the retrieved relevant passages that reach it."""
        return self.retained.value

    @property
    def answered(self) -> float | None:
        """The share of answerable questions with anything left."""
        return self.answering.value

    @property
    def refused(self) -> float | None:
        """The share of unanswerable questions, of the documents' topic, with nothing left."""
        return self.refusing.value

    @property
    def stopped(self) -> Share:
        """The unanswerable questions with nothing left, whatever their topic."""
        parts = zip(self.refusing, self.turning_away, strict=True)
        return Share(*(one + other for one, other in parts))

    def instead_of(self, now: ThresholdPoint) -> tuple[str, bool]:
        """Describe what changes for questions, and whether more are lost than refused rightly.

        ``now`` is the threshold in use, of the same curve.
        """
        lost = now.answering.part - self.answering.part
        gained = self.stopped.part - now.stopped.part
        sentence = (
            f"It returns passages for {self.answering} answerable questions instead of "
            f"{now.answering.part:,}"
        )
        if self.stopped.total:
            sentence += (
                f", and refuses {self.stopped} without an answer instead of {now.stopped.part:,}"
            )
        return f"{sentence}.", lost > max(gained, 0)

    def figures(self) -> dict[str, Any]:
        """Shares by name, and ``counts``: (part, whole) of each."""
        counts = {
            "precision": self.pure,
            "kept": self.retained,
            "answered": self.answering,
            "refused": self.refusing,
            "turned_away": self.turning_away,
        }
        shares = {name: share.value for name, share in counts.items()}
        return {"threshold": self.threshold, **shares, "counts": counts}

    @property
    def sentence(self) -> str:
        """The threshold in plain English, a count beside every share."""
        on_topic = " on topic" if self.turning_away.total else ""
        parts = [
            _sentence(
                f"passes {counted(self.pure.total, 'candidate')},", self.pure, "of them relevant"
            )
            or "passes nothing",
            _sentence("keeps", self.retained, "of the retrieved relevant passages"),
            _sentence("returns passages for", self.answering, "of answerable questions"),
            _sentence("refuses", self.refusing, f"of unanswerable ones{on_topic}"),
            _sentence("turns away", self.turning_away, "of off-topic ones"),
        ]
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class ThresholdCurve:
    """Every threshold at once, on all candidates of many questions, before top-k cuts them.

    ``values``: relevance of the candidates, descending; ``hits``: relevant ones among the first
    so many, starting with 0; ``unit``: what each one's question is, and for questions that rise
    and fall together what they are together; there are ``units`` of them. ``answerable``,
    ``unanswerable`` and ``off_topic``: each question's highest relevance, ascending, -inf without
    candidates.
    """

    values: Floats
    hits: Floats
    unit: Integers
    answerable: Floats
    unanswerable: Floats
    off_topic: Floats
    units: int

    @classmethod
    def of(
        cls,
        relevance: Floats,
        relevant: Mask,
        question: npt.NDArray[np.intp],
        answerable: Mask,
        off_topic: Mask | None = None,
        clusters: Clusters | None = None,
    ) -> ThresholdCurve:
        """From candidates (relevance, relevant, question: shape (n,)) of questions.

        ``question`` points into ``answerable`` and ``off_topic``, shape (questions,);
        ``clusters`` says which of the questions rise and fall together, none where left out.
        ``relevance`` is whatever the threshold is compared with: a cosine or a probability.
        """
        order = np.argsort(-relevance, kind="stable")
        units = clusters or Clusters.single(len(answerable))
        best = np.full(len(answerable), -np.inf)
        np.maximum.at(best, question, relevance)
        away = np.zeros(len(answerable), np.bool_) if off_topic is None else off_topic & ~answerable
        return cls(
            values=relevance[order],
            hits=np.concatenate([[0.0], np.cumsum(relevant[order], dtype=np.float64)]),
            unit=np.asarray(units.codes[question[order]], np.int64),
            answerable=np.sort(best[answerable]),
            unanswerable=np.sort(best[~answerable & ~away]),
            off_topic=np.sort(best[away]),
            units=len(units),
        )

    @property
    def questions(self) -> int:
        """Number of questions that the curve is measured on."""
        return len(self.answerable) + len(self.unanswerable) + len(self.off_topic)

    def at(self, threshold: float) -> ThresholdPoint:
        """Return the result of requiring a relevance of at least ``threshold``."""
        count = int(np.searchsorted(-self.values, -threshold, side="right"))
        hits, relevant = int(self.hits[count]), int(self.hits[-1])
        below = [
            int(np.searchsorted(relevance, threshold))
            for relevance in (self.answerable, self.unanswerable, self.off_topic)
        ]
        return ThresholdPoint(
            threshold=threshold,
            pure=Share(hits, count),
            retained=Share(hits, relevant),
            answering=Share(len(self.answerable) - below[0], len(self.answerable)),
            refusing=Share(below[1], len(self.unanswerable)),
            turning_away=Share(below[2], len(self.off_topic)),
        )

    def aim(self, precision: float) -> ThresholdPoint | None:
        """The lowest threshold of at least this precision here, else that of the highest.

        It promises nothing: elsewhere it is as often below. Thresholds that fewer than ten
        candidates reach are left out; None where there is no other.
        """
        # A threshold takes all candidates of its value: look behind the last of equals.
        last = self.steps()
        last = last[last + 1 >= _FEWEST_KEPT]
        if not len(last):
            return None
        precisions = self.hits[last + 1] / (last + 1)
        enough = last[precisions >= precision]
        chosen = enough[-1] if len(enough) else last[precisions.argmax()]
        return self.at(float(self.values[chosen]))

    def lowest_as_good(self, point: ThresholdPoint) -> ThresholdPoint | None:
        """The lowest threshold below one that is as precise here, and refuses as many questions.

        It returns passages for as many answerable questions or more. None where there is none.
        """
        last = self.steps()
        values, precisions = self.values[last], self.hits[last + 1] / (last + 1)
        stopped = sum(np.searchsorted(best, values) for best in (self.unanswerable, self.off_topic))
        as_good = (values < point.threshold) & (precisions >= (point.precision or 0.0))
        found = values[as_good & (stopped >= point.stopped.part)]
        return self.at(float(found[-1])) if len(found) else None

    def steps(self) -> Integers:
        """The place of the last candidate of each value, descending by value."""
        if not len(self.values):
            return np.empty(0, np.int64)
        return np.flatnonzero(np.append(self.values[1:] != self.values[:-1], True))


def _sentence(verb: str, share: Share, whole: str) -> str:
    return "" if share.value is None else f"{verb} {whole_percent(share.value)} {whole} ({share})"
