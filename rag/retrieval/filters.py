"""Filters on the passages of a search, by properties of the passages and their documents.

A passage must match every filter that is set. If a filter has several values, one match is enough.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Set
from functools import lru_cache
from typing import Protocol

from rag.input_rules import composed
from rag.recipe import SearchRecipe
from rag.recipe.parts import page_ranges

OF_DOCUMENTS = ("documents", "types", "tags", "after", "before")
"""Fields of a recipe that choose documents; the others choose passages in them."""
_OF_PASSAGES = ("pages", "heading")
FILTERS = (*OF_DOCUMENTS, *_OF_PASSAGES)
"""Fields of a recipe that leave passages out."""
_WILD = frozenset("*?")


class Traits(Protocol):
    """The properties by which documents are filtered; ``day`` is an ISO date."""

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
    return any(getattr(recipe, name) for name in FILTERS)


def looks_at_passages(recipe: SearchRecipe) -> bool:
    """Whether passages of one document may fare differently."""
    return any(getattr(recipe, name) for name in _OF_PASSAGES)


def describe_filters(recipe: SearchRecipe) -> str:
    """The filters in words, for people."""
    set_filters = ((name, getattr(recipe, name)) for name in FILTERS if getattr(recipe, name))
    return "; ".join(
        f"{name} {value if isinstance(value, str) else ', '.join(value)}"
        for name, value in set_filters
    )


def fitting_documents(documents: Iterable[Traits], recipe: SearchRecipe) -> set[str]:
    """Ids of the documents that fit; names, types and tags are compared without case."""
    names, types, tags = map(_folded, (recipe.documents, recipe.types, recipe.tags))
    globs = _any_of([name for name in names if not _WILD.isdisjoint(name)])
    return {
        document.id
        for document in documents
        if (not names or _is_named(_fold(document.name), names, globs))
        and (not types or _is_of_type(document, types))
        and (not tags or not tags.isdisjoint(map(_fold, document.tags)))
        and (not recipe.after or document.day >= recipe.after)
        and (not recipe.before or document.day <= recipe.before)
    }


def filter_digest(recipe: SearchRecipe, documents: Callable[[], Iterable[Traits]]) -> str:
    """Names, in twelve hex digits, the documents that pass a recipe's filters; the same everywhere.

    "" for a recipe that looks at neither tags nor dates: all else that filters look at is in the
    documents themselves, which are not read then. A tag is no change of a document, so a cache of
    what a recipe found compares this too.
    """
    if not (recipe.tags or recipe.after or recipe.before):
        return ""
    chosen = fitting_documents(documents(), recipe)
    return hashlib.sha256("\n".join(sorted(chosen)).encode()).hexdigest()[:12]


def fits_passage(page: int | None, heading: str, recipe: SearchRecipe) -> bool:
    """Whether a passage fits that begins on ``page`` under ``heading``.

    Text without pages is on no page.
    """
    if recipe.heading and recipe.heading.casefold() not in heading.casefold():
        return False
    return not recipe.pages or (page is not None and _on_page(page, recipe.pages))


def _folded(values: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_fold, values))


def _fold(name: str) -> str:
    return composed(name).casefold()


def _any_of(globs: Collection[str]) -> re.Pattern[str] | None:
    """Return a pattern that matches any of some glob patterns; None for no patterns.

    Brackets are literal because they are part of many names.
    """
    parts = (fnmatch.translate(glob.replace("[", "[[]")) for glob in sorted(globs))
    return re.compile(rf"\A(?:{'|'.join(parts)})") if globs else None


def _is_named(name: str, exact_names: Set[str], globs: re.Pattern[str] | None) -> bool:
    """Whether the whole name, or its last part, is one of those wanted or fits a pattern."""
    names = (name, name.rpartition("/")[2])
    return any(
        candidate in exact_names or (globs is not None and globs.match(candidate))
        for candidate in names
    )


def _is_of_type(document: Traits, kinds: Set[str]) -> bool:
    name = document.name.casefold()
    suffixes = tuple("." + kind.lstrip(".") for kind in kinds)
    return document.media_type.casefold() in kinds or name.endswith(suffixes)


@lru_cache(maxsize=4096)  # many passages stand on one page
def _on_page(page: int, pages: str) -> bool:
    return any(first <= page <= last for first, last in page_ranges(pages))
