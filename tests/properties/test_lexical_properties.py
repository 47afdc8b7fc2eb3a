"""An index that grew and shrank is the index built at once; explanations add up."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.lexical import LexicalIndex, Postings, analyzer, analyzer_names, passage_rows
from rag.lexical import index as index_module

WORDS = ["pump", "pumps", "pimp", "seal", "sealing", "water", "watre", "tx-4410", "4410", "and"]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
keys = st.integers(0, 12)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.tuples(keys, texts), max_size=6)),
        st.tuples(st.just("remove"), st.lists(keys, max_size=6)),
    ),
    max_size=12,
)
options = st.fixed_dictionaries(
    {
        "k1": st.sampled_from([0.0, 0.9, 1.2]),
        "b": st.sampled_from([0.0, 0.75, 1.0]),
        "fuzzy": st.booleans(),
        "prefix": st.booleans(),
    }
)


@contextmanager
def tiny_segments() -> Iterator[None]:
    """Sizes at which a dozen passages already make several segments."""
    with (
        mock.patch.object(passage_rows, "SMALLEST_SEGMENT", 1),
        mock.patch.object(index_module, "BATCH_PASSAGES", 3),
    ):
        yield


def grown(plan: list[tuple[str, list]]) -> tuple[LexicalIndex, dict[int, str]]:
    index, held = LexicalIndex.empty("english"), dict[int, str]()
    with tiny_segments():
        for verb, items in plan:
            if verb == "add":
                index = index.added(items)
                held.update(items)
            else:
                index = index.removed(np.array(items, dtype=np.int64))
                held = {key: text for key, text in held.items() if key not in items}
    return index, held


@given(steps, texts, options, st.integers(1, 15))
def test_growing_and_shrinking_equals_building_at_once(plan, query, how, k):
    index, held = grown(plan)
    clean = LexicalIndex.empty("english").added(held.items())
    assert len(index) == len(clean) == len(held)
    found, expected = index.search(query, k, **how), clean.search(query, k, **how)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].tolist() == expected[1].tolist()


@given(steps, texts, options)
def test_explanations_add_up_to_the_score(plan, query, how):
    index, held = grown(plan)
    scores = index.scores(query, np.array(list(held), dtype=np.int64), **how)
    for key, score in zip(held, scores, strict=True):
        found = index.explain(query, key, **how)
        assert sum(match.contribution for match in found.matches) == pytest.approx(score, abs=1e-9)
        assert found.score == score
        for match in found.matches:
            saturation = match.tf / (match.tf + how["k1"] * found.length_factor)
            product = match.repeats * match.weight * match.idf * saturation
            assert match.contribution == pytest.approx(product, abs=1e-9)


@given(steps, texts, options, st.sets(keys))
def test_scores_of_some_passages_are_those_of_the_search(plan, query, how, asked):
    index, _ = grown(plan)
    found = dict(zip(*(part.tolist() for part in index.search(query, 100, **how)), strict=True))
    scores = index.scores(query, np.array(sorted(asked), dtype=np.int64), **how)
    assert scores.tolist() == [found.get(key, 0.0) for key in sorted(asked)]


@given(steps, texts, options, st.sets(keys), st.integers(1, 15))
def test_allowed_is_a_filter_of_the_whole_ranking(plan, query, how, allowed, k):
    index, _ = grown(plan)
    ranking, _ = index.search(query, 100, **how)
    found, _ = index.search(query, k, **how, allowed=np.array(sorted(allowed), dtype=np.int64))
    assert found.tolist() == [key for key in ranking.tolist() if key in allowed][:k]


@given(
    steps,
    st.lists(st.tuples(texts, st.sets(keys)), max_size=4),
    options,
    st.none() | st.sets(keys),
)
def test_postings_score_many_queries_like_the_search(plan, queries, how, allowed):
    index, _ = grown(plan)
    may = None if allowed is None else np.array(sorted(allowed), dtype=np.int64)
    beside = [np.array(sorted(also), dtype=np.int64) for _, also in queries]
    kinds = {name: how[name] for name in ("fuzzy", "prefix")}
    laid_out = index.postings([text for text, _ in queries], beside, **kinds, allowed=may)
    expected = [
        (row, key, found.get(key, 0.0))
        for row, (text, also) in enumerate(queries)
        for found in [_ranking(index, text, how, may)]
        for key in sorted(found.keys() | also)
    ]
    assert _told(laid_out, laid_out.scores(how["k1"], how["b"])) == expected


def _ranking(index: LexicalIndex, text: str, how: dict, may: np.ndarray | None) -> dict:
    found = index.search(text, 100, **how, allowed=may)
    return dict(zip(*(part.tolist() for part in found), strict=True))


def _told(laid_out: Postings, scores: np.ndarray) -> list[tuple[int, int, float]]:
    columns = (laid_out.rows.tolist(), laid_out.keys.tolist(), scores.tolist())
    return list(zip(*columns, strict=True))


@given(steps)
def test_segments_stay_few(plan):
    index, held = grown(plan)
    sizes = [segment.size for segment in index.segments]
    assert sum(sizes) == len(held)
    assert all(one > two for one, two in pairwise(sizes))
    assert all(4 * s.size >= 3 * len(s.keys) for s in index.segments)


@given(st.sampled_from(analyzer_names()), st.text(max_size=60))
def test_spans_lie_in_the_text_and_agree_with_tokens(name, text):
    cut = analyzer(name)
    spans = list(cut.spans(text))
    assert [term for term, _, _ in spans] == cut.tokens(text)
    assert all(0 <= start < end <= len(text) for _, start, end in spans)
    assert all(term.strip() == term and "\n" not in term for term, _, _ in spans)
