"""Recipes, runs and knowledge bases are called what is particular about them, or as people say."""

import pytest

from rag import InvalidInput, InvalidRecipe, Recipe
from tests.runs import VECTORS, WORDS
from tests.workspaces import QUICK, workspace_at


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
        (
            {
                "search.k1": 1.5,
                "search.b": 0.5,
                "search.mmr": 0.7,
                "search.hyde": True,
                "search.mode": "lexical",
            },
            "lexical, top 5, minilm, k1 1.5, b 0.5, hyde, 1 more",
        ),
    ],
)
def test_a_name_says_what_is_particular(base, changes, name):
    assert base.runs.recipe_name(Recipe().with_fields(changes)) == name


def test_a_recipe_is_renamed_and_its_name_taken_away(base):
    unnamed = base.runs.recipe_name(WORDS)
    base.runs.name_recipe(WORDS, "  Words   alone ")
    assert base.runs.recipe_name(WORDS) == "Words alone"
    assert base.runs.recipe_name(VECTORS) not in ("Words alone", unnamed)
    base.runs.name_recipe(WORDS, "")
    assert base.runs.recipe_name(WORDS) == unnamed
    for name in ("x" * 81, "a\x00b"):
        with pytest.raises(InvalidInput, match="at most 80 printable"):
            base.runs.name_recipe(WORDS, name)


@pytest.mark.parametrize("field", ["embedder", "analyzer"])
def test_a_recipe_that_cannot_work_is_not_saved(home, field):
    base = workspace_at(home).create("notes", QUICK)
    with pytest.raises(InvalidRecipe, match="nonsense"):
        base.recipes.save(QUICK.with_fields({f"index.{field}": "nonsense"}))
    assert base.recipe() == QUICK
