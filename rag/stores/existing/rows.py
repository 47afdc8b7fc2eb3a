"""Rows of existing stores: as a store has them, and as documents need them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

import numpy as np
from pydantic import Field

from rag.errors import InvalidInput, NotFound
from rag.input_rules import storable
from rag.stores.existing.definition import ExistingStore
from rag.types import Vectors

_TEXT_NAMES = ("text", "content", "page_content", "chunk", "passage", "body", "document", "_node")
_TITLE_NAMES = ("title", "name", "file_name", "filename")
_LONGEST_VALUE = 1000
_DEEPEST = 2


@dataclass(frozen=True, slots=True)
class RawRow:
    """A row as a store has it; ``vector`` is None where it has none under the chosen name."""

    id: str
    fields: Mapping[str, Any]
    vector: Sequence[float] | None


@dataclass(frozen=True, slots=True)
class StoreFieldData:
    """A field of a store, with the type that the store gives it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class VectorFieldData:
    """A field with vectors; `dimension` is null where the store does not fix it."""

    name: str
    dimension: int | None
    similarity: Annotated[
        str, Field(description="cosine, dot product, Euclidean distance, or empty")
    ]


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """The number of rows, and the fields."""

    rows: int
    fields: tuple[StoreFieldData, ...]
    vectors: tuple[VectorFieldData, ...]


@dataclass(frozen=True, slots=True)
class StoreRow:
    """A row as a document; ``vector`` has the length that the store gave it."""

    id: str
    text: str
    title: str
    vector: Vectors | None
    metadata: Mapping[str, str] = field(default_factory=dict)


class ReadableStore(Protocol):
    """A store that is read and never written to.

    Methods raise BlockedAddress, InvalidInput for what the store lacks, and ProviderError.
    """

    def layout(self) -> StoreLayout:
        """Look at the fields."""
        ...

    def sample(self, number: int, vector: str) -> list[RawRow]:
        """Read random rows, with all their fields."""
        ...

    def rows(self, store: ExistingStore) -> Iterator[RawRow]:
        """Read all rows with the fields that are named."""
        ...


def chosen(store: ExistingStore, layout: StoreLayout, rows: Iterable[RawRow]) -> ExistingStore:
    """The store with names of all fields: where none is given, that which the rows suggest.

    Raises InvalidInput for a field that no row has, and where nothing can be suggested.
    """
    vectors = {vector.name: vector for vector in layout.vectors}
    if not vectors:
        raise InvalidInput(
            f"The {store.label} has no field with vectors.", "Choose another table or collection."
        )
    vector = store.vector
    if not vector and len(vectors) == 1:
        (vector,) = vectors
    if vector not in vectors:
        missing = f"no vectors named {vector!r}" if vector else "several fields with vectors"
        raise InvalidInput(
            f"The {store.label} has {missing}.", f"Name one of: {', '.join(vectors)}."
        )
    values = [dict(_flat(row.fields)) for row in rows]
    texts = _lengths(values)
    names = list(dict.fromkeys([*(item.name for item in layout.fields), *texts]))
    for name in filter(None, (store.text, store.title, store.id, *store.fields, *store.only)):
        if name not in names and name not in {key for row in values for key in row}:
            raise InvalidInput(
                f"The {store.label} has no field {name!r}.", f"Its fields: {_listed(names)}."
            )
    text = store.text or next((name for name in _TEXT_NAMES if name in texts), "")
    text = text or max(texts, key=lambda name: texts[name], default="")
    if not text:
        raise InvalidInput(
            f"The {store.label} has no field with text.", f"Its fields: {_listed(names)}."
        )
    title = store.title or next(
        (name for name in _TITLE_NAMES if name in texts and name != text), ""
    )
    return store.model_copy(update={"vector": vector, "text": text, "title": title})


def document_row(store: ExistingStore, raw: RawRow) -> StoreRow:
    """A row with the text, title and metadata that a store with all names has in it.

    Raises InvalidInput for a vector that is no list of numbers.
    """
    values = dict(_flat(raw.fields))
    name = _word(values.get(store.id)) if store.id else raw.id
    if not name:
        raise InvalidInput(
            f"A row of the {store.label} has nothing in {store.id!r}, which shall name it.",
            "Choose another field as id.",
        )
    rest = store.fields or [key for key in values if key not in (store.text, store.title)]
    metadata = {key: _word(values.get(key))[:_LONGEST_VALUE] for key in rest}
    return StoreRow(
        id=storable(name),
        text=storable(_word(values.get(store.text))).replace("\r\n", "\n").strip(),
        title=storable(_word(values.get(store.title)) if store.title else ""),
        vector=_numbers(store, name, raw.vector),
        metadata={storable(key): storable(value) for key, value in metadata.items() if value},
    )


def _numbers(store: ExistingStore, row: str, vector: Sequence[float] | None) -> Vectors | None:
    """A vector as float32; None where it is absent or has no direction."""
    if vector is None:
        return None
    try:
        numbers = np.array(vector, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        numbers = np.empty((0, 0), np.float32)
        cause: Exception | None = error
    else:
        cause = None
    if numbers.ndim != 1:
        raise InvalidInput(
            f"The vector of row {row} in the {store.label} is no list of numbers.",
            "Choose another field as vector.",
        ) from cause
    length = np.linalg.norm(numbers.astype(np.float64))
    return numbers if np.isfinite(length) and length > 0 else None


def _flat(fields: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Values by path; what is nested deeper stays as it is."""
    for name, value in fields.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and depth < _DEEPEST:
            yield from _flat(value, f"{path}.", depth + 1)
        else:
            yield path, value


def _lengths(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The number of characters of each field with texts."""
    lengths: dict[str, int] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str) and value.strip():
                lengths[name] = lengths.get(name, 0) + len(value)
    return lengths


def _word(value: Any) -> str:
    """A value as text: lists and mappings as JSON."""
    if value is None:
        return ""
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:30]) + (", …" if len(names) > 30 else "") or "none"


def no_such(store: ExistingStore, others: Sequence[str]) -> NotFound:
    """The error for a table, collection or index that is not there."""
    hint = f"There are: {_listed(others)}." if others else "Check its name and the address."
    return NotFound(f"There is no {store.label}.", hint)
