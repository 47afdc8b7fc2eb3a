"""A stand-in for Elasticsearch and OpenSearch: it takes the documented requests, and no others.

Neither engine can be had here. What it answers has the documented form, scores included, so that
the requests and the reading of replies are tested; how the engines behave under load is not.
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from tests.servers import http_server

Json = dict[str, Any]
Reply = tuple[int, Json]


class Refused(Exception):
    """A request that the engine would not take."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.reply = status, {"error": {"type": kind, "reason": reason}, "status": status}


class Engine:
    """Indexes by name; ``asked`` has the body of every request, by method and path."""

    def __init__(self, *, open_search: bool) -> None:
        self.open_search = open_search
        self.asked: list[tuple[str, str, Any]] = []
        self.refuse: Refused | None = None
        self._indexes: dict[str, dict[str, Json]] = {}
        self._mappings: dict[str, Json] = {}
        self._lock = Lock()

    def answer(self, method: str, path: str, params: Json, text: str) -> Reply:
        with self._lock:
            try:
                if self.refuse is not None:
                    raise self.refuse
                return self._answer(method, path, params, text)
            except Refused as error:
                return error.reply

    def _answer(self, method: str, path: str, params: Json, text: str) -> Reply:
        if path == "/_bulk":
            lines = [json.loads(line) for line in text.splitlines()]
            self.asked.append((method, path, lines))
            assert text.endswith("\n")
            assert params == {"refresh": "true"}
            return 200, self._bulk(lines)
        body = json.loads(text) if text else {}
        self.asked.append((method, path, body))
        names, _, verb = path[1:].partition("/")
        if method == "HEAD":
            return (200 if names in self._indexes else 404), {}
        if method == "PUT":
            return 200, self._create(names, body)
        assert params["ignore_unavailable"] == params["allow_no_indices"] == "true"
        chosen = [name for name in sorted(self._indexes) if fnmatchcase(name, names)]
        if verb == "_delete_by_query":
            assert (set(body), params["refresh"]) == ({"query"}, "true")
            for name in chosen:
                rows = self._indexes[name]
                self._indexes[name] = {
                    at: row for at, row in rows.items() if not _matches(body["query"], row)
                }
            return 200, {"failures": []}
        assert verb == "_search", path
        return 200, {"hits": {"hits": self._search(chosen, body)}}

    def _create(self, name: str, body: Json) -> Json:
        if name in self._indexes:
            raise Refused(400, "resource_already_exists_exception", f"index [{name}] exists")
        vector = body["mappings"]["properties"]["vector"]
        if self.open_search:
            assert body["settings"] == {"index.knn": True}
            assert vector["type"] == "knn_vector"
            assert vector["method"]["space_type"] == "innerproduct"
        else:
            assert vector["type"] == "dense_vector"
            assert vector["similarity"] == "max_inner_product"
            assert vector["index_options"]["type"] == "hnsw", "others are quantised"
        self._indexes[name] = {}
        self._mappings[name] = vector
        return {"acknowledged": True}

    def _bulk(self, lines: list[Json]) -> Json:
        items: list[Json] = []
        waiting = iter(lines)
        for line in waiting:
            ((verb, target),) = line.items()
            rows = self._indexes[target["_index"]]
            if verb == "delete":
                status = 200 if rows.pop(target["_id"], None) else 404
                items.append({"delete": {"_id": target["_id"], "status": status}})
                continue
            row = next(waiting)
            mapping = self._mappings[target["_index"]]
            size = mapping["dimension" if self.open_search else "dims"]
            outcome: Json = {"_id": target["_id"], "status": 201}
            if len(row["vector"]) != size:
                reason = f"a vector of {len(row['vector'])} dimensions"
                outcome |= {"status": 400, "error": {"type": "parsing", "reason": reason}}
            else:
                rows[target["_id"]] = row
            items.append({"index": outcome})
        failed = any("error" in outcome for item in items for outcome in item.values())
        return {"errors": failed, "items": items}

    def _search(self, names: list[str], body: Json) -> list[Json]:
        body = dict(body)
        assert body.pop("_source") is False
        size = body.pop("size")
        fields = body.pop("fields", None) or body.pop("docvalue_fields", [])
        sort, after = body.pop("sort", None), body.pop("search_after", None)
        scored = [
            (self._score(body, row), name, row)
            for name in names
            for row in self._indexes[name].values()
        ]
        kept = [entry for entry in scored if entry[0] is not None]
        if sort is not None:
            assert sort == [{"key": "asc"}]
            kept.sort(key=lambda entry: entry[2]["key"])
            kept = [entry for entry in kept if after is None or entry[2]["key"] > after[0]]
        else:
            kept.sort(key=lambda entry: (-(entry[0] or 0), -entry[2]["key"]))
        hits = []
        for score, name, row in kept[:size]:
            shown = {
                each: row[each] if isinstance(row[each], list) else [row[each]] for each in fields
            }
            hit = {"_index": name, "_score": score, "fields": shown}
            hits.append(hit | ({"sort": [row["key"]]} if sort else {}))
        return hits

    def _score(self, body: Json, row: Json) -> float | None:
        """Return the documented maximum inner product score; None if the row doesn't match."""
        if "knn" in body:
            assert (set(body), self.open_search) == ({"knn"}, False)
            near = body["knn"]
            assert set(near) == {"field", "query_vector", "k", "num_candidates", "filter"}
            assert near["k"] <= near["num_candidates"] <= 10_000
            return _inner(near["query_vector"], row) if _matches(near["filter"], row) else None
        assert set(body) == {"query"}
        query = body["query"]
        if "knn" in query:
            assert self.open_search
            near = query["knn"]["vector"]
            assert set(near) == {"vector", "k", "filter"}
            return _inner(near["vector"], row) if _matches(near["filter"], row) else None
        if "script_score" in query:
            script = query["script_score"]["script"]
            if self.open_search:
                assert (script["lang"], script["source"]) == ("knn", "knn_score")
                wanted = script["params"]["query_value"]
            else:
                assert "dotProduct(params.query, 'vector')" in script["source"]
                wanted = script["params"]["query"]
            return _inner(wanted, row) if _matches(query["script_score"]["query"], row) else None
        return 1.0 if _matches(query, row) else None


