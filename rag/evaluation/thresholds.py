"""The effect of a relevance threshold, and the threshold that promises a precision.

A threshold with a promised precision: chosen so that other questions keep it.

The precision that a threshold had where it was chosen is the best of many, and other questions fall
short of it more often than not. Here a threshold counts only if a lower bound says so:

- The unit is the question, as passages of one question are relevant together, or the group of
  questions that rise and fall together. The bound is that of
  Clopper and Pearson (Biometrika 1934) with the number of passages replaced by the effective one,
  from the variance between questions: Korn and Graubard, Confidence Intervals for Proportions with
  Small Expected Number of Positive Counts Estimated from Survey Data, Survey Methodology 1998.
- It is to hold for what comes on another set of as many questions, not for a mean over all
  questions that could ever be asked, so the effective number is halved: both sets are samples.
- Thresholds are tested one after the other, from a place that is fixed before labels are looked at,
  downwards until one fails (fixed-sequence testing; Angelopoulos et al., Learn then Test, Annals
  of Applied Statistics 2025). It is done from two places, each at half of the level: from where
  just enough questions have a passage, and from where half of all have one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rag.evaluation.inference.clusters import Clusters
from rag.evaluation.intervals import whole_percent
from rag.evaluation.report.words import counted
from rag.recipe import Refuse
from rag.types import Floats, Integers, Mask, percent

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


CONFIDENCE = 0.9
"""How often a promise is to be kept."""

_TESTS = 2  # sequences of thresholds, which share the level
_FIRST = 1.5  # the first threshold of one is reached by so many times the fewest questions
_STEP = 1.1  # and the next one by so many times the passages
_MOST_TIMES = 20.0  # as many questions as there are: beyond it, an estimate says nothing
_FINER = 1.02  # factor between two numbers of questions that the estimate tries


def questions_needed(precision: float, confidence: float = CONFIDENCE) -> int:
    """The fewest questions on which a precision can be promised, all passages being relevant."""
    return math.ceil(2.0 * math.log(_level(confidence)) / math.log(precision))


def _level(confidence: float) -> float:
    return (1.0 - confidence) / _TESTS


@dataclass(frozen=True, slots=True)
class ThresholdPromise:
    """The lowest threshold that promises a precision of ``target``, or what could be instead.

    ``point`` is what it did on the ``questions`` where it was chosen, which count as ``units``
    groups, None where nothing can be promised; ``bound`` is the promise that it bears.
    ``possible`` is then the highest precision that some threshold does promise, None without one.
    ``checked`` is what the threshold does on other questions. ``missing`` estimates the questions
    to label until the promise can be made, if they are like these; None if it can be made, or if
    labels do not help.
    """

    target: float
    confidence: float
    questions: int
    units: int
    point: ThresholdPoint | None
    bound: float | None
    possible: float | None
    checked: ThresholdPoint | None
    missing: int | None = None

    @property
    def needed(self) -> int:
        """The fewest questions, or groups of them, on which that much can be promised."""
        return questions_needed(self.target, self.confidence)

    @property
    def kept(self) -> bool | None:
        """Whether the other questions kept it; None where nothing was promised, or reached it."""
        if self.point is None or self.checked is None or self.checked.precision is None:
            return None
        return self.checked.precision >= self.target

    @property
    def headline(self) -> str:
        """The promise, or what it lacks, in plain English."""
        if self.point is not None:
            return (
                f"Threshold {self.point.threshold:.3f} promises a precision of at least "
                f"{self.target:.2f} on other questions."
            )
        if self.missing is None and self.units < self.needed:
            return (
                f"Too few {_units(self)} to promise a precision of {self.target:.2f} for the "
                "passages above a threshold."
            )
        if self.missing is None:
            return (
                f"No threshold can promise a precision of {self.target:.2f} on other questions: a "
                "promise is a lower bound, below the precision measured on these."
            )
        return (
            f"Too few labels to promise a precision of {self.target:.2f}. "
            f"To promise it, label about {counted(self.missing, 'more question')}."
        )

    @property
    def method(self) -> str:
        """The procedure and the figures behind the headline, in sentences."""
        times = f"{self.confidence * 10:g} times in 10"
        if self.point is None:
            return _refusal(self, times)
        return (
            f"The promise is for other questions like these, {times}. The threshold was chosen on "
            f"{_counted(self)}: it {self.point.sentence}."
        )

    @property
    def sentence(self) -> str:
        """The headline and the method."""
        return f"{self.headline} {self.method}"

    @property
    def check(self) -> str:
        """The result on other questions, in plain English; "" without other questions."""
        if self.checked is None:
            return ""
        shares = self.checked.answering, self.checked.refusing, self.checked.turning_away
        count = counted(sum(share.total for share in shares), "other question")
        return f"On {count}, where nothing was chosen, it {self.checked.sentence}."


def _refusal(promise: ThresholdPromise, times: str) -> str:
    refusal = (
        f"The promise needs at least {promise.needed:,} {_units(promise)} to choose on, and there "
        f"are {promise.units:,}."
        if promise.units < promise.needed
        else f"On {_counted(promise)}, no threshold has passages that are relevant often enough "
        f"for at least {promise.needed:,} {_units(promise)}."
    )
    if promise.possible is None or promise.possible < 0.005:
        return f"{refusal} These labels cannot promise any precision."
    possible = math.floor(promise.possible * 100) / 100
    return f"{refusal} These labels can promise at most {possible:.2f}, {times}."


def _units(promise: ThresholdPromise) -> str:
    return "questions" if promise.units == promise.questions else "groups of questions"


def _counted(promise: ThresholdPromise) -> str:
    count = counted(promise.questions, "question")
    return count if promise.units == promise.questions else f"{count} in {promise.units:,} groups"


@dataclass(frozen=True, slots=True)
class PromiseCurves:
    """Questions to choose a threshold on, and others to see what comes of it.

    ``checking`` None where there are no others.
    """

    choosing: ThresholdCurve
    checking: ThresholdCurve | None = None

    def promise(self, precision: float, confidence: float = CONFIDENCE) -> ThresholdPromise:
        """The lowest threshold that promises a precision, in (0, 1), with this confidence."""
        ladder = _Ladder.of(self.choosing, confidence)
        step = ladder.lowest(precision)
        point = None
        if step is not None:
            point = self.choosing.at(float(self.choosing.values[ladder.steps[step]]))
        return ThresholdPromise(
            target=precision,
            confidence=confidence,
            questions=self.choosing.questions,
            units=self.choosing.units,
            point=point,
            bound=None if step is None else ladder.bound(step),
            possible=ladder.possible(),
            checked=self.checking.at(point.threshold) if self.checking and point else None,
            missing=self._missing(ladder, precision) if point is None else None,
        )

    def _missing(self, ladder: _Ladder, precision: float) -> int | None:
        """Estimate how many more questions like these a promise needs; None beyond the limit."""
        times = ladder.times_needed(precision)
        return None if times is None else _rounded_up((times - 1.0) * self.choosing.questions)


def _rounded_up(number: float) -> int:
    """Return a number as an estimate is written: 7, 45, 130, 1,300."""
    step = 1 if number <= 10 else 5 if number <= 100 else 10 ** (int(math.log10(number)) - 1)
    return math.ceil(number / step) * step


@dataclass(frozen=True, slots=True)
class _Ladder:
    """The thresholds of a curve, the order of the tests, and the lower bounds that they ask for.

    ``steps``: places of candidates that a threshold can stand at; ``reached``: questions that have
    a candidate there or above; ``squares``: summed squares of their deviations. Of hundreds of
    thousands of candidates a few hundred are tested: only theirs are bounded, each once.
    """

    steps: Integers
    hits: Floats
    reached: Integers
    squares: Floats
    confidence: float
    bounds: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, curve: ThresholdCurve, confidence: float) -> _Ladder:
        steps = curve.steps()
        squares = _squares(curve)[steps]
        return cls(steps, curve.hits[steps + 1], _reached(curve)[steps], squares, confidence)

    def lowest(self, precision: float) -> int | None:
        """The step of the lowest threshold that passed, going down from each of the starts."""
        most = int(self.reached[-1]) if len(self.reached) else 0
        starts = self._starts(precision, most)
        passed = [step for start in starts for step in self._passing(precision, start)]
        return max(passed, default=None)

    def _starts(self, precision: float, most: int) -> tuple[int, int]:
        """The questions that the first threshold of each sequence reaches, of ``most``."""
        needed = questions_needed(precision, self.confidence)
        return min(math.ceil(_FIRST * needed), max(needed, most)), max(needed, most // 2)

    def times_needed(self, precision: float) -> float | None:
        """Estimate how many times as many questions a promise needs, all else being equal.

        None beyond ``_MOST_TIMES``.
        """
        times = 1.0
        while len(self.steps) and times <= _MOST_TIMES:
            for start in self._starts(precision, int(self.reached[-1] * times)):
                at = int(np.searchsorted(self.reached, start / times))
                if at < len(self.steps) and self._bound(at, times) >= precision:
                    return times
            times *= _FINER
        return None

    def possible(self) -> float | None:
        """The highest precision, in hundredths, that can be promised."""
        precisions = (hundredths / 100 for hundredths in range(99, 0, -1))
        return next(
            (precision for precision in precisions if self.lowest(precision) is not None), None
        )

    def bound(self, step: int) -> float:
        """The lower bound of the precision of what reaches a step, on as many questions."""
        if step not in self.bounds:
            self.bounds[step] = self._bound(step)
        return self.bounds[step]

    def _bound(self, step: int, times: float = 1.0) -> float:
        """The same, if there were so many ``times`` as many questions of the same kind."""
        only = slice(step, step + 1)
        bounds = _bounds(
            np.asarray((self.steps[only] + 1) * times, np.float64),
            self.hits[only] * times,
            np.asarray(self.reached[only] * times, np.float64),
            self.squares[only] * times,
            _level(self.confidence),
        )
        return float(bounds[0])

    def _passing(self, precision: float, questions: int) -> Iterator[int]:
        """Steps that pass, from the first that so many questions reach, down to one that fails.

        Relevance decides on what is tested, labels do not.
        """
        at = int(np.searchsorted(self.reached, questions))
        while at < len(self.steps) and self.bound(at) >= precision:
            yield at
            further = np.searchsorted(self.steps, (self.steps[at] + 1) * _STEP - 1)
            at = max(at + 1, int(further))


def _reached(curve: ThresholdCurve) -> Integers:
    """Return the number of questions with one of the first n candidates, for n from 1."""
    first = np.zeros(len(curve.unit), np.int64)
    first[np.unique(curve.unit, return_index=True)[1]] = 1
    return np.cumsum(first)


def _bounds(count: Floats, hits: Floats, reached: Floats, squares: Floats, level: float) -> Floats:
    """The lower bounds of precisions ``hits / count`` on as many other questions."""
    from scipy.special import betaincinv, stdtrit

    share = hits / count
    with np.errstate(all="ignore"):
        variance = squares / count**2 * reached / np.maximum(reached - 1.0, 1.0)
        # All relevant or none: nothing is known of the spread, so a question counts once.
        effective = np.where(variance > 0, share * (1.0 - share) / variance, reached)
        freedom = stdtrit(np.maximum(count - 1, 1), level) / stdtrit(
            np.maximum(reached - 1, 1), level
        )
    effective = np.minimum(effective, count) * np.minimum(freedom, 1.0) ** 2 / 2.0
    successes = np.maximum(share * effective, 1e-12)
    lower = betaincinv(successes, effective - share * effective + 1.0, level)
    return np.where(hits > 0, lower, 0.0)


def _squares(curve: ThresholdCurve) -> Floats:
    """Summed squares of (relevant - share * passages) over questions, for every prefix."""
    mine, relevant = _before(curve)
    right = np.diff(curve.hits)
    share = curve.hits[1:] / np.arange(1, len(curve.values) + 1)
    passages = np.cumsum(2.0 * mine + 1.0)
    hits = np.cumsum(right * (2.0 * relevant + 1.0))
    both = np.cumsum((relevant + right) * (mine + 1.0) - relevant * mine)
    return np.maximum(hits - 2.0 * share * both + share**2 * passages, 0.0)


def _before(curve: ThresholdCurve) -> tuple[Floats, Floats]:
    """Count the question's candidates above each candidate, and the relevant ones of them."""
    count = len(curve.unit)
    grouped = np.argsort(curve.unit, kind="stable")
    owner, right = curve.unit[grouped], np.diff(curve.hits)[grouped]
    fresh = np.append(True, owner[1:] != owner[:-1])[:count]
    first = np.maximum.accumulate(np.where(fresh, np.arange(count), 0))
    summed = np.cumsum(right) - right
    mine, relevant = np.empty(count), np.empty(count)
    mine[grouped] = np.arange(count) - first
    relevant[grouped] = summed - summed[first]
    return mine, relevant


