"""Vectors in Elasticsearch or OpenSearch, by their REST interface: one index per dimension."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx
import numpy as np

from rag.errors import InvalidInput, StorageError
from rag.stores.nearest import Neighbours, check_build, nearest, to_rankings
from rag.types import Keys, Vectors

Json = dict[str, Any]

_DEEPEST = 10_000  # what both answer at once, and the most candidates of HNSW
_MOST_TERMS = 65_536  # in one clause of a filter
_BLOCK = 500  # vectors in one bulk request
_MISSING = 404
_EXISTS = "resource_already_exists_exception"


class SearchEngineVectors:
    """A ``VectorServer`` on Elasticsearch (8 or later) or OpenSearch (2.4 or later).

    Similarity is the inner product of vectors of length one, unquantised. Both engines score it
    as 1 + d for d of at least 0, else as 1 / (1 - d). Writes are searchable when they return
    (``refresh``); between the blocks of a large one others see the first already.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        open_search: bool = False,
        name: str = "touchstone",
        exact: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """``key`` is an API key. ``exact`` scores every vector by script instead of using HNSW."""
        self.exact = exact
        self._open_search, self._name = open_search, name
        headers = {"Authorization": f"ApiKey {key}"} if key else {}
        self._client = httpx.Client(
            base_url=url, headers=headers, timeout=60, trust_env=False, transport=transport
        )
        self._known: dict[str, int] = {}  # dimensions of builds: asked for once

    @classmethod
    def connect(
        cls, url: str, key: str | None, options: Mapping[str, str], *, open_search: bool
    ) -> SearchEngineVectors:
        """``options`` are name and exact, as text."""
        return cls(
            url,
            key,
            open_search=open_search,
            name=options.get("name", "touchstone"),
            exact=options.get("exact") == "true",
        )

    def keys(self, build: str) -> Keys:
        """All keys of a build, in any order."""
        return np.fromiter(self._listed(build), np.int64)

    def upsert(self, build: str, keys: Keys, vectors: Vectors) -> None:
        """Keep ``vectors``, shape (n, dimension). Raises InvalidInput for another dimension."""
        if not len(keys):
            return
        dimension = vectors.shape[1]
        check_build(dimension, self._dimension(build))
        self._make(dimension)
        for start in range(0, len(keys), _BLOCK):
            lines: list[Json] = []
            for key, vector in zip(
                keys[start : start + _BLOCK].tolist(),
                vectors[start : start + _BLOCK].tolist(),
                strict=True,
            ):
                lines.append({"index": {"_index": self._index(dimension), "_id": _id(build, key)}})
                lines.append({"build": build, "key": key, "vector": vector})
            self._bulk(lines)

    def delete(self, build: str, keys: Keys) -> None:
        """Drop ``keys``; unknown ones are ignored."""
        dimension = self._dimension(build)
        if dimension is not None and len(keys):
            self._bulk(
                [
                    {"delete": {"_index": self._index(dimension), "_id": _id(build, key)}}
                    for key in keys.tolist()
                ]
            )

    def drop(self, prefix: str) -> None:
        """Drop every build whose name begins with ``prefix``."""
        self._known.clear()
        these = {"prefix": {"build": {"value": prefix}}} if prefix else {"match_all": {}}
        self._ask(
            "POST",
            f"/{self._name}-*/_delete_by_query",
            {"query": these},
            params={"refresh": "true", "conflicts": "proceed", **_ANY},
        )

    def settle(self, build: str) -> None:
        """Search engines make their graphs by themselves."""

    def search(self, build: str, query: Vectors, k: int, allowed: Keys | None = None) -> Neighbours:
        """The k nearest by cosine, best first, ties by key.

        Raises InvalidInput for a query of another dimension, and for a k of 10,000 or more.
        """
        dimension = self._dimension(build)
        check_build(len(query), dimension)
        if dimension is None or k < 1 or (allowed is not None and not len(allowed)):
            return to_rankings([])
        where = _where(build, allowed)
        return nearest(k, lambda depth: self._nearest(query, depth, where))

    def vectors(self, build: str, keys: Keys) -> Vectors:
        """Vectors of one ``keys`` or more, in their order. Raises KeyError for an unknown key."""
        dimension = self._dimension(build)
        rows: dict[int, Sequence[float]] = {}
        for start in range(0, len(keys) if dimension else 0, _BLOCK):
            part = keys[start : start + _BLOCK]
            # By fields, not by source: newer versions leave vectors out of the source.
            body = {
                "query": _where(build, part),
                "size": len(part),
                "_source": False,
                "fields": ["key", "vector"],
            }
            for hit in self._hits(f"/{self._index(dimension or 0)}/_search", body):
                rows[int(hit["fields"]["key"][0])] = hit["fields"]["vector"]
        lost = [key for key in keys.tolist() if key not in rows]
        if lost:
            raise KeyError(lost[0])
        return np.array([rows[key] for key in keys.tolist()], np.float32)

    def _nearest(self, query: Vectors, depth: int, where: Json) -> Neighbours:
        if depth > _DEEPEST:
            raise InvalidInput(
                f"A search engine finds at most {_DEEPEST - 1} passages at once.",
                "Ask for fewer, or keep the vectors elsewhere.",
            )
        vector = query.tolist()
        if self.exact:
            body: Json = {"query": {"script_score": {"query": where, **self._script(vector)}}}
        elif self._open_search:
            near = {"vector": vector, "k": depth, "filter": where}
            body = {"query": {"knn": {"vector": near}}}
        else:
            candidates = min(_DEEPEST, max(100, 2 * depth))
            body = {
                "knn": {
                    "field": "vector",
                    "query_vector": vector,
                    "k": depth,
                    "num_candidates": candidates,
                    "filter": where,
                }
            }
        body |= {"size": depth, "_source": False, "docvalue_fields": ["key"]}
        hits = self._hits(f"/{self._index(len(query))}/_search", body)
        return to_rankings([(int(hit["fields"]["key"][0]), _cosine(hit["_score"])) for hit in hits])

    def _script(self, query: list[float]) -> Json:
        if self._open_search:
            params = {"field": "vector", "query_value": query, "space_type": "innerproduct"}
            return {"script": {"lang": "knn", "source": "knn_score", "params": params}}
        source = (
            "double d = dotProduct(params.query, 'vector'); return d < 0 ? 1 / (1 - d) : d + 1;"
        )
        return {"script": {"source": source, "params": {"query": query}}}

    def _listed(self, build: str) -> Iterator[int]:
        after: Json = {}
        while True:
            body = {
                "query": _where(build),
                "size": _DEEPEST,
                "_source": False,
                "sort": [{"key": "asc"}],
                **after,
            }
            hits = self._hits(f"/{self._name}-*/_search", body)
            yield from (int(hit["sort"][0]) for hit in hits)
            if len(hits) < _DEEPEST:
                return
            after = {"search_after": hits[-1]["sort"]}

    def _dimension(self, build: str) -> int | None:
        """Return the dimension of a build's vectors; None if the build has none."""
        if build not in self._known:
            body = {"query": _where(build), "size": 1, "_source": False}
            hits = self._hits(f"/{self._name}-*/_search", body)
            if not hits:
                return None
            self._known[build] = int(hits[0]["_index"].rpartition("-")[2])
        return self._known[build]

    def _index(self, dimension: int) -> str:
        return f"{self._name}-{dimension}"

    def _make(self, dimension: int) -> None:
        index = f"/{self._index(dimension)}"
        if self._ask("HEAD", index).status_code != _MISSING:
            return
        hnsw = {"m": 16, "ef_construction": 100}
        vector: Json = {
            "type": "dense_vector",
            "dims": dimension,
            "similarity": "max_inner_product",
            "index_options": {"type": "hnsw", **hnsw},
        }
        settings: Json = {}
        if self._open_search:
            method: Json = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}
            method["parameters"] = hnsw
            vector = {"type": "knn_vector", "dimension": dimension, "method": method}
            settings = {"settings": {"index.knn": True}}
        fields = {"build": {"type": "keyword"}, "key": {"type": "long"}, "vector": vector}
        mapping = {"mappings": {"dynamic": "strict", "properties": fields}}
        self._ask("PUT", index, {**settings, **mapping})

    def _bulk(self, lines: list[Json]) -> None:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        reply = self._ask("POST", "/_bulk", text, params={"refresh": "true"}).json()
        for item in reply["items"] if reply.get("errors") else []:
            (outcome,) = item.values()
            if "error" in outcome:
                raise StorageError(f"The search engine refused: {_reason(outcome)}.")

    def _hits(self, path: str, body: Json) -> list[Json]:
        hits: list[Json] = self._ask("POST", path, body, params=_ANY).json()["hits"]["hits"]
        return hits

    def _ask(
        self,
        method: str,
        path: str,
        body: Json | str | None = None,
        params: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        content = body if isinstance(body, str | None) else json.dumps(body)
        kind = "application/x-ndjson" if content is body else "application/json"
        headers = {"Content-Type": kind} if content is not None else {}
        try:
            reply = self._client.request(
                method, path, content=content, params=params, headers=headers
            )
        except httpx.HTTPError as error:
            raise StorageError(
                "The search engine does not answer.", "Start it, or check TOUCHSTONE_VECTORS_URL."
            ) from error
        existed = method == "PUT" and _EXISTS in reply.text  # by another process, a moment ago
        if reply.is_success or existed or (method == "HEAD" and reply.status_code == _MISSING):
            return reply
        raise StorageError(
            f"The search engine refused: {_problem(reply)}.",
            "Check the key (TOUCHSTONE_VECTORS_KEY) and the engine's own log.",
        )


_ANY = {"ignore_unavailable": "true", "allow_no_indices": "true"}


def _id(build: str, key: int) -> str:
    return f"{build}{key}"


def _where(build: str, allowed: Keys | None = None) -> Json:
    """A filter; as many ``terms`` as it takes, since one clause holds so many."""
    clauses: list[Json] = [{"term": {"build": build}}]
    if allowed is not None:
        blocks = range(0, max(1, len(allowed)), _MOST_TERMS)
        parts = [
            {"terms": {"key": allowed[start : start + _MOST_TERMS].tolist()}} for start in blocks
        ]
        clauses.append({"bool": {"should": parts}} if len(parts) > 1 else parts[0])
    return {"bool": {"filter": clauses}}


def _cosine(score: float) -> float:
    """The inner product that a score above 0 stands for."""
    return score - 1 if score >= 1 else 1 - 1 / score


def _reason(outcome: Mapping[str, Any]) -> str:
    error = outcome.get("error")
    return str(error.get("reason", error)) if isinstance(error, dict) else str(error)


def _problem(reply: httpx.Response) -> str:
    try:
        body = reply.json()
    except ValueError:
        body = {}
    reason = f", {_reason(body)}" if isinstance(body, dict) and body.get("error") else ""
    return f"status {reply.status_code}{reason}"
