"""Rows of an index of Elasticsearch or OpenSearch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag.stores.existing.definition import PAGE, ExistingStore, HttpStore, StoreNotFound, malformed
from rag.stores.existing.rows import RawRow, StoreFieldData, StoreLayout, VectorFieldData, no_such

Json = dict[str, Any]

_KEEP = "2m"  # a scroll that nobody reads on ends after this
_SIMILARITIES = {
    "cosine": "cosine",
    "cosinesimil": "cosine",
    "dot_product": "dot product",
    "max_inner_product": "dot product",
    "innerproduct": "dot product",
    "l2_norm": "Euclidean distance",
    "l2": "Euclidean distance",
}


class SearchIndex:
    """A ``ReadableStore`` on Elasticsearch 8 or OpenSearch 2, or later.

    Vectors are taken from the source of a document, or from the fields of the hit: newer versions
    of Elasticsearch leave them out of the source.
    """

    def __init__(
        self, store: ExistingStore, variables: Mapping[str, str], *, allow_private: bool
    ) -> None:
        keys = [f"{store.scheme or 'ApiKey'} {variables[name]}" for name in store.variables]
        headers = {"Authorization": keys[0]} if keys else {}
        self._http = HttpStore(store, headers, allow_private=allow_private)
        self._path = f"/{self._http.place}"

    def layout(self) -> StoreLayout:
        """Look at the mapping."""
        store = self._http.store
        try:
            mappings = self._http.get(f"{self._path}/_mapping")
            rows = self._http.search(f"{self._path}/_count", {"query": _where(store)})["count"]
            fields: dict[str, Json] = {}
            for one in mappings.values():
                fields |= _flat(one["mappings"].get("properties") or {})
            vectors = tuple(
                _vector(name, one)
                for name, one in fields.items()
                if one.get("type") in ("dense_vector", "knn_vector")
            )
            named = {vector.name for vector in vectors}
            others = tuple(
                StoreFieldData(name, str(one.get("type", "")))
                for name, one in fields.items()
                if name not in named
            )
            return StoreLayout(int(rows), others, vectors)
        except StoreNotFound as error:
            raise no_such(store, []) from error
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise malformed(store) from error

    def sample(self, number: int, vector: str) -> list[RawRow]:
        """Read random documents."""
        query = {"function_score": {"query": _where(self._http.store), "random_score": {}}}
        body = {"query": query, "size": number, "fields": [vector]}
        return self._rows(self._search(f"{self._path}/_search", body), vector)

    def rows(self, store: ExistingStore) -> Iterator[RawRow]:
        """Read all documents as they are when the reading begins."""
        body = {
            "query": _where(store),
            "size": PAGE,
            "fields": [store.vector],
            "sort": ["_doc"],
        }
        answer = self._search(f"{self._path}/_search?scroll={_KEEP}", body)
        while rows := self._rows(answer, store.vector):
            yield from rows
            after = {"scroll": _KEEP, "scroll_id": answer.get("_scroll_id")}
            answer = self._search("/_search/scroll", after)

    def _search(self, path: str, body: Json) -> Json:
        store = self._http.store
        try:
            answer = self._http.search(path, body)
        except StoreNotFound as error:
            raise no_such(store, []) from error
        if not isinstance(answer, dict) or (answer.get("_shards") or {}).get("failed"):
            raise malformed(store)
        return answer

    def _rows(self, answer: Json, vector: str) -> list[RawRow]:
        try:
            return [_row(hit, vector) for hit in answer["hits"]["hits"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise malformed(self._http.store) from error


def _where(store: ExistingStore) -> Json:
    terms = [{"term": {name: value}} for name, value in store.only.items()]
    return {"bool": {"filter": terms}} if terms else {"match_all": {}}


def _flat(properties: Mapping[str, Any], prefix: str = "") -> dict[str, Json]:
    """The fields of a mapping by path."""
    fields: dict[str, Json] = {}
    for name, one in properties.items():
        if "properties" in one:
            fields |= _flat(one["properties"], f"{prefix}{name}.")
        else:
            fields[f"{prefix}{name}"] = one
    return fields


def _vector(name: str, mapping: Json) -> VectorFieldData:
    size = mapping.get("dims", mapping.get("dimension"))
    method = mapping.get("method") or {}
    similarity = mapping.get("similarity", method.get("space_type", mapping.get("space_type")))
    return VectorFieldData(
        name, None if size is None else int(size), _SIMILARITIES.get(str(similarity), "")
    )


def _row(hit: Json, vector: str) -> RawRow:
    source = dict(hit.get("_source") or {})
    stored: Any = source
    for part in vector.split("."):
        stored = stored.get(part) if isinstance(stored, Mapping) else None
    if stored is None:
        stored = (hit.get("fields") or {}).get(vector)
    source.pop(vector, None)
    return RawRow(str(hit["_id"]), source, stored)
