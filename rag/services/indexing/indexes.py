"""Search indexes, derived from the database: loaded, brought up to date, swapped in whole.

An index is a value. A search holds one and is never disturbed; a change of the documents
makes a new one from the old one and the difference, and the next search takes that. Vectors and
words may be on servers instead: they are sent the difference, and an index then is what a moment
has of them.
"""

from __future__ import annotations

import json
import logging
import math
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from rag.errors import InvalidInput
from rag.lexical import LexicalIndex
from rag.protocols import Embedder, VectorIndex
from rag.recipe import IndexRecipe
from rag.services.indexing.index import NO_CUT, Index, Kind, VectorChoice, caught_up, copied, write
from rag.services.indexing.servers import IN_PROCESS, Place, Servers, opened, seal
from rag.storage import Connection, Database, bases, builds, documents, passages, vectors
from rag.storage.files import sync_folder
from rag.storage.passages import PassageBatch
from rag.stores import RemoteVectorIndex
from rag.types import Keys, Vectors

log = logging.getLogger(__name__)

_RESTS = 10.0  # times as long as it worked: documents that keep coming in keep a tenth of a core

Heed = Callable[[], None]
"""Is called between batches of passages, and may raise to end the work."""


def _heed_nothing() -> None:
    return None


class Indexes:
    """The current index of every build in use. Safe to share between threads.

    Those used last are kept, up to ``most_bytes`` together and never less than one; the others are
    read again when they are asked for.
    """

    def __init__(
        self,
        database: Database,
        folder: Path,
        embedder: Callable[[str], Embedder],
        servers: Servers = IN_PROCESS,
        most_bytes: int = 1 << 30,
    ) -> None:
        self._database = database
        self._folder = folder
        self._embedder = embedder
        self._servers = servers
        self._most_bytes = most_bytes
        self._current: OrderedDict[Place, Index] = OrderedDict()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._background = Background()
        self._guard = threading.Lock()

    @property
    def bytes(self) -> int:
        """About how much memory all of them take in this process."""
        with self._guard:
            return sum(index.bytes for index in self._current.values())

    def current(self, base_id: int, recipe: IndexRecipe, version: int | None = None) -> Index:
        """Return the index of a build at a version of the documents or later, by default now.

        Looking registers nothing: the index of a recipe that was never built is empty. One that
        has outgrown its kind is moved in the background; searches go on with what there is. Raises
        InvalidRecipe, ProviderError, or StorageError for a server.
        """
        index = self._present(base_id, recipe, version)
        if self._chosen(index, recipe).kind != index.kind or not index.dense.settled:
            work = partial(self.settled, base_id, recipe)
            self._background.start(("index", base_id, recipe.hash), work)
        return index

    def settled(self, base_id: int, recipe: IndexRecipe, heed: Heed = _heed_nothing) -> Index:
        """The same in the kind that its size asks for, with its graph where it has one.

        That may take minutes, in which other searches go on. Raises as ``current`` does, and what
        ``heed`` raises.
        """
        place = (base_id, recipe.hash)
        with self._lock(("settling", *place)):
            index = self._present(base_id, recipe, heed=heed)
            kind = self._chosen(index, recipe).kind
            if kind == index.kind:
                if not index.dense.settled:
                    index.dense.settle()
                return index
            dense = self._of_kind(index, place, recipe, kind)
            dense.settle()
            with self._lock(place):
                present = self._cached(place) or index
                dense = caught_up(dense, index, present)
                index = replace(present, dense=dense, kind=kind)
                self._keep(place, index)
        is_there = place in self._database.fetch(builds.places)
        if not is_there:  # deleted meanwhile
            self.forget(*place)
        return index

    def choice(self, base_id: int, recipe: IndexRecipe) -> VectorChoice:
        """Return the kind of a build's vector index, and the reason, without loading the index.

        If vectors of the embedder are stored, their dimension comes from the database.
        """
        embedder = self._embedder(recipe.embedder)
        with self._database.read() as connection:
            passages = builds.passages_of(connection, base_id, recipe.cut)
            dimension = vectors.dimension(connection, embedder.id)
        return self._servers.chosen(recipe, passages, dimension or embedder.dimension)

    def _chosen(self, index: Index, recipe: IndexRecipe) -> VectorChoice:
        dimension = self._embedder(recipe.embedder).dimension
        return self._servers.chosen(recipe, len(index.passages), dimension)

    def _of_kind(self, index: Index, place: Place, recipe: IndexRecipe, kind: Kind) -> VectorIndex:
        """The vectors of an index in another kind of index."""
        log.info("Build %s: its vectors go from %s to %s.", recipe.hash, index.kind, kind)
        dense = self._servers.dense(place, kind, self._embedder(recipe.embedder))
        return copied(index.dense, dense, index.embedded_passages)

    def _present(
        self,
        base_id: int,
        recipe: IndexRecipe,
        version: int | None = None,
        heed: Heed = _heed_nothing,
    ) -> Index:
        place = (base_id, recipe.hash)
        if version is None:  # a replica may lag behind the caller's own change
            version = self._database.fetch(bases.version, base_id)
        index = self._cached(place)
        if index is not None and index.version == version:
            return index
        is_spoilt = False
        with self._lock(place):
            index = self._cached(place)
            if index is None:
                index, is_spoilt = self._load(place, recipe)
            # The index brought to ``version`` or later, without reading again what did not change.
            index = self._database.nearby(
                lambda connection: self._read_on(connection, index, base_id, recipe, heed),
                lambda connection: bases.has_version(connection, base_id, version),
            )
            self._keep(place, index)
            self._tidy(index, base_id)
        if is_spoilt:
            self._save(index, place, recipe)
        return index

    def complete(self, base_id: int, recipe: IndexRecipe) -> Index:
        """The same for measurements: raises InvalidInput while documents lack vectors.

        It is settled, so that what is measured does not depend on the moment.
        """
        index = self.settled(base_id, recipe)
        if index.waiting:
            raise InvalidInput(
                f"Only lexical search finds {len(index.waiting):,} of {len(index.keys):,} "
                "documents so far: their vectors are not stored yet.",
                "Wait for the job that reads them, or build the rest of the index.",
            )
        return index

    def save(self, base_id: int, recipe: IndexRecipe, heed: Heed = _heed_nothing) -> None:
        """Settle it and write a snapshot: the next start need not read every vector from SQL.

        A snapshot is a convenience: a full disk, or another process that writes one at the same
        moment, costs time at the next start and nothing else. None is written while documents lack
        vectors: the last one stays. Raises as ``settled`` does.
        """
        self._save(self.settled(base_id, recipe, heed), (base_id, recipe.hash), recipe)

    def _save(self, index: Index, place: Place, recipe: IndexRecipe) -> None:
        target = self._snapshot_folder(place)
        if index.waiting:
            return
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=".new-"))
            try:
                write(index, fresh, self._embedder(recipe.embedder).id)
                seal(fresh)
                with self._lock(place):
                    shutil.rmtree(target, ignore_errors=True)
                    fresh.rename(target)
                sync_folder(target.parent)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
        except OSError as error:
            log.warning("The index of build %s was not written: %s.", recipe.hash, error)

    def forget(self, base_id: int, build_hash: str | None = None) -> None:
        """Drop the index of a deleted build, or of a whole deleted base."""
        with self._guard:
            for place in [key for key in self._current if key[0] == base_id]:
                if build_hash in (None, place[1]):
                    del self._current[place]
        shutil.rmtree(self._folder / str(base_id) / (build_hash or ""), ignore_errors=True)
        self._servers.forget(base_id, build_hash)

    def _cached(self, place: Place) -> Index | None:
        with self._guard:
            if place in self._current:
                self._current.move_to_end(place)
            return self._current.get(place)

    def _keep(self, place: Place, index: Index) -> None:
        """Release what was used longest ago. Of a server there is one view at a time: it stays.

        Another view would tell the server to delete what a search under way still reads.
        """
        with self._guard:
            self._current[place] = index
            self._current.move_to_end(place)
            total = sum(index.bytes for index in self._current.values())
            for old in [key for key in self._current if key != place]:
                oldest = self._current[old]
                if total > self._most_bytes and not isinstance(oldest.dense, RemoteVectorIndex):
                    total -= self._current.pop(old).bytes

    def _tidy(self, index: Index, base_id: int) -> None:
        """Let servers forget what nobody needs, unless another process has changed documents."""
        if not self._servers.due(index.dense):
            return
        with self._database.write() as connection:
            bases.hold(connection, base_id)  # and nobody changes any meanwhile
            if bases.version(connection, base_id) == index.version:
                self._servers.tidy(index.dense)

    def _lock(self, what: Hashable) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(what, threading.Lock())

    def _snapshot_folder(self, place: Place) -> Path:
        return self._folder / str(place[0]) / place[1]

    def _load(self, place: Place, recipe: IndexRecipe) -> tuple[Index, bool]:
        """Load the snapshot of an index, and return whether it must be written again.

        Without a trusted snapshot, the result is an empty index: all data is in SQL. A snapshot
        without hashes, from an earlier version, cannot be trusted: a loss of data would not be
        detected.
        """
        folder = self._snapshot_folder(place)
        is_there = folder.is_dir()
        if is_there:
            try:
                with opened(folder):
                    index = self._read(place, recipe, folder)
                    return index, not index.lexical.is_complete
            # SystemError: Python 3.11 raises it at times where two threads parse, as NumPy does the
            # header of a file.
            except (OSError, ValueError, KeyError, RuntimeError, SystemError) as error:
                log.warning(
                    "The snapshot of build %s is not used: %s. It is made again from the database.",
                    recipe.hash,
                    error,
                )
        kind = self.choice(place[0], recipe).kind
        dense = self._servers.dense(place, kind, self._embedder(recipe.embedder))
        lexical = LexicalIndex.empty(recipe.analyzer)
        return Index(-1, NO_CUT, dense, lexical, {}, kind=kind), is_there

    def _read(self, place: Place, recipe: IndexRecipe, folder: Path) -> Index:
        embedder = self._embedder(recipe.embedder)
        about = json.loads((folder / "index.json").read_text())
        if about["embedder"] != embedder.id:  # the same name on another server is another model
            raise ValueError(f"its vectors are those of {about['embedder']}")
        flat = np.load(folder / "keys.npy")
        ends = np.cumsum(about["sizes"], dtype=np.int64)
        keys = dict(zip(about["documents"], np.split(flat, ends)[: len(ends)], strict=True))
        kind = about.get("vectors", recipe.vector_index)
        dense = self._servers.dense(place, kind, embedder, str(folder / "dense"))
        lexical = LexicalIndex.load(folder / "lexical")
        # A snapshot has no version: documents are compared one by one on the first use.
        readers = dict(zip(about["documents"], about.get("readers", []), strict=False))
        return Index(-1, NO_CUT, dense, lexical, keys, readers, kind=kind)

    def _read_on(
        self,
        connection: Connection,
        index: Index,
        base_id: int,
        recipe: IndexRecipe,
        heed: Heed,
    ) -> Index:
        version = bases.version(connection, base_id)
        built = builds.documents(connection, base_id, recipe.hash)
        cut_id = builds.cut_id(connection, base_id, recipe.cut) or NO_CUT
        anew = documents.recut_since(connection, base_id, index.version)
        present = {document.id: document.reader_version for document in built}
        waits = {document.id for document in built if document.waits}
        read = {name for name in index.keys if present.get(name) == index.readers.get(name, 0)}
        unchanged = read - anew
        gone = [name for name in index.keys if name not in unchanged]
        new = sorted(set(present) - unchanged)
        came = sorted((unchanged & set(index.waiting)) - waits)  # their vectors
        dense, lexical = _without(index, gone)
        embedder = self._embedder(recipe.embedder)
        if not lexical.is_complete:
            # An earlier version wrote the snapshot, with less in it
            lexical = LexicalIndex.empty(recipe.analyzer)
            for batch in passages.stream(
                connection, base_id, cut_id, embedder.id, sorted(unchanged)
            ):
                lexical = lexical.added(zip(batch.keys.tolist(), batch.texts, strict=True))
        keys = {name: index.keys[name] for name in index.keys if name in unchanged}
        waiting = {name: index.waiting[name] for name in index.waiting if name in unchanged & waits}
        key_parts: dict[str, list[Keys]] = {}
        lacking: dict[str, list[Keys]] = {}
        for batch in passages.stream(connection, base_id, cut_id, embedder.id, new):
            heed()
            pairs = zip(batch.documents, batch.vectors, strict=True)
            late = np.array([data is None and name in waits for name, data in pairs])
            ready = batch.at(~late)
            dense = dense.added(ready.keys, self._vectors(ready, embedder))
            lexical = lexical.added(zip(batch.keys.tolist(), batch.texts, strict=True))
            _note_keys(batch, key_parts)
            _note_keys(batch.at(late), lacking)
        for batch in passages.stream(connection, base_id, cut_id, embedder.id, came):
            heed()
            dense = dense.added(batch.keys, self._vectors(batch, embedder))
        keys.update({name: np.concatenate(parts) for name, parts in key_parts.items()})
        keys.update({name: np.empty(0, np.int64) for name in new if name not in key_parts})
        waiting.update({name: np.concatenate(parts) for name, parts in lacking.items()})
        return Index(version, cut_id, dense, lexical, keys, present, waiting, index.kind)

    def _vectors(self, batch: PassageBatch, embedder: Embedder) -> Vectors:
        """Cached vectors of a batch, (n, dimension); any that are not there are computed again.

        So are those of another length: the server has another model under the same name now.
        """
        size = embedder.dimension * np.dtype(np.float32).itemsize
        rows = list(batch.vectors)
        lost = [place for place, data in enumerate(rows) if data is None or len(data) != size]
        if lost:
            texts = [batch.texts[place] for place in lost]
            embedded = [row.tobytes() for row in embedder.embed(texts, "document")]
            for place, row in zip(lost, embedded, strict=True):
                rows[place] = row
            with self._database.write() as connection:  # or every start would compute them
                keys = map(vectors.text_hash, texts)
                again = dict(zip(keys, embedded, strict=True))
                vectors.store(connection, embedder.id, again, replace=True)
        joined = b"".join(row for row in rows if row is not None)
        return np.frombuffer(joined, dtype=np.float32).reshape(len(rows), embedder.dimension)


