"""Queries of lexical search and their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

Query = str | Mapping[str, float]
"""A question as text, or index terms by how much each counts (1 is once in a question)."""


class Variants(TypedDict):
    """Options for index terms that match a query term besides the term itself."""

    fuzzy: bool
    prefix: bool


class Bm25Options(Variants):
    """The parameters of a BM25 score besides the words."""

    k1: float
    b: float
