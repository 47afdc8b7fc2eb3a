"""Recipes and runs are called what is particular about them, or what people call them."""

import pytest

from rag import InvalidInput, Recipe
from rag.runs.recipe_names import described
from tests.runs import VECTORS, WORDS


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "hybrid, top 5, minilm"),
        ({"search.top_k": 8, "index.embedder": "wordllama"}, "hybrid, top 8, wordllama"),
        (
            {"index.chunker": "sentence", "index.chunk_size": 400},
            "hybrid, top 5, minilm, sentence 400",
        ),
        ({"index.chunk_size": 160}, "hybrid, top 5, minilm, sections 160"),
        ({"index.chunker": "whole"}, "hybrid, top 5, minilm, whole"),
        (
            {"search.threshold": None, "search.fuzzy": True},
            "hybrid, top 5, minilm, no threshold, fuzzy",
        ),
        ({"search.tags": ["contract", "law"]}, "hybrid, top 5, minilm, tags contract, law"),
    ],
)
def test_a_name_says_what_is_particular(changes, name):
    assert described(Recipe().with_fields(changes)) == name


def test_a_long_list_of_changes_is_counted():
    many = {"search.k1": 1.5, "search.b": 0.5, "search.mmr": 0.7, "search.hyde": True}
    changed = Recipe().with_fields({**many, "search.mode": "lexical"})
    assert described(changed) == "lexical, top 5, minilm, k1 1.5, b 0.5, hyde, 1 more"


def test_a_recipe_is_renamed_and_its_name_taken_away(base):
    base.runs.name_recipe(WORDS, "  Words   alone ")
    assert base.runs.recipe_name(WORDS) == "Words alone"
    assert base.runs.recipe_name(VECTORS) == described(VECTORS)
    base.runs.name_recipe(WORDS, "")
    assert base.runs.recipe_name(WORDS) == described(WORDS)
    for name in ("x" * 81, "a\x00b"):
        with pytest.raises(InvalidInput, match="at most 80 printable"):
            base.runs.name_recipe(WORDS, name)
