"""The Usage page: failed answers to review, operation metrics, and past interactions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pages.components.recipe import working_recipe
from pages.components.runs.next_step import page_title
from pages.components.shell.buttons import tabs
from pages.components.shell.guard import guard
from pages.components.shell.session import chosen_base, refusal
from pages.components.usage.memory import memory
from pages.components.usage.operations import operations
from pages.components.usage.review import review

TAB = "usage"  # the URL's parameter


def main() -> None:
    """The page."""
    base = chosen_base()
    page_title("Usage", "usage")
    views: dict[str, Callable[[], None]] = {}
    if not refusal(base, "conversations.waiting_reviews"):
        views["Review"] = partial(review, base)
    views["Operations"] = partial(operations, base)
    if working_recipe.working(base).answer.provider != "extractive":  # else nothing uses it
        views["Memory"] = partial(memory, base)
    tabs(views, TAB)


with guard():
    main()
