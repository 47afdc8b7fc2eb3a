"""Files read by the workers of a cluster, some ahead of the one that is waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from rag import readers
from rag.cluster import tasks
from rag.cluster.cluster import Cluster
from rag.errors import UnreadableDocument
from rag.readers.formats import reader_version
from rag.types import Document

_FILES_PER_TASK = 2  # files for each thread: one is read while another is on its way
_MOST_BYTES = 64 << 20  # of a file that is sent, and of all that are

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file on this computer, what its user calls it, where it came from, and its bounds."""

    path: Path
    name: str
    source: str
    limits: readers.Limits
    encoding: str = ""

    @property
    def size(self) -> int:
        """Its bytes; 0 where it is gone."""
        return self.path.stat().st_size if self.path.exists() else 0

    def read(self, progress: Progress, cancelled: Callable[[], bool]) -> Document:
        """Read it here, see ``readers.read``."""
        return readers.read(
            self.path,
            self.name,
            source=self.source,
            limits=self.limits,
            progress=progress,
            cancelled=cancelled,
            encoding=self.encoding,
        )


class ReadingAhead:
    """A reader of files in the order in which a job comes to them.

    Used by one thread at a time. What is heavy is sent, such as PDF and Office; to read plain text
    takes no longer than to send it.
    """

    def __init__(self, cluster: Cluster, find: Callable[[int], StoredFile | None]) -> None:
        """``find`` gives the file of an item, None for one that there is nothing to read of."""
        self._cluster = cluster
        self._find = find
        self._order: Sequence[int] = ()
        self._places: dict[int, int] = {}
        self._next = 0
        self._sent: dict[int, tuple[Future[Document], int]] = {}

    def expect(self, order: Sequence[int]) -> None:
        """Name the items that will come, by number, in their order."""
        self._order, self._next = order, 0
        self._places = {item: place for place, item in enumerate(order)}
        self._sent = {item: sent for item, sent in self._sent.items() if item in self._places}

    def read(
        self, item: int, file: StoredFile, progress: Progress, cancelled: Callable[[], bool]
    ) -> Document:
        """The document in the file of an item. Raises what ``readers.read`` does."""
        if not self._cluster.there:
            return file.read(progress, cancelled)
        self._pass(item)
        future = self._sent.pop(item)[0] if item in self._sent else self._send(file)
        self._fill()
        document = self._cluster.result(future, cancelled)
        if document and document.reader_version == reader_version(document.media_type):
            return document
        return file.read(progress, cancelled)

    def _pass(self, item: int) -> None:
        """Forget what came before an item: others have it, or it is stored already."""
        place = self._places.get(item, -1)
        self._next = max(self._next, place + 1)
        for passed in [source for source in self._sent if self._places[source] < place]:
            future, _ = self._sent.pop(passed)
            future.cancel()

    def _fill(self) -> None:
        most = _FILES_PER_TASK * self._cluster.breadth
        while self._next < len(self._order) and len(self._sent) < most:
            if sum(size for _, size in self._sent.values()) > _MOST_BYTES:
                return
            item = self._order[self._next]
            self._next += 1
            file = None if item in self._sent else self._find(item)
            if file and (future := self._send(file)):
                self._sent[item] = future, file.size

    def _send(self, file: StoredFile) -> Future[Document] | None:
        try:
            if file.encoding or not is_sent(file.name) or file.size > _MOST_BYTES:
                return None
            content = file.path.read_bytes()
        except OSError:  # reading it here says what is wrong
            return None
        return self._cluster.submit(tasks.read, content, file.name, file.source, file.limits)


def is_sent(name: str) -> bool:
    """Whether files of that name are read by workers."""
    try:
        return readers.format_of(name).heavy
    except UnreadableDocument:
        return False
