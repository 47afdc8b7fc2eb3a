"""Vectors in MongoDB Atlas (``$vectorSearch``): one collection per dimension."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from bson.binary import Binary, BinaryVectorDtype
from pymongo import MongoClient, ReplaceOne
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import CollectionInvalid, OperationFailure, PyMongoError
from pymongo.operations import SearchIndexModel

from rag.errors import InvalidInput, StorageError
from rag.stores.nearest import Neighbours, check_build, nearest, to_rankings
from rag.types import Keys, Vectors

Json = dict[str, Any]

_INDEX = "vectors"
_BLOCK = 2000
_DEEPEST = 10_000  # the most candidates that a search considers
_SECONDS_TO_FOLLOW = 120.0
_PAUSE = 0.25


class MongoVectors:
    """A ``VectorServer`` on MongoDB Atlas, or another server with ``$vectorSearch``.

    Vectors of length one are kept as binary float32 and compared by dot product, which Atlas
    scores as (1 + d) / 2. Its search index follows the collection a little later, so a write
    waits until it finds what it wrote.
    """

    def __init__(
        self, database: Database[Json], *, exact: bool = False, patience: float = _SECONDS_TO_FOLLOW
    ) -> None:
        """``exact`` scans (ENN). ``patience`` is how long the search index may lag, in seconds."""
        self.exact = exact
        self._database, self._patience = database, patience
        self._made: set[int] = set()
        self._known: dict[str, int] = {}  # dimensions of builds: asked for once

    @classmethod
    def connect(cls, url: str, options: Mapping[str, str]) -> MongoVectors:
        """``url`` with user and password as MongoDB writes it; ``options`` are name and exact."""
        client: MongoClient[Json] = MongoClient(url)
        return cls(client[options.get("name", "touchstone")], exact=options.get("exact") == "true")

    def keys(self, build: str) -> Keys:
        """All keys of a build, in any order."""
        with _translated():
            dimension = self._dimension(build)
            if dimension is None:
                return np.empty(0, np.int64)
            rows = self._rows(dimension).find({"build": build}, {"key": 1})
            return np.array([row["key"] for row in rows], np.int64)

    def upsert(self, build: str, keys: Keys, vectors: Vectors) -> None:
        """Keep ``vectors``, shape (n, dimension). Raises InvalidInput for another dimension."""
        if not len(keys):
            return
        dimension = vectors.shape[1]
        with _translated():
            check_build(dimension, self._dimension(build))
            self._make(dimension)
            rows = self._rows(dimension)
            for start in range(0, len(keys), _BLOCK):
                names = keys[start : start + _BLOCK].tolist()
                values = (_binary(vector) for vector in vectors[start : start + _BLOCK])
                rows.bulk_write(
                    [
                        ReplaceOne(
                            {"_id": f"{build}{key}"},
                            {"build": build, "key": key, "vector": value},
                            upsert=True,
                        )
                        for key, value in zip(names, values, strict=True)
                    ],
                    ordered=False,
                )
            self._follow(build, keys, vectors)

    def delete(self, build: str, keys: Keys) -> None:
        """Drop ``keys``; unknown ones are ignored."""
        with _translated():
            dimension = self._dimension(build)
            if dimension is not None:
                self._rows(dimension).delete_many({"build": build, "key": {"$in": keys.tolist()}})

    def drop(self, prefix: str) -> None:
        """Drop every build whose name begins with ``prefix``."""
        self._known.clear()
        after = {"$lt": prefix[:-1] + chr(ord(prefix[-1]) + 1)} if prefix else {}
        with _translated():
            for dimension in self._dimensions():
                self._rows(dimension).delete_many({"build": {"$gte": prefix, **after}})

    def settle(self, build: str) -> None:
        """Atlas makes its graphs by itself."""

    def search(self, build: str, query: Vectors, k: int, allowed: Keys | None = None) -> Neighbours:
        """The k nearest by cosine, best first, ties by key.

        Raises InvalidInput for a query of another dimension, and for a k of 10,000 or more unless
        the search is exact.
        """
        with _translated():
            dimension = self._dimension(build)
            check_build(len(query), dimension)
            if dimension is None or k < 1 or (allowed is not None and not len(allowed)):
                return to_rankings([])
            where: Json = {"build": build}
            if allowed is not None:
                where["key"] = {"$in": allowed.tolist()}
            return nearest(k, lambda depth: self._nearest(query, depth, where))

    def vectors(self, build: str, keys: Keys) -> Vectors:
        """Vectors of one ``keys`` or more, in their order. Raises KeyError for an unknown key."""
        key_list = keys.tolist()
        with _translated():
            dimension = self._dimension(build)
            if dimension is None:
                raise KeyError(key_list[0])
            where = {"build": build, "key": {"$in": key_list}}
            rows = {row["key"]: row["vector"] for row in self._rows(dimension).find(where)}
        lost = [key for key in key_list if key not in rows]
        if lost:
            raise KeyError(lost[0])
        return np.array([rows[key].as_vector().data for key in key_list], np.float32)

    def _nearest(self, query: Vectors, depth: int, where: Json) -> Neighbours:
        if self.exact:
            breadth: Json = {"exact": True}
        elif depth > _DEEPEST:
            raise InvalidInput(
                f"Atlas finds at most {_DEEPEST - 1} passages at once.",
                "Ask for fewer, or search exactly (exact=true in TOUCHSTONE_VECTORS_URL).",
            )
        else:
            breadth = {"numCandidates": min(_DEEPEST, max(200, 20 * depth))}
        stage = {
            "index": _INDEX,
            "path": "vector",
            "queryVector": _binary(query),
            "limit": depth,
            "filter": where,
            **breadth,
        }
        projection = {"_id": 0, "key": 1, "score": {"$meta": "vectorSearchScore"}}
        rows = self._rows(len(query)).aggregate(
            [{"$vectorSearch": stage}, {"$project": projection}]
        )
        return to_rankings([(row["key"], 2 * row["score"] - 1) for row in rows])

    def _follow(self, build: str, keys: Keys, vectors: Vectors) -> None:
        """Wait until the search index has the last of ``keys`` with its vector."""
        last, until = int(keys[-1]), time.monotonic() + self._patience
        where: Json = {"build": build, "key": last}
        length = float(np.dot(vectors[-1], vectors[-1]))
        while True:
            _, scores = self._nearest(vectors[-1], 1, where)
            if len(scores) and abs(scores[0] - length) < 1e-4:
                return
            if time.monotonic() > until:
                raise StorageError(
                    f"Atlas did not index what was written within {self._patience:.0f} seconds.",
                    "Try again: what was written stays, and is written once.",
                )
            time.sleep(_PAUSE)

    def _dimension(self, build: str) -> int | None:
        """Return the dimension of a build's vectors; None if the build has none."""
        if build not in self._known:
            for dimension in self._dimensions():
                if self._rows(dimension).find_one({"build": build}, {"_id": 1}):
                    self._known[build] = dimension
        return self._known.get(build)

    def _dimensions(self) -> list[int]:
        parts = (name.rpartition("_") for name in self._database.list_collection_names())
        return [int(last) for first, _, last in parts if first == "vectors" and last.isdigit()]

    def _rows(self, dimension: int) -> Collection[Json]:
        return self._database[f"vectors_{dimension}"]

    def _make(self, dimension: int) -> None:
        """Make a collection and its indexes, and wait until they serve."""
        if dimension in self._made:
            return
        rows = self._rows(dimension)
        if dimension not in self._dimensions():
            with _made_by_another():
                self._database.create_collection(rows.name)
        rows.create_index([("build", 1), ("key", 1)])
        if not list(rows.list_search_indexes(_INDEX)):
            vector = {
                "type": "vector",
                "path": "vector",
                "numDimensions": dimension,
                "similarity": "dotProduct",
            }
            fields = [vector, *({"type": "filter", "path": path} for path in ("build", "key"))]
            model = SearchIndexModel({"fields": fields}, name=_INDEX, type="vectorSearch")
            with _made_by_another():
                rows.create_search_index(model)
        until = time.monotonic() + self._patience
        while not any(index.get("queryable") for index in rows.list_search_indexes(_INDEX)):
            if time.monotonic() > until:
                raise StorageError(
                    f"Atlas did not build its search index within {self._patience:.0f} seconds.",
                    "Try again in a minute.",
                )
            time.sleep(_PAUSE)
        self._made.add(dimension)


def _binary(vector: Vectors) -> Binary:
    return Binary.from_vector(vector.tolist(), BinaryVectorDtype.FLOAT32)


@contextmanager
def _made_by_another() -> Iterator[None]:
    try:
        yield
    except CollectionInvalid:
        pass
    except OperationFailure as error:
        if "already exists" not in str(error) and "Duplicate Index" not in str(error):
            raise


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OperationFailure as error:
        raise StorageError(
            f"MongoDB refused: {error.code}.", "Check the user's rights, and Atlas's own log."
        ) from error
    except PyMongoError as error:
        raise StorageError(
            "MongoDB does not answer.", "Start it, or check TOUCHSTONE_VECTORS_URL."
        ) from error
