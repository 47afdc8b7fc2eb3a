"""Calibration on made-up scores whose truth is known, and refusing where nothing can be learned."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from rag import InvalidInput, NotEnoughLabels
from rag.evaluation import FEATURES, Calibration, Fit, LabelledCandidates, fit_calibration

NOT_FOUND = np.iinfo(np.int32).max
TRUTH = (-7.0, 9.0, 1.0)  # intercept, weights of cosine and damped BM25


@dataclass(frozen=True)
class Made:
    cosine: np.ndarray
    bm25: np.ndarray
    dense_rank: np.ndarray
    lexical_rank: np.ndarray


def _ranks(scores: np.ndarray) -> np.ndarray:
    ranks = np.argsort(np.argsort(-scores)).astype(np.int32)
    ranks[scores <= 0] = NOT_FOUND
    return ranks


def _made(cosine: np.ndarray, bm25: np.ndarray) -> Made:
    return Made(cosine, bm25, _ranks(cosine), _ranks(bm25))


def _truth(found: Made) -> np.ndarray:
    logits = TRUTH[0] + TRUTH[1] * found.cosine + TRUTH[2] * np.log1p(found.bm25)
    return 1 / (1 + np.exp(-logits))


def _questions(count: int, seed: int = 0, depth: int = 60) -> list[LabelledCandidates]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        answerable = bool(rng.random() < 0.8)
        words = np.maximum(rng.normal(2, 3, depth), 0)
        found = _made(rng.beta(2, 4, depth) * (1.0 if answerable else 0.4), words)
        relevant = rng.random(depth) < _truth(found)
        if not answerable:
            relevant[:] = False
        made.append(LabelledCandidates(found, relevant, answerable))
    return made


@pytest.fixture(scope="module")
def fitted() -> Fit:
    return fit_calibration(_questions(300))


def test_it_recovers_the_truth():
    questions = [each for each in _questions(500, seed=3) if each.answerable]
    learned = fit_calibration(questions).calibration
    assert learned.intercept == pytest.approx(TRUTH[0], abs=0.5)
    assert learned.weights["cosine"] == pytest.approx(TRUTH[1], abs=0.6)
    assert learned.weights["bm25"] == pytest.approx(TRUTH[2], abs=0.12)
    # Ranks say nothing here beyond the scores they come from.
    assert learned.weights["dense_rank"] < 0.5
    assert learned.weights["lexical_rank"] < 0.5
    fresh = [each for each in _questions(30, seed=9) if each.answerable]
    for each in fresh:
        predicted = learned.probabilities(each.candidates)
        np.testing.assert_allclose(predicted, _truth(each.candidates), atol=0.08)


def test_quality_is_cross_validated_and_beats_the_base_rate(fitted):
    quality = fitted.quality
    assert quality.useful
    assert quality.base_rate == np.mean([each.relevant.mean() for each in _questions(300)])
    share = quality.base_rate
    assert quality.base_brier == pytest.approx(share * (1 - share), rel=0.01)
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert quality.base_log_loss == pytest.approx(entropy, rel=0.01)


def test_labels_that_are_noise_are_no_use():
    rng = np.random.default_rng(5)
    shuffled = [
        LabelledCandidates(each.candidates, rng.random(60) < 0.05)
        for each in _questions(60, seed=5)
    ]
    quality = fit_calibration(shuffled).quality
    assert not quality.useful
    assert quality.log_loss < 1.02 * quality.base_log_loss


def test_bins_tell_what_came_true(fitted):
    assert sum(each.count for each in fitted.bins) == 300 * 60
    for each in fitted.bins:
        assert each.low <= each.predicted < each.high == pytest.approx(each.low + 0.1)
        assert each.interval.low <= each.observed <= each.interval.high
        if each.count >= 100:
            assert each.observed == pytest.approx(each.predicted, abs=0.12)


def test_a_higher_cosine_never_lowers_the_probability(fitted):
    cosine = np.linspace(-1, 1, 200)
    zeros = np.zeros(200, np.int32)
    probabilities = fitted.calibration.probabilities(Made(cosine, np.ones(200), zeros, zeros))
    assert (np.diff(probabilities) > 0).all()


def test_even_labels_against_the_cosine_do_not_turn_it_round():
    against = [
        LabelledCandidates(each.candidates, each.candidates.cosine < 0.1)
        for each in _questions(40, seed=2)
    ]
    learned = fit_calibration(against).calibration
    assert learned.weights["cosine"] == 0.0
    assert min(learned.weights.values()) >= 0.0


def test_the_same_candidate_has_the_same_probability_in_any_company(fitted):
    found = _questions(1, seed=8)[0].candidates
    whole = fitted.calibration.probabilities(found)
    alone = Made(*(getattr(found, name)[7:8] for name in Made.__dataclass_fields__))
    assert fitted.calibration.probabilities(alone)[0] == whole[7]
    assert len(fitted.calibration.probabilities(_made(np.empty(0), np.empty(0)))) == 0


def test_a_passage_that_words_did_not_find_has_no_rank():
    found = Made(np.array([0.5]), np.zeros(1), np.array([2]), np.array([NOT_FOUND], np.int32))
    figures = {name: float(feature(found)[0]) for name, feature in FEATURES.items()}
    assert figures == pytest.approx(
        {"cosine": 0.5, "bm25": 0.0, "dense_rank": 1 / 3, "lexical_rank": 0.0}, abs=1e-9
    )


def test_fitting_twice_gives_the_same_to_the_last_digit():
    questions = _questions(40, seed=4)
    first, second = fit_calibration(questions), fit_calibration(questions)
    assert first.calibration == second.calibration
    assert first.quality == second.quality


def test_a_feature_that_does_not_vary_gets_no_weight():
    dense_only = [
        LabelledCandidates(
            Made(
                each.candidates.cosine,
                np.zeros(60),
                each.candidates.dense_rank,
                np.full(60, NOT_FOUND, np.int32),
            ),
            each.relevant,
            each.answerable,
        )
        for each in _questions(80, seed=6)
    ]
    learned = fit_calibration(dense_only).calibration
    assert learned.weights["bm25"] == learned.weights["lexical_rank"] == 0.0
    assert learned.weights["cosine"] > 5


def test_too_few_labels_are_refused_with_figures():
    few = [each for each in _questions(60) if each.relevant.any()][:19]
    with pytest.raises(NotEnoughLabels, match=r"in the tuning half, .* on 19 questions") as refused:
        fit_calibration(few)
    assert refused.value.relevant == sum(int(each.relevant.sum()) for each in few)
    assert (refused.value.needed_relevant, refused.value.needed_questions) == (40, 20)
    single = []
    for each in [each for each in _questions(60) if each.relevant.any()][:25]:
        only = np.zeros(60, bool)
        only[np.argmax(each.candidates.cosine)] = True
        single.append(LabelledCandidates(each.candidates, only))
    with pytest.raises(NotEnoughLabels, match="25 retrieved passages on 25 questions"):
        fit_calibration(single)
    assert fit_calibration(single, ("cosine",)).calibration.weights["cosine"] > 0
    with pytest.raises(NotEnoughLabels, match="0 retrieved passages on 0 questions"):
        fit_calibration([])


def test_labels_that_tell_nothing_apart_are_refused():
    everything = [LabelledCandidates(each.candidates, np.ones(60, bool)) for each in _questions(25)]
    with pytest.raises(InvalidInput, match="nothing to learn from"):
        fit_calibration(everything)


def test_stored_as_json_it_comes_back_exactly(fitted):
    text = json.dumps(fitted.calibration.to_dict())
    assert Calibration.from_dict(json.loads(text)) == fitted.calibration


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"weights": {}, "intercept": 0.0},
        {"weights": {"cosine": "much"}, "intercept": 0.0},
        {"weights": {"cosine": -1.0}, "intercept": 0.0},
        {"weights": {"cosine": float("nan")}, "intercept": 0.0},
        {"weights": {"colour": 1.0}, "intercept": 0.0},
        {"weights": [1.0], "intercept": 0.0},
        {"weights": {"cosine": 1.0}, "intercept": None},
        {"weights": {"cosine": 1.0}, "intercept": float("inf")},
    ],
)
def test_what_is_no_calibration_is_refused(stored):
    with pytest.raises(InvalidInput, match="stored calibration"):
        Calibration.from_dict(stored)
