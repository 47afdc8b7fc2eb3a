"""What a threshold on relevance does: how pure the rest is, what is lost, who gets an answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.types import Floats

_FEWEST_KEPT = 10


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """One threshold. Shares are None where there is nothing to take a share of.

    ``precision``: relevant share of what reaches it. ``kept``: share of the retrieved relevant
    passages that reach it. ``answered``: answerable questions with anything left. ``refused``:
    unanswerable questions with nothing left.
    """

    threshold: float
    precision: float | None
    kept: float | None
    answered: float | None
    refused: float | None

    @property
    def sentence(self) -> str:
        """The floor in plain English."""
        parts = [
            "nothing reaches it" if self.precision is None else f"precision {self.precision:.2f}",
            _share("keeps", self.kept, "of the relevant"),
            _share("answers", self.answered, "of answerable questions"),
            _share("refuses", self.refused, "of unanswerable ones"),
        ]
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The lowest threshold of at least the ``wanted`` precision; ``point`` is None without one.

    ``best`` is the threshold of highest precision, None where there are too few candidates.
    """

    wanted: float
    point: ThresholdPoint | None
    best: ThresholdPoint | None

    @property
    def sentence(self) -> str:
        """The recommendation in plain English."""
        if self.point is not None:
            return f"threshold {self.point.threshold:.3f}: {self.point.sentence}"
        if self.best is None or self.best.precision is None:
            return "too few candidates to recommend a threshold"
        return (
            f"no threshold reaches precision {self.wanted:.2f}: "
            f"the best is {self.best.precision:.2f}, at {self.best.threshold:.3f}"
        )


@dataclass(frozen=True, slots=True)
class ThresholdCurve:
    """Every threshold at once, on all candidates of many questions, before top-k cuts them.

    ``values``: relevance of the candidates, descending; ``hits``: relevant ones among the first
    so many, starting with 0. ``answerable`` and ``unanswerable``: each question's highest
    relevance, ascending, -inf without candidates.
    """

    values: Floats
    hits: Floats
    answerable: Floats
    unanswerable: Floats

    @classmethod
    def of(
        cls,
        relevance: Floats,
        relevant: npt.NDArray[np.bool_],
        question: npt.NDArray[np.intp],
        answerable: npt.NDArray[np.bool_],
    ) -> ThresholdCurve:
        """From candidates (relevance, relevant, question: shape (n,)) of questions.

        ``question`` points into ``answerable``, shape (questions,). ``relevance`` is whatever the
        threshold is compared with: a cosine or a probability.
        """
        order = np.argsort(-relevance, kind="stable")
        best = np.full(len(answerable), -np.inf)
        np.maximum.at(best, question, relevance)
        return cls(
            values=relevance[order],
            hits=np.concatenate([[0.0], np.cumsum(relevant[order], dtype=np.float64)]),
            answerable=np.sort(best[answerable]),
            unanswerable=np.sort(best[~answerable]),
        )

    def at(self, threshold: float) -> ThresholdPoint:
        """What passes when relevance must be at least ``threshold``."""
        count = int(np.searchsorted(-self.values, -threshold, side="right"))
        hits, relevant = float(self.hits[count]), float(self.hits[-1])
        below = [np.searchsorted(each, threshold) for each in (self.answerable, self.unanswerable)]
        return ThresholdPoint(
            threshold=threshold,
            precision=hits / count if count else None,
            kept=hits / relevant if relevant else None,
            answered=1.0 - int(below[0]) / len(self.answerable) if len(self.answerable) else None,
            refused=int(below[1]) / len(self.unanswerable) if len(self.unanswerable) else None,
        )

    def recommend(self, precision: float = 0.9) -> Recommendation:
        """The threshold that keeps most among those of at least this precision.

        Thresholds that fewer than ten candidates reach are left out: their precision is luck.
        """
        # A threshold takes all candidates of its value: look behind the last of equals.
        last = np.flatnonzero(np.append(self.values[1:] != self.values[:-1], True))
        last = last[last + 1 >= _FEWEST_KEPT] if len(self.values) else last[:0]
        if not len(last):
            return Recommendation(precision, None, None)
        precisions = self.hits[last + 1] / (last + 1)
        best = self.at(float(self.values[last[precisions.argmax()]]))
        enough = last[precisions >= precision]
        point = self.at(float(self.values[enough[-1]])) if len(enough) else None
        return Recommendation(precision, point, best)


def _share(verb: str, share: float | None, whole: str) -> str:
    return "" if share is None else f"{verb} {share:.0%} {whole}"
