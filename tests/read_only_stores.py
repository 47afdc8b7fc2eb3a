"""Existing stores behind HTTP that answer requests that read, and fail on all others.

Qdrant answers from the local mode of its client. Elasticsearch and OpenSearch cannot be had here:
their answers have the documented form.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from qdrant_client import models

from tests.qdrant import local_qdrant
from tests.servers import Handler, http_server

Json = dict[str, Any]
Answer = Callable[[str, str, Any], tuple[int, Json]]
_REFUSED = 403, {"status": {"error": "Forbidden: this key may only read"}}


@dataclass
class Store:
    """A store that is served; ``refused`` are the requests that do not read.

    ``dies_after`` is the number of answers before it ends connections without one.
    """

    address: str = ""
    key: str = ""
    refused: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    dies_after: int | None = None


@contextmanager
def serving(answer: Answer, header: str) -> Iterator[Store]:
    """Serve a store. Where it has a key, requests have it in a header."""
    store = Store()

    class ReadOnly(Handler):
        def respond(self) -> None:
            body = json.loads(self.body() or b"null")
            store.paths.append(self.path)
            if store.dies_after is not None and len(store.paths) > store.dies_after:
                self.close_connection = True
                return
            status, content = 401, {"error": "no key"}
            if self.headers.get(header, "") == store.key:
                status, content = answer(self.command, self.path, body)
            if (status, content) == _REFUSED:
                store.refused.append(f"{self.command} {self.path}")
            data = json.dumps(content).encode()
            self.answer(data, status, **{"Content-Type": "application/json"})

    for method in ("PUT", "DELETE", "PATCH", "HEAD"):
        setattr(ReadOnly, f"do_{method}", ReadOnly.respond)

    with http_server(ReadOnly) as store.address:
        yield store


@contextmanager
def qdrant_with(rows: Sequence[Json], vectors: Sequence[Sequence[float]]) -> Iterator[Store]:
    """A Qdrant with the collection ``passages``, whose rows are payloads."""
    client = local_qdrant()
    params = models.VectorParams(size=len(vectors[0]), distance=models.Distance.DOT)
    client.create_collection("passages", vectors_config=params)
    client.upsert(
        "passages",
        models.Batch(
            ids=[row["id"] for row in rows],
            vectors=[list(vector) for vector in vectors],
            payloads=[{key: row[key] for key in row if key != "id"} for row in rows],
        ),
    )

    def answer(method: str, path: str, body: Any) -> tuple[int, Json]:
        match = re.fullmatch(r"/collections(?:/([^/]+)(/points/(?:scroll|query|count))?)?", path)
        name, action = match.groups() if match else (None, None)
        if match is None or (method, action is None) not in (("GET", True), ("POST", False)):
            return _REFUSED
        if name is None:
            return 200, {"result": client.get_collections().model_dump(mode="json")}
        if not client.collection_exists(name):
            return 404, {"status": {"error": f"Not found: Collection `{name}` doesn't exist!"}}
        only = models.Filter(**body["filter"]) if body and "filter" in body else None
        if action is None:
            return 200, {"result": client.get_collection(name).model_dump(mode="json")}
        if action.endswith("count"):
            return 200, {"result": {"count": client.count(name, only).count}}
        shape = {"limit": body["limit"], "with_payload": True, "with_vectors": True}
        if action.endswith("query"):
            assert body["query"] == {"sample": "random"}
            query = models.SampleQuery(sample=models.Sample.RANDOM)
            found = client.query_points(name, query=query, query_filter=only, **shape)
            return 200, {"result": found.model_dump(mode="json")}
        points, after = client.scroll(name, only, offset=body.get("offset"), **shape)
        listed = [point.model_dump(mode="json") for point in points]
        return 200, {"result": {"points": listed, "next_page_offset": after}}

    with serving(answer, "api-key") as store:
        yield store


@contextmanager
def search_index_with(
    rows: Sequence[Json], vectors: Sequence[Sequence[float]], *, in_source: bool
) -> Iterator[Store]:
    """An engine with the index ``passages``; vectors are in the source or in the fields."""
    dims = len(vectors[0])
    vector = {"type": "dense_vector", "dims": dims, "similarity": "dot_product"}
    if in_source:
        space = {"space_type": "innerproduct"}
        vector = {"type": "knn_vector", "dimension": dims, "method": space}
    text = {"type": "text"}
    details = {"properties": {"page": {"type": "integer"}}}
    properties = {"body": text, "title": text, "details": details, "vector": vector}
    scrolls: dict[str, tuple[list[Json], int]] = {}

    def hits(chosen: Sequence[Json]) -> Json:
        return {"hits": {"hits": list(chosen)}, "_shards": {"failed": 0}}

    def hit(row: Json, numbers: Sequence[float]) -> Json:
        source = {key: row[key] for key in row if key != "id"}
        if in_source:
            return {"_id": str(row["id"]), "_source": {**source, "vector": list(numbers)}}
        return {"_id": str(row["id"]), "_source": source, "fields": {"vector": list(numbers)}}

    stored = [hit(row, numbers) for row, numbers in zip(rows, vectors, strict=True)]

    def matching(query: Json) -> list[Json]:
        terms = query.get("bool", {}).get("filter", [])
        pairs = [pair for term in terms for pair in term["term"].items()]
        return [one for one in stored if all(one["_source"].get(k) == v for k, v in pairs)]

    def page(name: str) -> Json:
        left, size = scrolls[name]
        scrolls[name] = left[size:], size
        return {**hits(left[:size]), "_scroll_id": name}

    def answer(method: str, path: str, body: Any) -> tuple[int, Json]:
        place, _, options = path.partition("?")
        if (method, place) == ("POST", "/_search/scroll"):
            return 200, page(body["scroll_id"])
        name, _, action = place.strip("/").partition("/")
        reads = {("GET", "_mapping"), ("POST", "_count"), ("POST", "_search")}
        if (method, action) not in reads:
            return _REFUSED
        if name != "passages":
            return 404, {"error": {"reason": f"no such index [{name}]"}, "status": 404}
        if action == "_mapping":
            return 200, {"passages": {"mappings": {"properties": properties}}}
        if action == "_count":
            return 200, {"count": len(matching(body["query"]))}
        if options.startswith("scroll="):
            name = f"s{len(scrolls)}"
            scrolls[name] = matching(body["query"]), body["size"]
            return 200, page(name)
        inner = body["query"]["function_score"]
        assert inner["random_score"] == {}
        return 200, hits(matching(inner["query"])[: body["size"]])

    with serving(answer, "Authorization") as store:
        yield store
