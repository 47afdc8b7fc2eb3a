"""Which passages a search may look at, by what is known of them and of their documents.

A filter that is set must fit; of several values one is enough.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from rag.recipe import SearchRecipe

OF_DOCUMENTS = ("documents", "types", "tags", "after", "before")
"""Fields of a recipe that choose documents; the others choose passages in them."""
_OF_PASSAGES = ("pages", "heading")
_FILTERS = (*OF_DOCUMENTS, *_OF_PASSAGES)


class Traits(Protocol):
    """What a document can be chosen by; ``day`` is an ISO date."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def media_type(self) -> str: ...
    @property
    def tags(self) -> tuple[str, ...]: ...
    @property
    def day(self) -> str: ...


def is_filtered(recipe: SearchRecipe) -> bool:
    """Whether a recipe leaves anything out."""
    return any(getattr(recipe, name) for name in _FILTERS)


def looks_at_passages(recipe: SearchRecipe) -> bool:
    """Whether passages of one document may fare differently."""
    return any(getattr(recipe, name) for name in _OF_PASSAGES)


def described(recipe: SearchRecipe) -> str:
    """The filters in words, for people."""
    shown = ((name, getattr(recipe, name)) for name in _FILTERS if getattr(recipe, name))
    return "; ".join(
        f"{name} {value if isinstance(value, str) else ', '.join(value)}" for name, value in shown
    )


def fitting_documents(documents: Iterable[Traits], recipe: SearchRecipe) -> set[str]:
    """Ids of the documents that fit; names, types and tags are compared without case."""
    return {each.id for each in documents if _fits(each, recipe)}


def fits_passage(page: int | None, heading: str, recipe: SearchRecipe) -> bool:
    """Whether a passage fits that begins on ``page`` under ``heading``.

    Text without pages is on no page.
    """
    if recipe.heading and recipe.heading.casefold() not in heading.casefold():
        return False
    return not recipe.pages or (
        page is not None and any(first <= page <= last for first, last in _ranges(recipe.pages))
    )


def _fits(document: Traits, recipe: SearchRecipe) -> bool:
    tags = {tag.casefold() for tag in document.tags}
    return (
        (not recipe.documents or any(_is_named(document.name, one) for one in recipe.documents))
        and (not recipe.types or any(_is_of_type(document, one) for one in recipe.types))
        and (not recipe.tags or any(one.casefold() in tags for one in recipe.tags))
        and (not recipe.after or document.day >= recipe.after)
        and (not recipe.before or document.day <= recipe.before)
    )


def _is_named(name: str, pattern: str) -> bool:
    """The whole name, or its last part, is the pattern, in which * and ? stand for any."""
    name, pattern = name.casefold(), pattern.casefold()
    glob = pattern.replace("[", "[[]")  # brackets are part of many a name
    names = (name, name.rpartition("/")[2])
    return pattern in names or any(fnmatch.fnmatchcase(each, glob) for each in names)


def _is_of_type(document: Traits, kind: str) -> bool:
    kind = kind.casefold()
    suffix = "." + kind.lstrip(".")
    return kind == document.media_type.casefold() or document.name.casefold().endswith(suffix)


def _ranges(pages: str) -> Iterator[tuple[int, int]]:
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", pages):
        yield int(first), int(last or first)
