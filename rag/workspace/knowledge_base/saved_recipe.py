"""The outcome of saving the recipe of a knowledge base."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SavedRecipe:
    """The outcome of saving a recipe.

    ``saved`` is False if another recipe was saved meanwhile. ``job`` builds what the index lacks.
    """

    saved: bool
    job: int | None = None
