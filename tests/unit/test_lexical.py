"""Scores, explanations and spans of the lexical index on passages small enough to check by hand."""

import math

import bm25s
import numpy as np
import pytest

from rag import NotFound
from rag.lexical import LexicalIndex

BM25 = {"k1": 1.2, "b": 0.75}
PASSAGES = {
    11: "The pump TX-4410-B needs a new seal every year.",
    7: "A seal keeps water out of the pump; a worn seal leaks.",
    42: "Invoices are paid within thirty days.",
    3: "Transformers replaced recurrent networks.",
}


@pytest.fixture
def index() -> LexicalIndex:
    return LexicalIndex.empty("english").added(PASSAGES.items())


def test_score_by_hand():
    index = LexicalIndex.empty("simple").added([(1, "cat cat dog"), (2, "dog"), (3, "bird bird")])
    keys, scores = index.search("cat", 10, **BM25)
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    assert keys.tolist() == [1]
    assert scores[0] == pytest.approx(idf * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)), abs=1e-12)


def test_a_repeated_query_term_counts_twice(index):
    once = index.scores("seal", np.array([7]), **BM25)
    assert index.scores("seal seal", np.array([7]), **BM25)[0] == pytest.approx(2 * once[0])


def test_ties_break_by_key():
    index = LexicalIndex.empty("simple").added((key, "same words") for key in (9, 2, 5, 7))
    assert index.search("words", 3, **BM25)[0].tolist() == [2, 5, 7]


@pytest.mark.parametrize("query", ["TX-4410-B", "tx4410b", "4410", "TX‑4410‑B"])
def test_part_numbers_are_found_whole_and_in_parts(index, query):
    assert index.search(query, 5, **BM25)[0].tolist() == [11]


def test_nothing_is_found_without_a_match(index):
    for query, k in (("zebra", 5), ("", 5), ("seal", 0)):
        keys, scores = index.search(query, k, **BM25)
        assert (keys.tolist(), scores.tolist()) == ([], [])
    assert LexicalIndex.empty("english").search("seal", 5, **BM25)[0].tolist() == []


def test_explanation_gives_every_figure(index):
    found = index.explain("seals for the pump of zebras", 7, **BM25)
    assert [(m.term, m.matched, m.kind, m.tf, m.passages) for m in found.matches] == [
        ("seal", "seal", "exact", 2, 2),
        ("pump", "pump", "exact", 1, 2),
    ]
    assert found.unmatched == ("zebra",)
    assert (found.length, found.passages) == (12, 4)
    assert found.average_length == (12 + 12 + 6 + 4) / 4
    assert found.length_factor == pytest.approx(0.25 + 0.75 * 12 / 8.5)
    for match in found.matches:
        assert match.idf == pytest.approx(math.log(1 + 2.5 / 2.5))
        saturation = match.tf / (match.tf + 1.2 * found.length_factor)
        assert match.contribution == pytest.approx(match.idf * saturation, abs=1e-12)
    assert found.score == index.scores("seals for the pump of zebras", np.array([7]), **BM25)[0]


def test_an_unknown_passage_cannot_be_explained(index):
    with pytest.raises(NotFound):
        index.explain("seal", 12345, **BM25)


@pytest.mark.parametrize("misspelt", ["transfromers", "tranformer", "transformmer"])
def test_fuzzy_finds_misspellings(index, misspelt):
    assert index.search(misspelt, 5, **BM25)[0].tolist() == []
    keys, scores = index.search(misspelt, 5, **BM25, fuzzy=True)
    assert keys.tolist() == [3]
    assert 0 < scores[0] < index.scores("transformers", keys, **BM25)[0]
    (match,) = index.explain(misspelt, 3, **BM25, fuzzy=True).matches
    assert (match.matched, match.kind) == ("transform", "fuzzy")
    assert match.weight == pytest.approx(0.6 * (1 - 1 / max(9, len(match.term))), abs=1e-12)


