"""Captions of recipe fields, in the panel and in sentences."""

from rag import CAPTIONS, Recipe, phrase


def test_every_field_has_a_caption():
    assert set(CAPTIONS) == set(Recipe().fields())


def test_a_caption_stands_within_a_sentence():
    assert phrase("search.dense_weight") == "dense weight"
    assert phrase("search.top_k") == "top-k"
    assert [phrase("search.k1"), phrase("search.b")] == ["BM25 k1", "BM25 b"]
    assert phrase("search.tools") == "HTTP tools"
