"""Rows of a Qdrant collection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag.errors import InvalidInput
from rag.stores.existing.definition import PAGE, ExistingStore, HttpStore, StoreNotFound, malformed
from rag.stores.existing.rows import RawRow, StoreFieldData, StoreLayout, VectorFieldData, no_such

UNNAMED = "(unnamed)"
"""The name of the vector of a collection that has only one."""
_SIMILARITIES = {"Cosine": "cosine", "Dot": "dot product", "Euclid": "Euclidean distance"}


class QdrantCollection:
    """A ``ReadableStore`` on Qdrant 1.11 or later."""

    def __init__(
        self, store: ExistingStore, variables: Mapping[str, str], *, allow_private: bool
    ) -> None:
        keys = [variables[name] for name in store.variables]
        headers = {"api-key": keys[0]} if keys else {}
        self._http = HttpStore(store, headers, allow_private=allow_private)
        self._path = f"/collections/{self._http.place}"

    def layout(self) -> StoreLayout:
        """Look at the vectors; fields are those that have an index."""
        store = self._http.store
        try:
            result = self._http.get(self._path)["result"]
            params = result["config"]["params"].get("vectors") or {}
            named = {UNNAMED: params} if "size" in params else params
            vectors = tuple(
                VectorFieldData(name, int(one["size"]), _SIMILARITIES.get(one["distance"], ""))
                for name, one in named.items()
                if not one.get("multivector_config")
            )
            schema = result.get("payload_schema") or {}
            fields = tuple(
                StoreFieldData(name, str(one.get("data_type", ""))) for name, one in schema.items()
            )
            body = {"exact": True, **_filter(store)}
            counted = self._http.search(f"{self._path}/points/count", body)
            return StoreLayout(int(counted["result"]["count"]), fields, vectors)
        except StoreNotFound as error:
            raise no_such(store, self._collections()) from error
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise malformed(store) from error

    def sample(self, number: int, vector: str) -> list[RawRow]:
        """Read random points."""
        body = {"query": {"sample": "random"}, "limit": number, **_filter(self._http.store)}
        body |= {"with_payload": True, "with_vector": True}
        try:
            points = self._http.search(f"{self._path}/points/query", body)["result"]["points"]
            return [_row(point, vector) for point in points]
        except (KeyError, TypeError, AttributeError) as error:
            raise malformed(self._http.store) from error

    def rows(self, store: ExistingStore) -> Iterator[RawRow]:
        """Read all points, in the order of their ids."""
        body: dict[str, Any] = {"limit": PAGE, "with_payload": True, **_filter(store)}
        body["with_vector"] = True if store.vector == UNNAMED else [store.vector]
        while True:
            try:
                result = self._http.search(f"{self._path}/points/scroll", body)["result"]
                rows = [_row(point, store.vector) for point in result["points"]]
                after = result.get("next_page_offset")
            except StoreNotFound as error:
                raise no_such(store, []) from error
            except (KeyError, TypeError, AttributeError) as error:
                raise malformed(store) from error
            yield from rows
            if after is None:
                return
            if after == body.get("offset"):
                raise malformed(store)
            body["offset"] = after

    def _collections(self) -> list[str]:
        try:
            listed = self._http.get("/collections")["result"]["collections"]
            return [str(one["name"]) for one in listed]
        except (StoreNotFound, KeyError, TypeError):
            return []


def _filter(store: ExistingStore) -> dict[str, Any]:
    must = [{"key": name, "match": {"value": value}} for name, value in store.only.items()]
    return {"filter": {"must": must}} if must else {}


def _row(point: Mapping[str, Any], vector: str) -> RawRow:
    stored = point.get("vector")
    if isinstance(stored, Mapping):
        stored = stored.get(vector)
    if stored is not None and not isinstance(stored, list):
        raise InvalidInput(
            f"“{vector}” of point {point['id']} is a sparse vector.", "Choose a dense one."
        )
    return RawRow(str(point["id"]), point.get("payload") or {}, stored)
