"""Vectors in Qdrant: one collection per dimension, each build a tenant of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx
import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from rag.errors import StorageError
from rag.stores.given import Neighbours, check_build, nearest, to_rankings
from rag.types import Keys, Vectors

_PAGE = 10_000
_BLOCK = 1024  # points in one request: 4 MB of JSON for 384 dimensions
_MOST_BUILDS = 100_000
_CONFLICT = 409


class QdrantVectors:
    """A ``VectorServer`` on Qdrant: a single node, or a cluster that shards and replicates.

    A point is named after its build and key, so writing it twice leaves one. Similarity is the
    dot product, as vectors come with length one: Qdrant's own cosine would change their bits. A
    call is acknowledged when Qdrant has applied it; between the blocks of a large one others see
    the first already.
    """

    def __init__(
        self,
        client: QdrantClient,
        *,
        name: str = "touchstone",
        exact: bool = False,
        shards: int | None = None,
        replicas: int | None = None,
    ) -> None:
        """``name`` begins the names of its collections. ``exact`` scans instead of using HNSW."""
        self.exact = exact
        self._client, self._name = client, name
        self._shards, self._replicas = shards, replicas
        self._made: set[int] = set()
        self._known: dict[str, int] = {}  # dimensions of builds: asked for once

    @classmethod
    def connect(cls, url: str, key: str | None, options: Mapping[str, str]) -> QdrantVectors:
        """``options`` are name, exact, shards and replicas, as text. Raises ValueError."""
        return cls(
            QdrantClient(url=url, api_key=key, timeout=60, check_compatibility=False),
            name=options.get("name", "touchstone"),
            exact=options.get("exact") == "true",
            shards=int(options["shards"]) if "shards" in options else None,
            replicas=int(options["replicas"]) if "replicas" in options else None,
        )

    def keys(self, build: str) -> Keys:
        """All keys of a build, in any order."""
        with _translated():
            dimension = self._dimension(build)
            return np.array(
                [] if dimension is None else list(self._scrolled(build, dimension)), np.int64
            )

    def upsert(self, build: str, keys: Keys, vectors: Vectors) -> None:
        """Keep ``vectors``, shape (n, dimension). Raises InvalidInput for another dimension."""
        if not len(keys):
            return
        dimension = vectors.shape[1]
        with _translated():
            check_build(dimension, self._dimension(build))
            self._make(dimension)
            for start in range(0, len(keys), _BLOCK):
                part = slice(start, start + _BLOCK)
                names = keys[part].tolist()
                points = models.Batch(
                    ids=_points(build, names),
                    vectors=vectors[part].tolist(),
                    payloads=[{"build": build, "key": key} for key in names],
                )
                self._client.upsert(self._collection(dimension), points, wait=True)

    def delete(self, build: str, keys: Keys) -> None:
        """Drop ``keys``; unknown ones are ignored."""
        with _translated():
            dimension = self._dimension(build)
            if dimension is not None and len(keys):
                chosen = models.PointIdsList(points=_points(build, keys.tolist()))
                self._client.delete(self._collection(dimension), chosen, wait=True)

    def drop(self, prefix: str) -> None:
        """Drop every build whose name begins with ``prefix``."""
        self._known.clear()
        with _translated():
            for dimension in self._dimensions():
                builds = self._client.facet(
                    self._collection(dimension), key="build", limit=_MOST_BUILDS, exact=True
                ).hits
                names = [str(hit.value) for hit in builds if str(hit.value).startswith(prefix)]
                if names:
                    chosen = models.FilterSelector(filter=_where(names))
                    self._client.delete(self._collection(dimension), chosen, wait=True)

    def settle(self, build: str) -> None:
        """Qdrant makes its graphs by itself."""

    def search(self, build: str, query: Vectors, k: int, allowed: Keys | None = None) -> Neighbours:
        """The k nearest by cosine, best first, ties by key. Raises InvalidInput: dimension."""
        with _translated():
            dimension = self._dimension(build)
            check_build(len(query), dimension)
            if dimension is None or k < 1 or (allowed is not None and not len(allowed)):
                return to_rankings([])
            where = _where([build], allowed)
            return nearest(k, lambda depth: self._nearest(query, depth, where))

    def vectors(self, build: str, keys: Keys) -> Vectors:
        """Vectors of one ``keys`` or more, in their order. Raises KeyError for an unknown key."""
        with _translated():
            dimension = self._dimension(build)
            if dimension is None:
                raise KeyError(int(keys[0]))
            point_ids = _points(build, keys.tolist())
            points = self._client.retrieve(
                self._collection(dimension), point_ids, with_payload=False, with_vectors=True
            )
        rows = {point.id: point.vector for point in points}
        lost = [key for key, name in zip(keys.tolist(), point_ids, strict=True) if name not in rows]
        if lost:
            raise KeyError(lost[0])
        return np.array([rows[name] for name in point_ids], np.float32)

    def _nearest(self, query: Vectors, depth: int, where: models.Filter) -> Neighbours:
        hits = self._client.query_points(
            self._collection(len(query)),
            query=query.tolist(),
            query_filter=where,
            limit=depth,
            with_payload=["key"],
            search_params=models.SearchParams(exact=self.exact),
        ).points
        return to_rankings([(hit.payload["key"], hit.score) for hit in hits if hit.payload])

    def _scrolled(self, build: str, dimension: int) -> Iterator[int]:
        offset = None
        while True:
            points, offset = self._client.scroll(
                self._collection(dimension),
                scroll_filter=_where([build]),
                limit=_PAGE,
                offset=offset,
                with_payload=["key"],
            )
            yield from (point.payload["key"] for point in points if point.payload)
            if offset is None:
                return

    def _dimension(self, build: str) -> int | None:
        """Return the dimension of a build's vectors; None if the build has none."""
        if build in self._known:
            return self._known[build]
        for dimension in self._dimensions():
            where = _where([build])
            collection = self._collection(dimension)
            if self._client.scroll(collection, where, limit=1, with_payload=False)[0]:
                self._known[build] = dimension
                return dimension
        return None

    def _dimensions(self) -> list[int]:
        names = (collection.name for collection in self._client.get_collections().collections)
        parts = (name.rpartition("-") for name in names)
        return [int(last) for first, _, last in parts if first == self._name and last.isdigit()]

    def _collection(self, dimension: int) -> str:
        return f"{self._name}-{dimension}"

    def _make(self, dimension: int) -> None:
        if dimension in self._made:
            return
        collection = self._collection(dimension)
        if not self._client.collection_exists(collection):
            vectors = models.VectorParams(size=dimension, distance=models.Distance.DOT)
            try:
                self._client.create_collection(
                    collection,
                    vectors_config=vectors,
                    shard_number=self._shards,
                    replication_factor=self._replicas,
                )
            except UnexpectedResponse as error:  # another process may have made it
                if error.status_code != _CONFLICT:
                    raise
        tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        self._client.create_payload_index(collection, "build", tenant)
        self._client.create_payload_index(collection, "key", models.PayloadSchemaType.INTEGER)
        self._made.add(dimension)


def _points(build: str, keys: list[int]) -> list[str]:
    """Names of points: the same build and key always have the same."""
    space = uuid.uuid5(uuid.NAMESPACE_URL, build)
    return [str(uuid.uuid5(space, str(key))) for key in keys]


def _where(builds: list[str], allowed: Keys | None = None) -> models.Filter:
    must = [models.FieldCondition(key="build", match=models.MatchAny(any=builds))]
    if allowed is not None:
        must.append(models.FieldCondition(key="key", match=models.MatchAny(any=allowed.tolist())))
    return models.Filter(must=list(must))


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except UnexpectedResponse as error:
        raise StorageError(
            f"Qdrant refused: status {error.status_code}.",
            "Check the key (TOUCHSTONE_VECTORS_KEY) and Qdrant's own log.",
        ) from error
    except (ApiException, httpx.HTTPError) as error:
        raise StorageError(
            "Qdrant does not answer.", "Start it, or check TOUCHSTONE_VECTORS_URL."
        ) from error
