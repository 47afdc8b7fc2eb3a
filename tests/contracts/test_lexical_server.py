"""What searches ask of words, of the index in this process and of a server of words alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag.errors import NotFound
from rag.lexical import Bm25Options, Correction, LexicalIndex
from rag.stores import RemoteLexicalIndex
from tests.lexical_server import WordsInMemory

BM25: Bm25Options = {"k1": 1.2, "b": 0.75, "fuzzy": False, "prefix": False}
VARIANTS = {"fuzzy": True, "prefix": True}
THREE = [(1, "cat cat dog"), (2, "dog"), (3, "bird bird")]
New = Callable[[str], LexicalIndex | RemoteLexicalIndex]
"""Makes an empty index with an analyzer."""


@pytest.fixture(params=["index", "server"])
def new(request: pytest.FixtureRequest) -> New:
    if request.param == "index":
        return LexicalIndex.empty
    server = WordsInMemory()
    return lambda name: RemoteLexicalIndex.empty(server, f"{name}/", name)


def bm25(tf: int, length: int, holders: int) -> float:
    """The score of one term among the three passages, whose average length is 2."""
    idf = math.log(1 + (3 - holders + 0.5) / (holders + 0.5))
    return idf * tf / (tf + 1.2 * (0.25 + 0.75 * length / 2))


def test_scores_are_bm25_by_hand(new: New) -> None:
    words = new("simple").added(THREE)
    found, scores = words.search("cat dog", 5, **BM25)
    assert found.tolist() == [1, 2]
    both = bm25(2, 3, 1) + bm25(1, 3, 2)
    assert scores == pytest.approx([both, bm25(1, 1, 2)], abs=1e-12)
    assert words.search("cat dog", 1, **BM25)[0].tolist() == [1]
    every = words.scores("cat dog", np.array([3, 2, 1, 9]), **BM25)
    assert every == pytest.approx([0, bm25(1, 1, 2), both, 0], abs=1e-12)
    weighed = words.search({"dog": 2.0}, 1, **BM25)
    assert weighed[0].tolist() == [2]
    assert weighed[1] == pytest.approx([2 * bm25(1, 1, 2)], abs=1e-12)


def test_a_score_is_explained_term_by_term(new: New) -> None:
    words = new("simple").added(THREE)
    found = words.explain("cat dog fish", 1, **BM25)
    parts = [(each.term, each.tf, each.passages, each.contribution) for each in found.matches]
    assert parts == [
        ("cat", 2, 1, pytest.approx(bm25(2, 3, 1), abs=1e-12)),
        ("dog", 1, 2, pytest.approx(bm25(1, 3, 2), abs=1e-12)),
    ]
    assert (found.unmatched, found.passages, found.average_length) == (("fish",), 3, 2.0)
    assert found.score == words.scores("cat dog fish", np.array([1]), **BM25)[0]
    for missing in (new("simple"), words.removed(np.array([1]))):
        with pytest.raises(NotFound):
            missing.explain("cat", 1, **BM25)


def test_frequencies_count_passages(new: New) -> None:
    words = new("simple").added([*THREE, (4, "catalogue")])
    plain = {"fuzzy": False, "prefix": False}
    assert words.frequencies("cat dog fish", **plain) == {"cat": 1, "dog": 2}
    assert words.frequencies("cat", fuzzy=False, prefix=True) == {"cat": 1, "catalogue": 1}
    assert words.matched_spans("cat", "a cat catalogue", **plain) == [(2, 5)]
    assert words.matched_spans("cat", "a cat catalogue", **VARIANTS) == [(2, 5), (6, 15)]


def test_options_change_what_is_found(new: New) -> None:
    words = new("english").added([(1, "The seal leaks"), (2, "sealing rings")])
    assert words.search("laeks", 5, **BM25)[0].tolist() == []
    assert words.search("laeks", 5, k1=1.2, b=0.75, fuzzy=True, prefix=False)[0].tolist() == [1]
    shallow = words.scores("leaks", np.array([1]), k1=0.0, b=0.0, fuzzy=False, prefix=False)
    assert shallow == pytest.approx([math.log(1 + 1.5 / 1.5)], abs=1e-12)
    (meant,) = words.corrections("A seal lecks")
    assert meant == Correction(start=7, end=12, term="leak", passages=1, key=1)


def test_ties_filters_deletes_and_replaced_texts(new: New) -> None:
    words = new("simple").added([(key, "same words") for key in (9, 2, 5, 7)])
    assert words.search("words", 3, **BM25)[0].tolist() == [2, 5, 7]
    allowed = np.array([7, 9, 99])
    assert words.search("words", 3, allowed=allowed, **BM25)[0].tolist() == [7, 9]
    fewer = words.removed(np.array([2, 99]))
    assert fewer.search("words", 2, **BM25)[0].tolist() == [5, 7]
    assert fewer.scores("words", np.array([2]), **BM25).tolist() == [0.0]
    other = fewer.added([(5, "other text")])
    assert other.search("words", 5, **BM25)[0].tolist() == [7, 9]
    assert other.search("other", 5, **BM25)[0].tolist() == [5]


def test_an_index_without_passages_finds_nothing(new: New) -> None:
    words = new("english")
    assert words.search("seal", 5, **BM25)[0].tolist() == []
    assert words.scores("seal", np.array([1]), **BM25).tolist() == [0.0]
    assert words.added([]).corrections("seal") == []


def test_builds_are_kept_apart() -> None:
    server = WordsInMemory()
    one = RemoteLexicalIndex.empty(server, "1/a/", "simple").added(THREE)
    two = RemoteLexicalIndex.empty(server, "1/b/", "simple").added([(1, "cat")])
    assert one.explain("cat", 1, **BM25).passages == 3
    assert two.explain("cat", 1, **BM25).passages == 1
    server.drop("1/a")
    assert [server.keys(build).tolist() for build in ("1/a/", "1/b/")] == [[], [1]]


def test_what_is_removed_counts_until_nobody_reads_it() -> None:
    server = WordsInMemory()
    before = RemoteLexicalIndex.empty(server, "b", "simple").added(THREE)
    after = before.removed(np.array([1]))
    after.snapshot.tidy()
    assert before.search("cat", 1, **BM25)[0].tolist() == [1]
    assert after.search("dog", 1, **BM25)[0].tolist() == [2]
    assert after.frequencies("dog", fuzzy=False, prefix=False) == {"dog": 2}
    del before
    after.snapshot.tidy()
    assert after.frequencies("dog", fuzzy=False, prefix=False) == {"dog": 1}
    assert sorted(server.keys("b").tolist()) == [2, 3]


def test_a_build_is_taken_up_where_it_was_left(tmp_path: Path) -> None:
    server = WordsInMemory()
    RemoteLexicalIndex.empty(server, "b", "simple").added(THREE).save(tmp_path)
    again = RemoteLexicalIndex.load(server, "b", "simple", tmp_path)
    assert again.search("bird", 1, **BM25)[0].tolist() == [3]
    server.delete("b", np.array([3]))
    with pytest.raises(ValueError, match="lost"):
        RemoteLexicalIndex.load(server, "b", "simple", tmp_path)
