"""A model of the probability that a candidate is relevant, fitted on labels.

It gives all models and modes one scale. It is a logistic regression with a ridge penalty on a few
features, each of which grows with relevance. No weight may be negative, so a higher cosine never
lowers the probability, however the features correlate. Quality is cross-validated by question: no
question is scored by a fit that saw it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rag.errors import InvalidInput
from rag.evaluation.reliability import Quality, ReliabilityBin, quality, reliability
from rag.evaluation.thresholds import ThresholdCurve
from rag.types import Floats, Mask

Rows = npt.NDArray[np.intp]

FEWEST_QUESTIONS = 20
RELEVANT_PER_FEATURE = 10
_RIDGE = 1.0
_FOLDS = 5


class CandidateArrays(Protocol):
    """Candidates of one question, arrays of shape (n,); ranks count from 0, huge: not found."""

    @property
    def cosine(self) -> Floats: ...
    @property
    def bm25(self) -> Floats: ...
    @property
    def dense_rank(self) -> npt.NDArray[np.int32]: ...
    @property
    def lexical_rank(self) -> npt.NDArray[np.int32]: ...
    @property
    def exact(self) -> Mask | None: ...
    @property
    def word_relevance(self) -> Floats | None: ...


FEATURES: Mapping[str, Callable[[CandidateArrays], Floats]] = MappingProxyType(
    {
        "cosine": lambda candidates: candidates.cosine,
        # Not relative to the question's best: the best hit of a hopeless question is no good.
        "bm25": lambda candidates: np.log1p(np.maximum(candidates.bm25, 0.0)),
        "dense_rank": lambda candidates: 1.0 / (1.0 + candidates.dense_rank.astype(np.float64)),
        "lexical_rank": lambda candidates: 1.0 / (1.0 + candidates.lexical_rank.astype(np.float64)),
    }
)
"""What a candidate is judged by: cosine, damped BM25, and the reciprocals of both ranks."""


class NotEnoughLabels(InvalidInput):
    """Too few labels to learn from: ``relevant`` candidates on ``questions``, and what it takes."""

    def __init__(self, relevant: int, questions: int, needed: int) -> None:
        super().__init__(
            f"Too few labels to learn probabilities: in the tuning half, {relevant} "
            f"retrieved passages on {questions} questions are labelled relevant. You need at least "
            f"{needed} on {FEWEST_QUESTIONS} questions there.",
            "Label more questions, or keep the threshold on the cosine.",
        )
        self.relevant = relevant
        self.questions = questions
        self.needed_relevant = needed
        self.needed_questions = FEWEST_QUESTIONS


@dataclass(frozen=True, slots=True)
class LabelledCandidates:
    """Candidates of a judged question. ``relevant``, shape (n,), is aligned with them.

    Judged means: it has relevant labels, or is known to be unanswerable. Every candidate without a
    label then counts as not relevant, so labels with gaps make probabilities too low, never too
    high. ``off_topic`` questions are not even of the documents' topic.
    """

    candidates: CandidateArrays
    relevant: Mask
    answerable: bool = True
    off_topic: bool = False


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted model: weights of features by name, none below 0."""

    weights: Mapping[str, float]
    intercept: float

    def probabilities(self, candidates: CandidateArrays) -> Floats:
        """The probability of each candidate to be relevant, in the shape of the candidates."""
        weights = np.array(list(self.weights.values()))
        return _logistic(_matrix(candidates, tuple(self.weights)), weights, self.intercept)

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as a JSON-compatible dict, without loss."""
        return {"weights": dict(self.weights), "intercept": self.intercept}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Calibration:
        """Restore a calibration from ``to_dict``. Raises InvalidInput for other data."""
        try:
            weights = {str(name): float(value) for name, value in stored["weights"].items()}
            intercept = float(stored["intercept"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInput("A stored calibration is damaged.", "Fit it again.") from error
        known_features = bool(weights) and weights.keys() <= FEATURES.keys()
        sound = all(0.0 <= value < np.inf for value in weights.values()) and np.isfinite(intercept)
        if not known_features or not sound:
            raise InvalidInput("A stored calibration does not fit this version.", "Fit it again.")
        return cls(weights, intercept)


@dataclass(frozen=True, slots=True)
class Fit:
    """A calibration and how far to trust it. ``curve`` reads thresholds on its probabilities.

    Quality, bins and floors use probabilities from fits that did not see the question.
    """

    calibration: Calibration
    quality: Quality
    bins: tuple[ReliabilityBin, ...]
    curve: ThresholdCurve


def fit_calibration(
    questions: Sequence[LabelledCandidates],
    features: Sequence[str] = tuple(FEATURES),
) -> Fit:
    """Fits on all questions and cross-validates in five folds of questions.

    Raises NotEnoughLabels below 20 questions with a relevant candidate, or ten relevant candidates
    per feature (Peduzzi et al., J. Clinical Epidemiology 1996); ``("cosine",)`` needs least.
    """
    names = tuple(features)
    _refuse_few(questions, len(names))
    rows = np.concatenate([_matrix(question.candidates, names) for question in questions])
    relevant = np.concatenate([question.relevant for question in questions]).astype(np.bool_)
    owner = np.repeat(np.arange(len(questions)), [len(question.relevant) for question in questions])
    held_out, base = _crossed(rows, relevant, owner, len(questions))
    weights, intercept = _fit_logistic(rows, relevant)
    return Fit(
        calibration=Calibration(dict(zip(names, weights.tolist(), strict=True)), intercept),
        quality=quality(held_out, base, relevant),
        bins=reliability(held_out, relevant),
        curve=ThresholdCurve.of(
            held_out,
            relevant,
            owner,
            np.array([question.answerable for question in questions]),
            np.array([question.off_topic for question in questions]),
        ),
    )


def stated_threshold(stated: Floats, relevant: Mask, owner: Rows) -> float:
    """The stated probability from which at least half are relevant (Platt 1999), between 0 and 1.

    All have shape (n,); ``owner`` has the place of the question of each. Raises NotEnoughLabels as
    ``fit`` does, and InvalidInput where the probabilities do not rise with relevance.
    """
    _refuse_fewer(int(relevant.sum()), len(np.unique(owner[relevant])), 1)
    inside = np.clip(stated, 0.001, 0.999)
    weights, intercept = _fit_logistic(np.log(inside / (1 - inside))[:, None], relevant)
    if relevant.all() or weights[0] <= 0:
        raise InvalidInput(
            "The stated probabilities do not rise with relevance.", "Label more, or another judge."
        )
    return float(_sigmoid(np.array(-intercept / weights[0])))


def cross_validated(
    candidates: CandidateArrays,
    relevant: Mask,
    owner: Rows,
    questions: int,
    features: Sequence[str],
) -> Floats:
    """Probabilities of candidates by fits that saw other questions than theirs, shape (n,).

    ``owner`` has the place of each candidate's question among so many ``questions``. These are the
    probabilities that ``fit`` measures itself by. Raises NotEnoughLabels.
    """
    names = tuple(features)
    having = len(np.unique(owner[relevant]))
    _refuse_fewer(int(relevant.sum()), having, len(names))
    return _crossed(_matrix(candidates, names), relevant, owner, questions)[0]


def _crossed(rows: Floats, relevant: Mask, owner: Rows, questions: int) -> tuple[Floats, Floats]:
    """For each candidate, its probability and the base rate by the fit of the other folds."""
    held_out, base = np.empty(len(rows)), np.empty(len(rows))
    for inside in _folds(relevant, owner, questions):
        weights, intercept = _fit_logistic(rows[~inside], relevant[~inside])
        held_out[inside] = _logistic(rows[inside], weights, intercept)
        base[inside] = relevant[~inside].mean()
    return held_out, base


def _refuse_few(questions: Sequence[LabelledCandidates], features: int) -> None:
    relevant = sum(int(question.relevant.sum()) for question in questions)
    having = sum(bool(question.relevant.any()) for question in questions)
    _refuse_fewer(relevant, having, features)
    if all(question.relevant.all() for question in questions):
        raise InvalidInput(
            "Every retrieved passage is labelled relevant, so there is nothing to learn from.",
            "Retrieve more candidates per question.",
        )


def _refuse_fewer(relevant: int, having: int, features: int) -> None:
    needed = RELEVANT_PER_FEATURE * features
    if relevant < needed or having < FEWEST_QUESTIONS:
        raise NotEnoughLabels(relevant, having, needed)


def _matrix(candidates: CandidateArrays, names: Sequence[str]) -> Floats:
    """Features of the candidates, shape (..., features)."""
    return np.stack([FEATURES[name](candidates) for name in names], axis=-1).astype(np.float64)


def _folds(relevant: Mask, owner: Rows, questions: int) -> Iterator[Mask]:
    """Masks of rows, each question in one; those with relevant candidates are dealt out evenly."""
    rng = np.random.default_rng(0)
    having = np.zeros(questions, np.bool_)
    having[owner[relevant]] = True
    order = rng.permutation(questions)
    dealt = np.concatenate([order[having[order]], order[~having[order]]])
    fold = np.empty(questions, np.intp)
    fold[dealt] = np.arange(questions) % _FOLDS
    for number in range(_FOLDS):
        yield fold[owner] == number


def _fit_logistic(rows: Floats, relevant: Mask) -> tuple[Floats, float]:
    """Weights and intercept for features as they are; the ridge is on standardised ones."""
    from scipy.optimize import minimize

    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(scale > 0, scale, np.inf)  # what does not vary gets no weight
    standard = np.column_stack([(rows - mean) / scale, np.ones(len(rows))])
    target = relevant.astype(np.float64)
    ridge = np.append(np.full(rows.shape[1], _RIDGE), 0.0)
    share = float(np.clip(target.mean(), 1e-6, 1 - 1e-6))
    start = np.append(np.zeros(rows.shape[1]), np.log(share / (1 - share)))

    def loss(weights: Floats) -> tuple[float, Floats]:
        logits = standard @ weights
        total = np.logaddexp(0.0, logits).sum() - logits @ target + (ridge * weights**2).sum() / 2
        return float(total), standard.T @ (_sigmoid(logits) - target) + ridge * weights

    bounds = [(0.0, None)] * rows.shape[1] + [(None, None)]
    fit = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    weights = fit.x[:-1] / scale
    return weights, float(fit.x[-1] - weights @ mean)


def _logistic(rows: Floats, weights: Floats, intercept: float) -> Floats:
    # Summed in a fixed order, so that a candidate's figure is the same in any company.
    return _sigmoid(np.asarray((rows * weights).sum(axis=-1)) + intercept)


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)))