FEWEST_FOR_REFUSAL = 20
"""Answerable questions that it takes to choose a limit."""
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class RefusedShares:
    """The shares of questions that are refused; None where there are none of the kind."""

    answerable: float | None
    unanswerable: float | None

    @property
    def sentence(self) -> str:
        """In plain English."""
        named = {"answerable": self.answerable, "unanswerable": self.unanswerable}
        parts = [
            f"{percent(share)} of {name} questions"
            for name, share in named.items()
            if share is not None
        ]
        return f"refuses {' and '.join(parts)}"


@dataclass(frozen=True, slots=True)
class RefusalLimit:
    """The greatest limit that refuses at most ``cost`` of the answerable questions.

    It is rounded down to four decimals. ``in_sample`` is what it does to the questions that chose
    it. ``expected`` is cross-validated: each question is refused, or not, by a limit that was
    chosen without it.
    """

    cost: float
    limit: float
    in_sample: RefusedShares
    expected: RefusedShares

    def better_than(self, now: RefusedShares) -> bool:
        """Return whether the questions that chose it gain something that ``now`` does not give.

        That is one unanswerable question more that is refused, or one answerable one less.
        """
        new = self.in_sample
        return (new.unanswerable or 0.0) > (now.unanswerable or 0.0) or (new.answerable or 0.0) < (
            now.answerable or 0.0
        )

    @property
    def sentence(self) -> str:
        """Both shares, each with what it is of, in plain English."""
        return (
            f"{self.in_sample.sentence} that it was chosen on; on other questions "
            f"(cross-validated), it {self.expected.sentence}"
        )