def _inner(wanted: list[float], row: Json) -> float:
    one, two = (np.asarray(values, np.float32) for values in (wanted, row["vector"]))
    dot = math.fsum((one.astype(np.float64) * two).tolist())
    return float(np.float32(1 / (1 - dot) if dot < 0 else dot + 1))


def _matches(query: Json, row: Json) -> bool:
    ((kind, body),) = query.items()
    if kind == "match_all":
        return True
    if kind == "term":
        ((field, value),) = body.items()
        return bool(row[field] == value)
    if kind == "terms":
        ((field, values),) = body.items()
        if len(values) > 65_536:
            raise Refused(400, "illegal_argument_exception", "too many terms")
        return row[field] in set(values)
    if kind == "prefix":
        ((field, value),) = body.items()
        return str(row[field]).startswith(value["value"])
    assert kind == "bool", query
    assert set(body) <= {"filter", "should"}, query
    return all(_matches(each, row) for each in body.get("filter", [])) and (
        "should" not in body or any(_matches(each, row) for each in body["should"])
    )


@contextmanager
def search_engine(*, open_search: bool = False) -> Iterator[tuple[str, Engine]]:
    """The address of an engine, and the engine."""
    engine = Engine(open_search=open_search)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            address = urlsplit(self.path)
            params = {name: values[0] for name, values in parse_qs(address.query).items()}
            text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            status, reply = engine.answer(self.command, address.path, params, text)
            data = b"" if self.command == "HEAD" else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

        def do_PUT(self) -> None:
            self.do_POST()

        def do_HEAD(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None:
            pass

    with http_server(Handler) as address:
        yield address, engine
