"""A server of vectors over HTTP, which keeps them in SQLite, and the client that asks it.

Slow and exact: it is there to show that ``VectorServer`` can be kept over a wire.
"""

import io
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

import httpx
import numpy as np

from rag import InvalidInput, StorageError
from rag.types import Keys, Scores, Vectors
from tests.servers import Handler, http_server

Arrays = Mapping[str, np.ndarray]
_parsing = Lock()


class HttpVectors:
    """A ``VectorServer`` at ``url``; it notes what it is ``asked``, and the ``deepest`` search."""

    exact = True

    def __init__(self, url: str) -> None:
        self.asked: list[str] = []
        self.deepest = 0
        limits = httpx.Limits(max_keepalive_connections=0)  # nothing is left to close
        self._client = httpx.Client(base_url=url, timeout=30, trust_env=False, limits=limits)

    def keys(self, build: str) -> Keys:
        return self._ask("keys", build)["keys"]

    def upsert(self, build: str, keys: Keys, vectors: Vectors) -> None:
        self._ask("upsert", build, keys=keys, vectors=vectors)

    def builds(self) -> list[str]:
        names: list[str] = self._ask("builds", "")["builds"].tolist()
        return names

    def delete(self, build: str, keys: Keys) -> None:
        self._ask("delete", build, keys=keys)

    def drop(self, prefix: str) -> None:
        self._ask("drop", prefix)

    def settle(self, build: str) -> None:
        """It always scans."""

    def search(
        self, build: str, query: Vectors, k: int, allowed: Keys | None = None
    ) -> tuple[Keys, Scores]:
        self.deepest = max(self.deepest, k)
        only = {} if allowed is None else {"allowed": allowed}
        found = self._ask("search", build, query=query, k=np.array(k), **only)
        return found["keys"], found["scores"]

    def vectors(self, build: str, keys: Keys) -> Vectors:
        return self._ask("vectors", build, keys=keys)["vectors"]

    def _ask(self, verb: str, build: str, **arrays: np.ndarray) -> Arrays:
        self.asked.append(verb)
        try:
            reply = self._client.post(f"/{verb}", params={"build": build}, content=packed(arrays))
        except httpx.HTTPError as error:
            raise StorageError("The vector server does not answer.", "Start it.") from error
        if reply.status_code == 404:
            raise KeyError(json.loads(reply.text))
        if reply.status_code == 422:
            raise InvalidInput(json.loads(reply.text))
        reply.raise_for_status()
        return unpacked(reply.content)


class Table:
    """Vectors by build and key in SQLite; every call is one transaction."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._rows = sqlite3.connect(":memory:", check_same_thread=False)
        self._rows.execute(
            "CREATE TABLE vector (build TEXT, key INTEGER, data BLOB, PRIMARY KEY (build, key))"
        )

    def answer(self, verb: str, build: str, given: Arrays) -> dict[str, Any]:
        with self._lock, self._rows:
            answered: dict[str, Any] = getattr(self, f"_{verb}")(build, **given)
            return answered

    def _keys(self, build: str) -> dict[str, Any]:
        return {"keys": self._held(build)[0]}

    def _upsert(self, build: str, keys: Keys, vectors: Vectors) -> dict[str, Any]:
        self._check(build, vectors.shape[1])
        rows = [(build, int(key), row.tobytes()) for key, row in zip(keys, vectors, strict=True)]
        self._rows.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", rows)
        return {}

    def _builds(self, _: str) -> dict[str, Any]:
        rows = self._rows.execute("SELECT DISTINCT build FROM vector ORDER BY build").fetchall()
        return {"builds": np.array([build for (build,) in rows], str)}

    def _delete(self, build: str, keys: Keys) -> dict[str, Any]:
        rows = [(build, int(key)) for key in keys]
        self._rows.executemany("DELETE FROM vector WHERE build = ? AND key = ?", rows)
        return {}

    def _drop(self, prefix: str) -> dict[str, Any]:
        these = "substr(build, 1, length(?1)) = ?1"
        self._rows.execute(f"DELETE FROM vector WHERE {these}", (prefix,))
        return {}

    def _search(
        self, build: str, query: Vectors, k: np.ndarray, allowed: Keys | None = None
    ) -> dict[str, Any]:
        self._check(build, len(query))
        keys, vectors = self._held(build)
        if allowed is not None:
            may = np.isin(keys, allowed)
            keys, vectors = keys[may], vectors[may]
        scores = (vectors * query.astype(np.float64)).sum(axis=1) if len(keys) else np.empty(0)
        order = np.lexsort((keys, -scores))[: int(k)]
        return {"keys": keys[order], "scores": scores[order]}

    def _vectors(self, build: str, keys: Keys) -> dict[str, Any]:
        held, vectors = self._held(build)
        places = {int(key): place for place, key in enumerate(held)}
        return {"vectors": vectors[[places[int(key)] for key in keys]]}

    def _held(self, build: str) -> tuple[Keys, Vectors]:
        query = "SELECT key, data FROM vector WHERE build = ?"
        rows = self._rows.execute(query, (build,)).fetchall()
        joined = np.frombuffer(b"".join(data for _, data in rows), np.float32)
        return np.array([key for key, _ in rows], np.int64), joined.reshape(
            len(rows), -1 if rows else 0
        )

    def _check(self, build: str, given: int) -> None:
        one = "SELECT length(data) / 4 FROM vector WHERE build = ? LIMIT 1"
        held = self._rows.execute(one, (build,)).fetchone()
        if held and held[0] != given:
            raise InvalidInput(f"A vector has {given} dimensions, the build has {held[0]}.")


@contextmanager
def vector_server() -> Iterator[HttpVectors]:
    """A client of a server of its own."""
    table = Table()

    class Tables(Handler):
        def respond(self) -> None:
            address = httpx.URL(self.path)
            given = unpacked(self.body())
            try:
                found = table.answer(address.path[1:], address.params["build"], given)
                status, body = 200, packed(found)
            except KeyError as error:
                status, body = 404, json.dumps(error.args[0]).encode()
            except InvalidInput as error:
                status, body = 422, json.dumps(error.message).encode()
            self.answer(body, status)

    with http_server(Tables) as address:
        yield HttpVectors(address)


def packed(arrays: Arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def unpacked(data: bytes) -> dict[str, np.ndarray]:
    # numpy reads headers by ``ast``, which mixes up the depths of threads in Python 3.11.
    with _parsing, np.load(io.BytesIO(data)) as file:
        return dict(file)