@dataclass(frozen=True, slots=True)
class TopicProbabilities:
    """Probabilities that questions are on topic: ``values`` and ``answerable`` (questions,).

    ``usual`` is the limit of ``auto``. Questions without an answer are mostly on the topic of the
    documents all the same.
    """

    values: Floats
    answerable: Mask
    usual: float

    @property
    def can_choose(self) -> bool:
        """Whether there are enough answerable questions to choose a limit by."""
        return int(np.count_nonzero(self.answerable)) >= FEWEST_FOR_REFUSAL

    def limit(self, refuse: Refuse) -> float | None:
        """Return the limit of a recipe setting as a number; None for no limit."""
        if refuse == "off":
            return None
        return self.usual if refuse == "auto" else refuse

    def refused(self, limit: float | None) -> RefusedShares:
        """Return the shares of questions that a limit refuses; None refuses nothing."""
        return _shares(self.values < (-math.inf if limit is None else limit), self.answerable)

    def chosen(self, cost: float) -> RefusalLimit | None:
        """The limit for a cost; None with fewer answerable questions than it takes."""
        if not self.can_choose:
            return None
        refused = np.zeros(len(self.values), np.bool_)
        # Five parts of the questions, with as many answerable ones in each
        order = np.random.default_rng(0).permutation(len(self.values))
        order = order[np.argsort(self.answerable[order], kind="stable")]
        part = np.empty(len(order), np.int64)
        part[order] = np.arange(len(order)) % _FOLDS
        for fold in [part == number for number in range(_FOLDS)]:
            rest = self.values[~fold & self.answerable]
            refused[fold] = self.values[fold] < _limit(rest, cost)
        expected = _shares(refused, self.answerable)
        limit = math.floor(_limit(self.values[self.answerable], cost) * 10_000) / 10_000
        return RefusalLimit(cost, limit, self.refused(limit), expected)


def _limit(answerable: Floats, cost: float) -> float:
    ordered = np.sort(answerable)
    return float(ordered[min(int(cost * len(ordered)), len(ordered) - 1)])


def _shares(refused: Mask, answerable: Mask) -> RefusedShares:
    kinds = (refused[answerable], refused[~answerable])
    return RefusedShares(*(float(kind.mean()) if len(kind) else None for kind in kinds))