def test_codes_are_never_misspellings(index):
    assert index.search("4411 TX-4411-B", 5, **BM25, fuzzy=True)[0].tolist() == [11]
    assert index.search("4411", 5, **BM25, fuzzy=True)[0].tolist() == []


def test_prefix_finds_longer_words(index):
    assert index.search("invo", 5, **BM25)[0].tolist() == []
    assert index.search("in", 5, **BM25, prefix=True)[0].tolist() == []
    keys, scores = index.search("invo", 5, **BM25, prefix=True)
    assert keys.tolist() == [42]
    (match,) = index.explain("invo", 42, **BM25, prefix=True).matches
    assert (match.matched, match.kind, match.weight) == ("invoic", "prefix", 0.8)
    assert match.contribution == scores[0]


def test_a_rare_variant_is_not_worth_more_than_the_word():
    texts = ["colour", "colour", "colour", "color"]
    index = LexicalIndex.empty("simple").added(enumerate(texts))
    keys, scores = index.search("colour", 10, **BM25, fuzzy=True)
    assert keys.tolist() == [0, 1, 2, 3]
    assert scores[3] < scores[2] == scores[0]


def test_matched_spans_join_what_overlaps(index):
    text = "Seals of TX-4410-B leak"
    spans = index.matched_spans("tx-4410-b seal", text)
    assert [text[start:end] for start, end in spans] == ["Seals", "TX-4410-B"]
    assert index.matched_spans("leka", "It leaks") == []
    assert index.matched_spans("leka", "It leaks", fuzzy=True) == [(3, 8)]


def test_saved_and_loaded(index, tmp_path):
    changed = index.removed(np.array([42]))
    changed.save(tmp_path)
    loaded = LexicalIndex.load(tmp_path)
    assert len(loaded) == 3
    for query in ("worn pump seal", "invoices", "transformers"):
        keys, scores = changed.search(query, 5, **BM25)
        again = loaded.search(query, 5, **BM25)
        assert (again[0].tolist(), again[1].tolist()) == (keys.tolist(), scores.tolist())
    assert loaded.added([(1, "zebra")]).search("zebra", 1, **BM25)[0].tolist() == [1]


def test_an_empty_index_is_saved_and_loaded(tmp_path):
    LexicalIndex.empty("german").save(tmp_path)
    assert LexicalIndex.load(tmp_path).analyzer.name == "german"


@pytest.mark.parametrize("damage", ["missing", "cut", "emptied", "other format"])
def test_a_damaged_folder_is_refused(index, tmp_path, damage):
    index.save(tmp_path)
    rows = tmp_path / "segment-0" / "rows.npy"
    if damage == "missing":
        rows.unlink()
    elif damage == "other format":
        (tmp_path / "lexical.json").write_text('{"format": 0}')
    else:
        rows.write_bytes(rows.read_bytes()[:-3] if damage == "cut" else b"")
    with pytest.raises((OSError, ValueError)):
        LexicalIndex.load(tmp_path)


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4), (2.0, 1.0), (1.5, 0.0)])
def test_same_scores_as_bm25s(k1, b):
    random = np.random.default_rng(5)
    words = np.array([f"w{i}" for i in range(60)])
    texts = [
        " ".join(random.choice(words, size=random.integers(1, 40), p=_zipf(60))) for _ in range(300)
    ]
    index = LexicalIndex.empty("simple").added(enumerate(texts))
    peer = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
    peer.index([index.analyzer.tokens(text) for text in texts], show_progress=False)
    for query in (["w1"], ["w3", "w20", "w59"], ["w5", "w5", "w2"]):
        ours = index.scores(" ".join(query), np.arange(300), k1=k1, b=b)
        np.testing.assert_allclose(ours, peer.get_scores(query), rtol=0, atol=1e-5)


def _zipf(count: int) -> np.ndarray:
    weights = 1 / np.arange(1, count + 1)
    return weights / weights.sum()
