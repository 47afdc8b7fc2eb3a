"""Feedback, spelling and diversity against figures worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.lexical import LexicalIndex
from rag.retrieval import Nearness, diversify, doubles, rm3, rocchio


def test_rocchio_moves_the_question_towards_the_mean_and_back_to_length_one():
    query = np.array([1.0, 0.0, 0.0], np.float32)
    believed = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], np.float32)
    moved = rocchio(query, believed, 0.4)
    expected = np.array([0.6, 0.2, 0.2]) / np.sqrt(0.36 + 0.04 + 0.04)
    assert moved == pytest.approx(expected, abs=1e-7)
    assert rocchio(query, believed, 0.0) == pytest.approx(query)


def test_what_cancels_the_question_out_leaves_it_as_it_was():
    query = np.array([1.0, 0.0], np.float32)
    assert rocchio(query, -query[None], 0.5).tolist() == [1.0, 0.0]


def test_rm3_shares_the_query_between_its_own_words_and_the_likeliest_of_the_passages():
    model = {"leave": 0.3, "annual": 0.2, "day": 0.1, "rest": 0.05}
    mixed = rm3({"leave": 1.0, "holiday": 1.0}, model, 2)
    assert mixed == pytest.approx(
        {"leave": 0.5 + 0.5 * 2 * 0.6, "holiday": 0.5, "annual": 0.5 * 2 * 0.4}
    )
    assert sum(mixed.values()) == pytest.approx(2.0)
    assert rm3({"leave": 1.0}, {}, 5) == {"leave": 1.0}


CORPUS = LexicalIndex.empty("english").added(
    [
        (1, "Employees receive a certificate."),
        (2, "They were receiving annual leave."),
        (3, "A relief fund relieved the pain."),
        (4, "Order TX-4410 by telephone."),
    ]
)


def corrected(question: str) -> dict[str, str]:
    return {question[each.start : each.end]: each.term for each in CORPUS.corrections(question)}


def test_unknown_words_give_way_to_near_ones():
    assert corrected("When do I recieve a certifcate?") == {
        "recieve": "receiv",
        "certifcate": "certif",
    }


def test_known_words_codes_short_words_and_distant_words_stay():
    assert corrected("annual leave of employees, TX-4411, pan, helicopter, would") == {}


def test_of_equally_near_words_that_of_more_passages_is_taken():
    index = LexicalIndex.empty("simple").added([(1, "boats"), (2, "boats"), (3, "boast")])
    (found,) = index.corrections("boasts")
    assert (found.term, found.passages, found.key) == ("boats", 2, 1)


def unit(*rows: tuple[float, float]) -> np.ndarray:
    table = np.array(rows, np.float32)
    return table / np.linalg.norm(table, axis=1, keepdims=True)


def test_a_double_is_named_with_the_best_passage_that_it_repeats():
    rows = unit((1, 0), (0, 1), (1, 0.01), (1, 0.02), (0, 1))
    found = doubles(rows, 0.99)
    assert [(each.place, each.of) for each in found] == [(2, 0), (3, 0), (4, 1)]
    assert [each.cosine for each in found] == pytest.approx([0.99995, 0.9998, 1.0], abs=1e-5)


def test_a_chain_of_near_passages_is_not_collapsed_into_one():
    """The third is near the second, which is gone already, and not near the first."""
    rows = unit((1, 0), (1, 0.4), (1, 0.9))
    assert [each.place for each in doubles(rows, 0.9)] == [1]


def test_equal_texts_are_doubles_at_the_strictest_limit():
    row = np.random.default_rng(0).standard_normal(384).astype(np.float32)
    row /= np.linalg.norm(row)
    assert [each.place for each in doubles(np.stack([row, row]), 1.0)] == [1]


def mmr(
    scores: np.ndarray, rows: np.ndarray, share: float, count: int
) -> tuple[np.ndarray, np.ndarray]:
    nearness = Nearness(np.arange(len(rows)), lambda keys: rows[keys])
    return diversify(np.arange(len(rows)), scores, nearness, share, count)


def test_mmr_follows_the_paper():
    rows = unit((1, 0), (1, 0), (0, 1))
    places, values = mmr(np.array([3.0, 2.0, 1.0]), rows, 0.5, 3)
    # 0.5 * 1; then 0.5 * 0 - 0.5 * 0 beats 0.5 * 0.5 - 0.5 * 1.
    assert places.tolist() == [0, 2, 1]
    assert values.tolist() == [0.5, 0.0, -0.25]


vectors = st.lists(st.tuples(st.floats(-1, 1), st.floats(0.1, 1)), min_size=1, max_size=12).map(
    lambda rows: unit(*rows)
)


@given(vectors, st.integers(1, 12), st.data())
def test_score_alone_keeps_the_order(rows, count, data):
    scores = -np.sort(-np.array([data.draw(st.floats(-1, 20)) for _ in rows]))
    places, _ = mmr(scores, rows, 1.0, count)
    assert places.tolist() == list(range(min(count, len(rows))))


@given(vectors, st.floats(0, 1), st.integers(1, 12))
def test_a_shorter_list_begins_like_a_longer_one(rows, share, count):
    scores = np.linspace(1, 0, len(rows))
    whole, _ = mmr(scores, rows, share, len(rows))
    part, _ = mmr(scores, rows, share, count)
    assert part.tolist() == whole.tolist()[:count]