def _without(index: Index, document_ids: Sequence[str]) -> tuple[VectorIndex, LexicalIndex]:
    if not document_ids:
        return index.dense, index.lexical
    keys = np.concatenate([index.keys[document_id] for document_id in document_ids])
    return index.dense.removed(keys), index.lexical.removed(keys)


def _note_keys(batch: PassageBatch, key_parts: dict[str, list[Keys]]) -> None:
    names = np.asarray(batch.documents)
    for name in dict.fromkeys(batch.documents):
        key_parts.setdefault(name, []).append(batch.keys[names == name])


class Background:
    """Threads, one at most for each thing that is worked on."""

    def __init__(self) -> None:
        self._busy: set[Hashable] = set()
        self._rests: dict[Hashable, float] = {}
        self._guard = threading.Lock()

    def start(self, what: Hashable, work: Callable[[], object]) -> None:
        """Do ``work`` unless somebody is at it, or has been lately. What it raises is logged."""
        with self._guard:
            if what in self._busy or time.monotonic() < self._rests.get(what, -math.inf):
                return
            self._busy.add(what)
        threading.Thread(target=self._run, args=(what, work), name=str(what), daemon=True).start()

    def _run(self, what: Hashable, work: Callable[[], object]) -> None:
        started = time.monotonic()
        try:
            work()
        except Exception:
            log.warning("Work on %s failed.", what, exc_info=True)
        now = time.monotonic()
        with self._guard:
            self._rests[what] = now + max(_RESTS * (now - started), 1.0)
            self._busy.discard(what)
