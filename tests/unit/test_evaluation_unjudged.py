"""Which passages of a cut labels speak of."""

from rag import Question
from rag.evaluation.unjudged import judged_passages
from rag.types import Evidence

PASSAGES = [(1, "a", 0, 100), (2, "a", 100, 200), (3, "b", 0, 100), (4, "c", 0, 100)]


def test_what_a_label_speaks_of_is_judged():
    labels = (Evidence("a", 0, 95), Evidence("b", 0, 100, grade=0))
    assert judged_passages(Question("q", "?", labels), PASSAGES) == {1, 3}
    whole = (Evidence("a", 0, None, grade=0),)
    assert judged_passages(Question("q", "?", whole), PASSAGES) == {1, 2}
    assert judged_passages(Question("q", "?"), PASSAGES) == set()
    assert judged_passages(Question("q", "?", answerable=False), PASSAGES) == {1, 2, 3, 4}
