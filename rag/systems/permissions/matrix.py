"""Access matrices: which user may see which documents and passages, from JSON or CSV."""

from __future__ import annotations

import csv
import fnmatch
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rag.errors import InvalidInput, InvalidRecipe, validation_words
from rag.input_rules import find_fault, why_not_json
from rag.lexical.letters import letters_of
from rag.recipe import Recipe
from rag.recipe.parts import Glob
from rag.retrieval.filters import FILTERS
from rag.spreadsheets import csv_text, unguard_cell
from rag.systems.permissions.rules import LONGEST_RULE, AccessRule
from rag.systems.user_fields import NAME, UserValue, filled

MOST_USERS = 200
MOST_ROWS = 50_000
MOST_CANARIES = 500
LONGEST_MATRIX = 5_000_000
SHORTEST_CANARY = 16
"""Letters by which a passage is recognised in a result."""
_LONGEST_VALUE = 200
_LONGEST_TEXT = 4000
_ANYBODY: Literal["*"] = "*"
_YES = frozenset(("1", "yes", "y", "true", "x", "allow"))
_NO = frozenset(("", "0", "no", "n", "false", "-", "deny"))
_HINT = "See the documentation of permission audits for an example."

Names = list[str] | Literal["*"]
"""Users by name; ``*`` is all of them."""


