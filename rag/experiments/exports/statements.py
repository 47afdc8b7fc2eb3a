"""Statements of an export: requests, SQL or files, with placeholders for what a call brings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag.experiments.exports.fidelity import Rule
from rag.recipe import SearchRecipe


@dataclass(frozen=True, slots=True)
class Statement:
    """One call of an engine, or a file for it.

    ``request`` has the method and path, "" for SQL and files. ``content`` is a JSON body,
    SQL or a file. In JSON, the strings ``{{vector}}``, ``{{text}}`` and ``{{id}}`` are
    placeholders, which a list, a text and an id replace; in SQL they are ``%(vector)s``,
    ``%(text)s`` and ``%(id)s``.
    """

    purpose: str
    request: str
    content: str


@dataclass(frozen=True, slots=True)
class EngineExport:
    """The statements for an engine, and the fidelity of the fields that they contain."""

    statements: tuple[Statement, ...]
    rules: Mapping[str, Rule]


VECTOR, TEXT, ID = "{{vector}}", "{{text}}", "{{id}}"


def request(purpose: str, method_and_path: str, body: Mapping[str, Any]) -> Statement:
    """Return a request with a JSON body."""
    return Statement(purpose, method_and_path, json.dumps(body, indent=2))


def fusion_weights(search: SearchRecipe) -> tuple[float, float]:
    """Return the weights of cosine and BM25, without the digits that a subtraction adds."""
    return search.dense_weight, round(1 - search.dense_weight, 12)
