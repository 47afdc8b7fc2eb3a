"""Counterfactuals: the change stated turns the fate of a passage, and a shorter one does not."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import Counterfactual, SearchRecipe
from rag.evaluation.metrics import rank_biased_overlap
from rag.experiments.explanation.breakpoints import MOST_CANDIDATES, WHOLE, Case, by_weight
from rag.experiments.explanation.counterfactuals import SHORTER, counterfactuals, number, stated
from rag.retrieval import Candidates, select
from rag.retrieval.candidates import NOT_FOUND
from rag.retrieval.fusion import LIST_SCALES, QDRANT_RRF
from tests.depths import at_depth

figures = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 0.75]), st.floats(-0.2, 1.0))
words = st.one_of(st.sampled_from([0.0, 0.0, 1.0, 2.0]), st.floats(0.0, 30.0))
recipes = st.builds(
    SearchRecipe,
    mode=st.sampled_from(["hybrid", "hybrid", "dense", "lexical"]),
    fusion=st.sampled_from(["weighted", "rrf", "saturation", *LIST_SCALES, QDRANT_RRF]),
    dense_weight=st.sampled_from([0.0, 0.3, 0.6, 1.0]),
    rrf_k=st.sampled_from([1, 60]),
    bm25_pivot=st.sampled_from([1.0, 8.0]),
    top_k=st.integers(1, 6),
    candidates=st.integers(1, 12),
    exact_codes=st.booleans(),
    matched_words=st.booleans(),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A corpus of up to fourteen passages, and one of them."""
    size = draw(st.integers(1, 14))
    cosine = np.array(draw(st.lists(figures, min_size=size, max_size=size)))
    bm25 = np.array(draw(st.lists(words, min_size=size, max_size=size)))
    search, keys = draw(recipes), np.arange(size) * 10
    masks = st.none() | st.lists(st.booleans(), min_size=size, max_size=size)
    deep = whole(search, keys, cosine, bm25, draw(masks), draw(masks))
    threshold = draw(st.sampled_from([None, 0.2, 0.5]))
    key = draw(st.sampled_from(keys.tolist()))
    return Case(key, search, threshold, at_depth(deep, search.candidates), deep)


def whole(search: SearchRecipe, keys, cosine, bm25, codes=None, matched=None) -> Candidates:
    """Both rankings of everything, as far as the mode asks for them."""
    near, found = np.lexsort((keys, -cosine)), np.lexsort((keys, -bm25))
    found = found[bm25[found] > 0]
    ranks = np.full((2, len(keys)), NOT_FOUND, dtype=np.int32)
    if search.mode != "lexical":
        ranks[0, near] = np.arange(len(near))
    if search.mode != "dense":
        ranks[1, found] = np.arange(len(found))
    kept = (ranks != NOT_FOUND).any(axis=0)
    exact = None if codes is None else np.array(codes, np.bool_)[kept]
    by_words = None if matched is None else np.where(matched, 0.2, -1.0)[kept]
    return Candidates(
        keys[kept],
        cosine[kept],
        bm25[kept],
        ranks[0, kept],
        ranks[1, kept],
        exact=exact,
        word_relevance=by_words,
    )


def searched(case: Case, field: str, value: float) -> bool:
    """Whether the passage is among the results of an ordinary selection."""
    search = case.search
    if field != "threshold":
        search = search.model_copy(update={field: int(value) if field in WHOLE else value})
    found = at_depth(case.deep, search.candidates)
    limit = value if field == "threshold" else case.threshold
    kept = select(found, search, limit).kept
    return case.key in found.keys[kept].tolist()


def all_of(case: Case) -> Sequence[Counterfactual]:
    is_in = searched(case, "top_k", case.search.top_k)
    assert case.is_in == is_in
    return counterfactuals(case, is_in, lambda field, value: searched(case, field, value))


@given(cases())
def test_the_stated_change_does_it_and_a_shorter_one_does_not(case):
    for each in all_of(case):
        assert "could be confirmed" not in each.words
        if each.value is None:
            continue
        assert searched(case, each.field, each.value) == each.enters
        if each.shorter is not None:
            assert searched(case, each.field, each.shorter) != each.enters


@given(cases())
def test_no_smaller_change_of_a_whole_number_does_it(case):
    for each in all_of(case):
        if each.field not in WHOLE:
            continue
        now = getattr(case.search, each.field)
        reach = 40 if each.value is None else abs(int(each.value) - now) - 1
        for step in range(1, reach + 1):
            for value in (now - step, now + step):
                if 1 <= value <= MOST_CANDIDATES:
                    assert searched(case, each.field, value) != each.enters


@given(cases())
def test_no_smaller_change_of_a_share_does_it(case):
    for each in all_of(case):
        if each.field in WHOLE or (each.field == "dense_weight" and case.search.mode != "hybrid"):
            continue
        if not each.exact:  # found by trials, between which a smaller change may lie
            assert (each.field, case.search.fusion) == ("dense_weight", QDRANT_RRF)
            continue
        low, high = (0.0, 1.0) if each.field == "dense_weight" else (-1.0, 1.0)
        now = low if each.now is None else each.now
        reach = 2.0 if each.bound is None else abs(each.bound - now) * (1 - 1e-6)
        for share in np.linspace(0.02, 1.0, 50):
            for value in (now - reach * share, now + reach * share):
                if low <= value <= high and value != now:
                    assert searched(case, each.field, float(value)) != each.enters


@given(cases())
def test_a_passage_that_changes_nothing_is_told_so(case):
    for each in all_of(case):
        verb = "enters" if each.enters else "leaves"
        assert each.words.startswith(verb) == (each.value is not None)
        if each.value is None and each.field == "dense_weight" and case.search.mode == "hybrid":
            assert by_weight(case) is None


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_stated_figures_lie_barely_beyond(now, near, far):
    from rag.experiments.explanation.breakpoints import Breakpoint

    if min(abs(near - far), abs(near - now)) < 1e-6 or (near < now) != (far < near):
        return
    value = stated(now, Breakpoint(near, far))
    assert min(near, far) < value < max(near, far)
    assert SHORTER * abs(value - now) < abs(near - now)
    assert float(number(value)) == pytest.approx(value, abs=1e-14)


def test_a_crossing_that_was_computed_a_little_too_low_is_not_stated():
    case = tied_at_three_quarters()
    (weight,) = (each for each in all_of(case) if each.field == "dense_weight")
    assert by_weight(case).near == pytest.approx(0.75, abs=1e-12)
    assert weight.value == 0.751
    assert searched(case, "dense_weight", 0.75)
    assert not searched(case, "dense_weight", 0.751)


def tied_at_three_quarters() -> Case:
    """Two passages whose scores cross at a weight of 0.75, where the key decides."""
    search = SearchRecipe(dense_weight=0.0, top_k=1, candidates=2)
    cosine, bm25 = np.array([0.5, 0.0, 0.0, 0.75]), np.array([1.0, 1.0, 0.0, 0.0])
    deep = whole(search, np.arange(4) * 10, cosine, bm25)
    return Case(0, search, None, at_depth(deep, 2), deep)


@given(st.permutations(range(8)), st.permutations(range(8)), st.integers(1, 8))
def test_overlap_is_even_handed_and_bounded(one, other, length):
    value = rank_biased_overlap(one, other[:length])
    assert 0 <= value <= 1 + 1e-12
    assert value == rank_biased_overlap(other[:length], one)
    assert rank_biased_overlap(one, one) == pytest.approx(1)
