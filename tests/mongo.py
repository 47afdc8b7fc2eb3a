"""A stand-in for a database of MongoDB Atlas: the operations that the product uses, as documented.

No server with ``$vectorSearch`` can be had here. Commands and replies go through BSON, so that
what is written is what a server would have read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import bson
import numpy as np
from pymongo.errors import CollectionInvalid

Json = dict[str, Any]


class Rows:
    """One collection. Its search index has what was written ``lag`` looks ago."""

    def __init__(self, name: str, lag: int) -> None:
        self.name = name
        self.pipelines: list[list[Json]] = []
        self.rows: dict[str, bytes] = {}
        self._definition: Json = {}
        self._lag, self._looks = lag, 0

    def bulk_write(self, operations: list[Any], *, ordered: bool) -> None:
        assert not ordered
        self._looks = self._lag
        for operation in operations:
            assert operation._upsert
            row = {**operation._doc, **operation._filter}
            self.rows[row["_id"]] = bson.encode(row)

    def find(self, where: Json, shown: Json | None = None) -> Iterator[Json]:
        return iter([row for row in self._all() if _matches(where, row)])

    def find_one(self, where: Json, shown: Json) -> Json | None:
        return next(self.find(where), None)

    def delete_many(self, where: Json) -> None:
        self.rows = {
            row["_id"]: bson.encode(row) for row in self._all() if not _matches(where, row)
        }

    def create_index(self, keys: list[tuple[str, int]]) -> None:
        assert keys == [("build", 1), ("key", 1)]

    def create_search_index(self, model: Any) -> None:
        assert model.document["type"] == "vectorSearch"
        self._definition = model.document

    def list_search_indexes(self, name: str) -> list[Json]:
        known = self._definition.get("name") == name
        return [{"name": name, "queryable": True}] if known else []

    def aggregate(self, pipeline: list[Json]) -> list[Json]:
        self.pipelines.append(bson.decode(bson.encode({"pipeline": pipeline}))["pipeline"])
        search, shown = pipeline
        asked = search["$vectorSearch"]
        fields = self._definition["definition"]["fields"]
        assert asked["index"] == self._definition["name"]
        assert asked["path"] == fields[0]["path"]
        assert {field["path"] for field in fields[1:]} >= set(asked["filter"])
        assert ("numCandidates" in asked) != bool(asked.get("exact"))
        assert asked["limit"] <= asked.get("numCandidates", asked["limit"]) <= 10_000
        assert shown["$project"] == {"_id": 0, "key": 1, "score": {"$meta": "vectorSearchScore"}}
        if self._looks:
            self._looks -= 1
            return []
        query = np.array(asked["queryVector"].as_vector().data)
        scored = [
            {"key": row["key"], "score": (1 + float(query @ row["vector"].as_vector().data)) / 2}
            for row in self._all()
            if _matches(asked["filter"], row)
        ]
        return sorted(scored, key=lambda row: (-row["score"], -row["key"]))[: asked["limit"]]

    def _all(self) -> list[Json]:
        # A copy first: a reader and a writer may come from two threads, as to a real server.
        return [bson.decode(row) for row in list(self.rows.values())]


class AtlasDatabase:
    """A database whose search indexes lag behind by ``lag`` looks."""

    def __init__(self, lag: int = 0) -> None:
        self._lag = lag
        self._collections: dict[str, Rows] = {}
        self._made: list[str] = []

    def __getitem__(self, name: str) -> Rows:
        return self._collections.setdefault(name, Rows(name, self._lag))

    def list_collection_names(self) -> list[str]:
        return self._made

    def create_collection(self, name: str) -> Rows:
        if name in self._made:
            raise CollectionInvalid(f"collection {name} already exists")
        self._made.append(name)
        return self[name]


def _matches(where: Mapping[str, Any], row: Json) -> bool:
    return all(_fits(wanted, row[field]) for field, wanted in where.items())


def _fits(wanted: Any, value: Any) -> bool:
    if not isinstance(wanted, dict):
        return bool(wanted == value)
    tests = {
        "$in": lambda limit: value in limit,
        "$gte": lambda limit: value >= limit,
        "$lt": lambda limit: value < limit,
    }
    return all(tests[name](limit) for name, limit in wanted.items())
