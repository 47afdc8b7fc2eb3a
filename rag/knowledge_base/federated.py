"""What other knowledge bases find that are searched beside one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rag.errors import TouchstoneError
from rag.recipe import Recipe
from rag.retrieval import Part


class Searchable(Protocol):
    """What such a search needs of a knowledge base."""

    name: str

    def part(self, question: str, recipe: Recipe, weight: float = 1.0) -> Part:
        """What this base alone finds. Raises TouchstoneError."""
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
        """What its relevance is multiplied by."""
        ...


def federated_parts(question: str, others: Sequence[Federated]) -> tuple[list[Part], list[str]]:
    """What each of the others found, and why some gave nothing: the rest still answers."""
    parts, failures = [], []
    for each in others:
        try:
            parts.append(each.base.part(question, each.recipe, each.weight))
        except TouchstoneError as error:
            failures.append(f"{each.base.name} gave nothing: {error.message}")
    return parts, failures
