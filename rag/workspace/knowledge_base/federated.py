"""Knowledge bases in a list and in a federated search, and the outcome of saving a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rag.errors import TouchstoneError
from rag.recipe import Recipe
from rag.retrieval import Part


class Searchable(Protocol):
    """The interface of a knowledge base for federated search."""

    name: str

    def part(self, question: str, recipe: Recipe, weight: float = 1.0) -> Part:
        """Return the results of this base alone. Raises TouchstoneError."""
        ...


class Federated(Protocol):
    """A knowledge base, how it is searched, and what its relevance is multiplied by."""

    @property
    def base(self) -> Searchable:
        """The knowledge base."""
        ...

    @property
    def recipe(self) -> Recipe:
        """The recipe that it is searched by."""
        ...

    @property
    def weight(self) -> float:
        """The factor of its relevance."""
        ...


def federated_parts(question: str, others: Sequence[Federated]) -> tuple[list[Part], list[str]]:
    """Return the results of the other bases, and the reasons of those that failed.

    A failure does not stop the other bases.
    """
    parts, failures = [], []
    for further in others:
        try:
            parts.append(further.base.part(question, further.recipe, further.weight))
        except TouchstoneError as error:
            failures.append(f"{further.base.name} returned nothing: {error.message}")
    return parts, failures


@dataclass(frozen=True, slots=True)
class SavedRecipe:
    """The outcome of saving a recipe.

    ``saved`` is False if another recipe was saved meanwhile. ``job`` builds what the index lacks.
    """

    saved: bool
    job: int | None = None


@dataclass(frozen=True, slots=True)
class BaseInfo:
    """A knowledge base as a picker shows it."""

    id: int
    name: str
    documents: int
    passages: int
    created: datetime


@dataclass(frozen=True, slots=True)
class BaseOverview(BaseInfo):
    """The same with its accepted questions, and when it was evaluated last."""

    questions: int
    last_run: datetime | None
