"""Which passages a labelled span makes relevant."""

import pytest

from rag import Question, judged_by_document
from rag.evaluation.relevance import judged_passages, relevant_chunks
from rag.types import Evidence

TENS = [(n, "d", 10 * n, 10 * n + 10) for n in range(10)]


def _span(start: int, end: int | None, grade: int = 1, document: str = "d") -> Evidence:
    return Evidence(document, start, end, grade)


@pytest.mark.parametrize(
    ("start", "end", "keys"),
    [
        (10, 20, {1}),
        (12, 15, {1}),  # inside one passage
        (0, 100, set(range(10))),  # every passage in the middle of a long span
        (15, 45, {1, 2, 3, 4}),  # half of the first and of the last
        (16, 44, {2, 3}),  # less than half of the first and of the last
        (19, 40, {2, 3}),  # one shared character is not enough
        (18, 22, {1, 2}),  # half of the span in each
        (17, 21, {1}),  # three quarters of the span, and one quarter
        (100, 120, set()),  # touches the end only
        (50, 50, set()),
    ],
)
def test_half_of_the_shorter_must_be_shared(start, end, keys):
    assert relevant_chunks([_span(start, end)], TENS) == dict.fromkeys(keys, 1)


def test_a_span_that_no_passage_satisfies_goes_to_the_one_that_shares_most():
    chunks = [(1, "d", 0, 12), (2, "d", 14, 23), (3, "d", 26, 40)]
    assert relevant_chunks([_span(9, 30)], chunks) == {2: 1}
    apart = [(1, "d", 0, 13), (2, "d", 27, 40)]
    assert relevant_chunks([_span(10, 30)], apart) == {1: 1}  # three each: the first
    assert relevant_chunks([_span(11, 31)], apart) == {2: 1}
    assert relevant_chunks([_span(14, 26)], apart) == {}


def test_the_highest_grade_counts():
    evidence = [_span(10, 20), _span(15, 25, 3), _span(10, 13, 2), _span(40, 50, 0)]
    assert relevant_chunks(evidence, TENS) == {1: 3, 2: 3}


def test_overlapping_passages_may_both_answer():
    chunks = [(1, "d", 0, 20), (2, "d", 10, 30), (3, "e", 10, 30)]
    assert relevant_chunks([_span(12, 18)], chunks) == {1: 1, 2: 1}


def test_other_documents_are_left_alone():
    assert relevant_chunks([_span(10, 20, document="e")], TENS) == {}
    assert relevant_chunks([], TENS) == {}
    assert relevant_chunks([_span(10, 20)], []) == {}


def test_labels_of_whole_documents_are_judged_by_document():
    assert judged_by_document(Question("q", "?", (_span(0, None),)))
    assert judged_by_document(Question("q", "?", (_span(0, 5), _span(0, None))))
    assert not judged_by_document(Question("q", "?", (_span(0, 5),)))
    assert not judged_by_document(Question("q", "?", answerable=False))
    assert relevant_chunks([_span(0, None)], TENS) == {}


PASSAGES = [(1, "a", 0, 100), (2, "a", 100, 200), (3, "b", 0, 100), (4, "c", 0, 100)]


def test_what_a_label_speaks_of_is_judged():
    labels = (Evidence("a", 0, 95), Evidence("b", 0, 100, grade=0))
    assert judged_passages(Question("q", "?", labels), PASSAGES) == {1, 3}
    whole = (Evidence("a", 0, None, grade=0),)
    assert judged_passages(Question("q", "?", whole), PASSAGES) == {1, 2}
    assert judged_passages(Question("q", "?"), PASSAGES) == set()
    assert judged_passages(Question("q", "?", answerable=False), PASSAGES) == {1, 2, 3, 4}
