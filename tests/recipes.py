"""Recipes with everything off, as those were that the first version stored."""

from typing import Any

from rag import SearchRecipe


def plain_search(**fields: Any) -> SearchRecipe:
    """A search recipe with fields of its own, and everything off besides."""
    return SearchRecipe.model_validate({**SearchRecipe.plain(), **fields})
