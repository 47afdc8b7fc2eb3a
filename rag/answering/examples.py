"""Selection of the past interactions that fit into a prompt together with the passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from rag.recipe import AnswerRecipe
from rag.types import Example

SHARE = 8
"""Examples may fill one part of so many of the budget; the passages have the rest."""


def most_for_examples(budget_tokens: int) -> int:
    """Tokens that examples may fill."""
    return budget_tokens // SHARE


def passage_budget(recipe: AnswerRecipe) -> int:
    """Tokens that are left for passages: quotes need no model, and a model may need no examples."""
    if not recipe.memory or recipe.provider == "extractive":
        return recipe.context_tokens
    return recipe.context_tokens - most_for_examples(recipe.context_tokens)


def fit_examples(
    examples: Sequence[Example], budget_tokens: int, count: Callable[[str], int]
) -> tuple[Example, ...]:
    """Whole examples, best first, until their share of the budget is spent.

    The first that does not fit ends the list: a cut answer would be an example of a cut answer.
    """
    left = most_for_examples(budget_tokens)

    def fits(example: Example) -> bool:
        nonlocal left
        left -= count(f"{example.question}\n{example.answer}")
        return left >= 0

    return tuple(takewhile(fits, examples))