class Canary(BaseModel):
    """A passage that only some users may see, by its words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(max_length=_LONGEST_TEXT)
    users: Names

    @field_validator("text")
    @classmethod
    def _is_recognisable(cls, text: str) -> str:
        if len(letters_of(text).text) < SHORTEST_CANARY:
            raise ValueError(f"a passage needs at least {SHORTEST_CANARY} letters to be recognised")
        return text


class AccessMatrix(BaseModel):
    """Users, and the documents and passages that they may see.

    ``users`` have fields by name. ``documents`` map a name, or a pattern such as ``hr/*.pdf``, to
    the users who may see it: the name itself decides, else the first pattern that fits, else
    ``rule`` (see ``AccessRule``) on the fields of the document. Its fields are ``name``, ``type``,
    ``day``, ``tags``, a field for each tag like ``department:hr``, and those in ``metadata``.
    ``filters`` are those of a recipe for a user, such as ``{"tags": ["{user.department}"]}``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    users: dict[str, dict[str, UserValue]] = Field(min_length=1, max_length=MOST_USERS)
    documents: dict[Glob, Names] = Field(default_factory=dict, max_length=MOST_ROWS)
    rule: str = Field("", max_length=LONGEST_RULE)
    metadata: dict[Glob, dict[str, UserValue]] = Field(default_factory=dict, max_length=MOST_ROWS)
    canaries: list[Canary] = Field(default_factory=list, max_length=MOST_CANARIES)
    filters: dict[str, str | list[str]] = Field(default_factory=dict)

    @classmethod
    def parse(cls, data: Any) -> AccessMatrix:
        """Raise InvalidInput that names the field."""
        if fault := find_fault(data):
            raise InvalidInput(f"The access matrix: {fault}.", _HINT)
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])[:200] or "as a whole"
            raise InvalidInput(
                f"The access matrix, {where}: {validation_words(first)}.", _HINT
            ) from None

    @classmethod
    def read(cls, text: str) -> AccessMatrix:
        """Read JSON, or CSV with the columns document (or passage) and one of each user.

        Raises InvalidInput.
        """
        if len(text) > LONGEST_MATRIX:
            raise InvalidInput(
                f"An access matrix has at most {LONGEST_MATRIX:,} characters.",
                "Use patterns or a rule instead of a row for each document.",
            )
        text = text.removeprefix("\ufeff")
        if not text.lstrip().startswith("{"):
            return cls.parse(_of_csv(text))
        try:
            return cls.parse(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"The access matrix is not JSON: {why_not_json(error)}.", _HINT
            ) from error

    @model_validator(mode="after")
    def _consistent(self) -> AccessMatrix:
        named = [names for names in self.documents.values() if names != _ANYBODY]
        named += [canary.users for canary in self.canaries if canary.users != _ANYBODY]
        for names in named:
            for name in names:
                if name not in self.users:
                    raise ValueError(f"{name!r} is not one of the users")
        if self.rule:
            rule = AccessRule(self.rule)
            for name, fields in self.users.items():
                rule.check_user(name, fields)
        unknown = sorted(set(self.filters) - set(FILTERS))
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a filter: use {', '.join(FILTERS)}")
        return self

    @field_validator("users", "metadata")
    @classmethod
    def _plain(cls, rows: dict[str, dict[str, UserValue]]) -> dict[str, dict[str, UserValue]]:
        for name, fields in rows.items():
            values = [name, *fields]
            for value in fields.values():
                values += value if isinstance(value, list) else [value]
            for value in values:
                _check_value(value)
        return rows

    def fields_of(self, user: str) -> dict[str, UserValue]:
        """The fields of a user, the name among them."""
        return {NAME: user, **self.users[user]}

    def recipe_of(self, user: str, recipe: Recipe) -> Recipe:
        """The recipe with the filters of a user. Raises InvalidInput."""
        if not self.filters:
            return recipe
        values = filled(self.filters, self.fields_of(user))
        try:
            return recipe.with_fields({f"search.{name}": value for name, value in values.items()})
        except InvalidRecipe as error:
            raise InvalidInput(
                f"The filters of the user {user!r}: {error.message}", error.hint
            ) from error

    def readers(self, documents: Sequence[Mapping[str, Any]]) -> dict[str, frozenset[str]]:
        """The users who may see each document, by its ``id``.

        Raises InvalidInput for documents that no row and no rule covers: they would be hidden from
        all users or from none, and nobody said which. Raises it also for too many patterns.
        """
        everybody = frozenset(self.users)
        rows = Patterns(name for name in self.documents if set(name) & set("*?"))
        metadata = Patterns(self.metadata)
        rule = AccessRule(self.rule) if self.rule else None
        readers, uncovered = dict[str, frozenset[str]](), list[str]()
        for document in documents:
            name = str(document["name"])
            row = name if name in self.documents else rows.first_fit(name)
            if row is not None:
                names = self.documents[row]
                readers[document["id"]] = everybody if names == _ANYBODY else frozenset(names)
            elif rule is not None:
                fields = _fields(document) | self._metadata_of(name, metadata)
                readers[document["id"]] = frozenset(
                    user for user in self.users if rule.allows(fields, self.fields_of(user))
                )
            else:
                uncovered.append(name)
        if uncovered:
            raise InvalidInput(
                f"The access matrix has no row for {len(uncovered):,} of {len(documents):,} "
                f"documents: {', '.join(uncovered[:5])}.",
                "Add a row for each of them, or a last row * for all others.",
            )
        return readers

    def _metadata_of(self, name: str, patterns: Patterns) -> dict[str, UserValue]:
        fit = name if name in self.metadata else patterns.first_fit(name)
        return {} if fit is None else self.metadata[fit]


def _check_value(value: str) -> None:
    if not (0 < len(value) <= _LONGEST_VALUE) or not value.isprintable() or set("{}") & set(value):
        raise ValueError(
            f"{value[:50]!r} is not a name: use 1 to {_LONGEST_VALUE} signs without braces"
        )


def _fields(document: Mapping[str, Any]) -> dict[str, UserValue]:
    """The fields of a document for a rule; a tag like ``department:hr`` is one of them.

    Several tags of one name are a list.
    """
    values = dict[str, list[str]]()
    for tag in document["tags"]:
        name, mark, value = str(tag).partition(":" if ":" in tag else "=")
        if mark and name.strip():
            values.setdefault(name.strip(), []).append(value.strip())
    fields: dict[str, UserValue] = {
        name: several[0] if len(several) == 1 else several for name, several in values.items()
    }
    own = {name: document[name] for name in ("name", "type", "day")}
    return {**fields, **own, "tags": [str(tag) for tag in document["tags"]]}


def _of_csv(text: str) -> dict[str, Any]:
    """The fields of a matrix that is a table. Raises InvalidInput."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise InvalidInput(f"The access matrix is not CSV: {error}.", _HINT) from error
    header = [unguard_cell(cell.strip()) for cell in rows[0]] if rows else []
    names = [cell for cell in header if cell not in ("document", "passage", "")]
    if ("document" not in header and "passage" not in header) or not names:
        raise InvalidInput(
            "The access matrix has no column document or passage, or no column of a user.",
            "Write a header like document,anna,ben.",
        )
    if len(set(names)) < len(names):
        raise InvalidInput("Two columns of the access matrix have one name.", "Rename one of them.")
    documents, canaries = dict[str, list[str]](), list[dict[str, Any]]()
    for line, cells in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        row = dict(zip(header, cells, strict=False))
        users = [name for name in names if _may(row.get(name, ""), line)]
        passage = unguard_cell(row.get("passage", "").strip())
        document = unguard_cell(row.get("document", "").strip())
        if passage:
            canaries.append({"text": passage, "users": users})
        elif document in documents:
            raise InvalidInput(
                f"Line {line} of the access matrix is a second row for {document!r}.",
                "Delete one of the two.",
            )
        elif document:
            documents[document] = users
        else:
            raise InvalidInput(f"Line {line} of the access matrix names no document.", _HINT)
    return {"users": {name: {} for name in names}, "documents": documents, "canaries": canaries}


def _may(cell: str, line: int) -> bool:
    word = cell.strip().casefold()
    if word not in _YES | _NO:
        raise InvalidInput(
            f"Line {line} of the access matrix: {cell.strip()[:50]!r} is neither yes nor no.",
            "Write yes or no.",
        )
    return word in _YES


def matrix_template(documents: Iterable[str]) -> str:
    """A CSV with a row for each document and two users, to be filled in."""
    return csv_text(["document", "anna", "ben"], [[name, "yes", "no"] for name in documents])


MOST_COMPARISONS = 5_000_000
"""Names times the patterns that they are compared with: some seconds."""
_LITERAL = re.compile(r"[^*?]*")


class Patterns:
    """Patterns in their order, without case; brackets are literal.

    A name is compared with those alone that begin as it does.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = list(patterns)
        self._numbers = dict[str, list[int]]()
        for number, pattern in enumerate(self._patterns):
            beginning = _LITERAL.match(pattern.casefold())
            self._numbers.setdefault(beginning[0] if beginning else "", []).append(number)
        self._lengths = sorted({len(beginning) for beginning in self._numbers})
        self._compiled = dict[int, re.Pattern[str]]()
        self._comparisons = 0

    def first_fit(self, name: str) -> str | None:
        """Return the first pattern that fits. Raises InvalidInput after too many comparisons."""
        name = name.casefold()
        best = len(self._patterns)
        for length in self._lengths:
            for number in self._numbers.get(name[:length], ()) if length <= len(name) else ():
                if number >= best:
                    break
                self._comparisons += 1
                if self._of(number).match(name):
                    best = number
        if self._comparisons > MOST_COMPARISONS:
            raise InvalidInput(
                "The access matrix has too many patterns for this many documents.",
                "Begin the patterns with a folder, or use a rule instead of patterns.",
            )
        return self._patterns[best] if best < len(self._patterns) else None

    def _of(self, number: int) -> re.Pattern[str]:
        if number not in self._compiled:
            pattern = self._patterns[number].casefold().replace("[", "[[]")
            self._compiled[number] = re.compile(r"\A" + fnmatch.translate(pattern))
        return self._compiled[number]
