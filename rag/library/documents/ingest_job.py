"""The job that reads files, pasted texts and URLs into a knowledge base, one by one.

A document is stored as soon as it is read and cut, and answers by words from then on. Vectors are
made when nothing else is to do: while another process reads a long file, and after the last one.
"""

from __future__ import annotations

import io
import logging
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from rag import readers
from rag.errors import (
    Cancelled,
    StorageError,
    TouchstoneError,
    UnreadableDocument,
)
from rag.evaluation.formats import question_files as question_files
from rag.library.documents.embedding_queue import EmbeddingQueue, refresh
from rag.library.documents.ingestion import (
    Ingest,
    Ingestion,
    Item,
    ProgressCallback,
    Stored,
    distinct,
)
from rag.library.documents.reading_again import unread_words
from rag.library.documents.remaining_time import RemainingTime, waiting_items
from rag.library.questions.reanchoring import lost_labels
from rag.library.questions.sets import QuestionSets
from rag.readers import web
from rag.readers.web import distinguish_name
from rag.services.jobs.reporter import Reporter
from rag.services.services import Services
from rag.storage import Connection, bases, documents, files
from rag.storage import jobs as rows
from rag.storage.jobs import ItemStatus, JobItem, JobRow
from rag.storage.leases import Claims
from rag.types import Document, Receipt, name_stem, percent

log = logging.getLogger(__name__)

_INDEXING = "indexing"  # what is done once, for all items together
_PATIENCE = 0.25  # seconds that reading may take before vectors are made meanwhile
_POLL = 0.1

_Progress = Callable[[int, int], None]


def ingest(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "ingest"; items that an earlier process finished stay as they are."""
    with _ItemReader.opened(services, job, reporter) as reader:
        return _ingest(services, job, reader)


def help_ingest(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Read and embed what nobody else has claimed of a job of kind "ingest"."""
    with _ItemReader.opened(services, job, reporter) as reader:
        read = sum(map(reader.handle, reader.shortest_first()))
        while reader.vectors.some():
            pass
    return f"{read} read"


def _ingest(services: Services, job: JobRow, reader: _ItemReader) -> str:
    while waiting := reader.shortest_first():
        handled = sum(map(reader.handle, waiting))
        if not handled and not reader.vectors.some():
            reader.wait_for_others()
    statuses = [item.status for item in reader.all_items()]
    new = "added" in statuses or "replaced" in statuses
    if reader.vectors.rest(reader.reporter.give_way) or new:
        reader.refresh()
    if upload := Ingest.of(job).questions:
        # Labels can only be anchored once the documents are there
        content = services.files.path(upload.file).read_text("utf-8")
        QuestionSets(services.database, job.base_id).save(
            upload.set, question_files.parse(upload.name, content)
        )
    failed = statuses.count("failed")
    by_words = reader.vectors.note_what_lacks(job.id)
    return (
        f"{len(statuses) - failed} of {len(statuses)} read"
        + f", {failed} failed" * bool(failed)
        + f", {by_words} by lexical search only" * bool(by_words)
    )


class _ItemReader:
    def __init__(
        self,
        services: Services,
        job: JobRow,
        reporter: Reporter,
        claims: Claims,
        forecast: RemainingTime,
    ) -> None:
        self._claims = claims
        self._services = services
        self._job = job
        self.reporter = reporter
        self._ingestion = Ingestion(services.database, job.base_id, services.models.embedder)
        self._forecast = forecast
        self.vectors = EmbeddingQueue(
            services.database, self._ingestion, claims, self._forecast, self._say
        )
        self._forecast.add(_INDEXING, "all", 0, {_INDEXING: _INDEXING})

    @classmethod
    @contextmanager
    def opened(cls, services: Services, job: JobRow, reporter: Reporter) -> Iterator[Self]:
        """A reader of the items of a job, until the block ends."""
        with (
            Claims(services.database) as claims,
            RemainingTime.of(services, job.share_done) as forecast,
        ):
            yield cls(services, job, reporter, claims, forecast)

    def all_items(self) -> list[JobItem]:
        """Return the items of the job as they are now."""
        return self._services.database.fetch(rows.items, self._job.id)

    def shortest_first(self) -> list[JobItem]:
        """Items that wait in the order in which they are read: what is in early answers early.

        Of copies, the shortest name comes first, and stays.
        """
        steps = self._ingestion.work().items()
        work = {step: pace for step, pace in steps if not step.startswith("embedding")}
        waiting = waiting_items(self._services, self.all_items())
        for it in waiting:
            reading = "reading pdf" if it.kind == "pdf" else "reading"
            first = {"fetching": "fetching"} if it.kind == "address" else {}
            steps_of_item = {**first, "reading": reading, **work}
            self._forecast.add(it.item.position, it.kind, it.size, steps_of_item)
        items = (it.item for it in waiting)
        return sorted(
            items, key=lambda item: (self._forecast.seconds(item.position), len(item.name))
        )

    def handle(self, item: JobItem) -> bool:
        """Read one item, unless another worker has it; whether that was so.

        Whatever is wrong with it is noted, and the next one goes on.
        """
        piece = f"item {item.job_id}/{item.position}"
        if not self._claims.take([piece]):
            return False
        try:
            self._handle(item)
        finally:
            self._claims.leave([piece])
        self.reporter.give_way()
        return True

    def wait_for_others(self) -> None:
        """Let those who have what is left go on for a moment. Raises Cancelled."""
        self._say("other workers are reading")
        time.sleep(_POLL)

    def _handle(self, item: JobItem) -> None:
        waits = self._services.database.fetch(rows.waits, self._job.id, item.position)
        failed = False
        try:
            if waits:  # else a later job has another version of it
                self._store(item)
        except (Cancelled, StorageError):
            raise
        except TouchstoneError as error:
            failed = True
            self._fail(item, error.message, error.hint)
        except Exception:
            failed = True
            identity = uuid.uuid4().hex[:8]
            log.exception("Reading %s failed unexpectedly, id %s.", item.name, identity)
            self._fail(item, f"Unexpected error, id {identity}.", "The log has the details.")
        self._forecast.end(item.position, failed=failed)

    def refresh(self) -> None:
        """Bring the indexes up to date."""
        self._forecast.reached(_INDEXING, _INDEXING)
        refresh(self._services, self._job.base_id, self._say)
        self._forecast.end(_INDEXING)

    def _store(self, item: JobItem) -> None:
        on_progress = self._teller(item)
        source = self._fetched(item, on_progress)
        if source.get("again") and self._ingestion.present(source["file"]) is None:
            self._fail(item, "It was deleted in the meantime.", "Add it again.")
            return
        if not source.get("again") and self._unpacked(item, source, on_progress):
            return
        # Another encoding makes another text of the same bytes.
        if not (source.get("again") or source.get("encoding")) and self._kept(item, source):
            return
        try:
            document = self._read(item, source, on_progress)
        except UnreadableDocument as error:
            if error.reason == "needs_password":
                self._keep(item, source)
            raise
        self._forecast.read(item.position, len(document.text))

        def book(connection: Connection, done: Stored) -> None:
            if rows.get(connection, self._job.id).cancel:  # later than the last beat
                raise Cancelled("Stopped.")
            reason = "; ".join(
                filter(
                    None, (unread_words(document), self._ingestion.behind(), lost_labels(done.lost))
                )
            )
            rows.set_item(
                connection, self._job.id, item.position, done.status, reason, chunks=done.chunks
            )
            if done.before not in (None, document.id):
                rows.reopen(connection, self._job.id, done.before)

        self._ingestion.take(document, on_progress, book)
        self._services.files.discard()

    def _unpacked(
        self, item: JobItem, source: Mapping[str, Any], on_progress: ProgressCallback
    ) -> bool:
        """Make items of the files within a file; return whether it is no document itself."""
        form = readers.format_of(source["name"])
        if not form.unpacker or source.get("pasted") or item.payload.get("unpacked"):
            return False
        kept, depth = self._services.files, source.get("depth", 0)
        about = {"source": source["source"] or source["name"], "depth": depth + 1}
        about |= {"encoding": source.get("encoding", "")}
        new = list[Item]()
        on_progress("unpacking", 0, 0)
        with tempfile.TemporaryDirectory() as folder, kept.arriving() as arrival:
            parts, left_out = readers.unpack(
                kept.path(source["file"]),
                source["name"],
                Path(folder),
                depth=depth,
                limits=self._limits(),
                cancelled=self.reporter.cancelled,
            )
            for name, place in parts:
                with place.open("rb") as content:
                    new.append((name, {"file": arrival.put(content).sha256, **about}))
                on_progress("unpacking", len(new), len(parts))
            unread = Receipt(left_out=left_out).words
            reason = f"{len(new):,} file{'s' * (len(new) != 1)}"
            reason += f"; not read: {unread}" if unread else ""
            with self._services.database.write() as connection:
                present = [(row.name, row.payload) for row in rows.items(connection, item.job_id)]
                named = distinct([*present, *new])[len(present) :]
                outcome = reason if form.is_archive else None
                files.add_unpacked(connection, item.job_id, item.position, named, reason=outcome)
                arrival.confirm(connection)
        return form.is_archive

    def _kept(self, item: JobItem, source: Mapping[str, Any]) -> bool:
        """Whether these bytes are stored already, which is then noted.

        Under another name they take the place of what was stored under this one. A copy of the
        same folder whose name stands whole in the stored one, as "leave.md" does in "leave (2).md",
        gives it its name; "a.md" does not stand in "data.md".
        """
        if self._ingestion.present(source["file"]) is None:
            return False
        with self._services.database.write() as connection:
            stored_name = documents.exists(connection, self._job.base_id, source["file"])
            if stored_name is None:
                return False  # deleted meanwhile
            name = source["name"]
            before = self._ingestion.withdraw(connection, name, source["file"])
            ahead, stem, behind = name_stem(stored_name).partition(name_stem(name))
            is_part = bool(stem) and not any(map(str.isalnum, ahead[-1:] + behind[:1]))
            is_part = is_part and "/" not in ahead + behind
            if is_part and len(name) < len(stored_name):
                documents.set_name(connection, self._job.base_id, source["file"], name)
                bases.touch(connection, self._job.base_id)
                reason = f"the same content was stored as {stored_name}"
            else:
                reason = (
                    "" if stored_name == name else f"the same content is stored as {stored_name}"
                )
            status: ItemStatus = "unchanged" if before is None else "replaced"
            rows.set_item(connection, self._job.id, item.position, status, reason)
            if before is not None:
                rows.reopen(connection, self._job.id, before)
        self._services.files.discard()
        return True

    def _fetched(self, item: JobItem, on_progress: ProgressCallback) -> Mapping[str, Any]:
        """The item as a stored file: its hash, name and source."""
        if "refused" in item.payload:
            message, hint = item.payload["refused"]
            raise UnreadableDocument(message, hint, reason="unsupported_type")
        if "url" not in item.payload:
            return {"name": item.name, "source": "", **item.payload}
        on_progress("fetching", 0, 0)
        settings = self._services.settings
        fetched = web.fetch(item.payload["url"], allow_private=settings.allow_private_urls)
        with self._services.files.arriving() as arrival:
            stored = arrival.put(io.BytesIO(fetched.data))
            with self._services.database.write() as connection:
                arrival.confirm(connection)
                rows.note_fetched(connection, item, stored.sha256)
        other = self._services.database.fetch(documents.source_of, self._job.base_id, fetched.name)
        is_taken = other is not None and other != fetched.requested_url
        name = distinguish_name(fetched.name, fetched.requested_url) if is_taken else fetched.name
        address = {"file": stored.sha256, "name": name, "source": fetched.requested_url}
        return address | {"encoding": item.payload.get("encoding", "")}

    def _read(
        self, item: JobItem, source: Mapping[str, Any], on_progress: ProgressCallback
    ) -> Document:
        on_progress("reading", 0, 0)
        path = self._services.files.path(source["file"])
        if source.get("pasted"):
            text = path.read_text("utf-8")
            document = self._meanwhile(
                lambda _, cancelled: readers.read_text(text, source["name"], cancelled=cancelled),
                on_progress,
            )
            return replace(document, id=source["file"], source=source["source"])
        return self._meanwhile(
            lambda progress, cancelled: readers.read(
                path,
                source["name"],
                source=source["source"],
                limits=self._limits(),
                progress=progress,
                cancelled=cancelled,
                encoding=source.get("encoding", ""),
            ),
            on_progress,
        )

    def _limits(self) -> readers.Limits:
        settings = self._services.settings
        return readers.Limits(
            max_bytes=settings.max_upload_mb << 20, max_characters=settings.max_document_characters
        )

    def _meanwhile(
        self,
        read: Callable[[_Progress, Callable[[], bool]], Document],
        on_progress: ProgressCallback,
    ) -> Document:
        """Return the result of ``read``; embed other documents while it runs for a long time."""
        at, given_up = [(0, 0)], threading.Event()

        def cancelled() -> bool:
            return given_up.is_set() or self.reporter.cancelled()

        def progress(done: int, total: int) -> None:
            at[0] = done, total

        with ThreadPoolExecutor(1, "reading") as thread:
            reading = thread.submit(read, progress, cancelled)
            try:
                retry_policy = _PATIENCE
                while not wait([reading], retry_policy).done:
                    retry_policy = 0.0 if self.vectors.some() else _POLL
                    on_progress("reading", *at[0])
            except BaseException:
                given_up.set()
                raise
            return reading.result()

    def _keep(self, item: JobItem, source: Mapping[str, Any]) -> None:
        """Keep a file until somebody gives its password."""
        self._services.database.execute(files.note_locked, self._job.id, item.position, source)

    def _fail(self, item: JobItem, reason: str, hint: str) -> None:
        log.info("Job %s: %r was not read: %s", self._job.id, item.name, reason)
        self._services.database.execute(
            rows.set_item, self._job.id, item.position, "failed", reason, hint
        )

    def _teller(self, item: JobItem) -> ProgressCallback:
        pdf = item.name.lower().endswith(".pdf")

        def on_progress(step: str, done: int, total: int) -> None:
            if pdf and step == "reading" and total:
                self._forecast.pages(item.position, total)
            self._forecast.reached(item.position, step, done, total)
            if not total:
                self._say(f"{item.name}: {step}")
            elif pdf and step == "reading":
                self._say(f"{item.name}: {step} {done:,} of {total:,} pages")
            else:
                self._say(f"{item.name}: {step} {percent(done / total)}")

        return on_progress

    def _say(self, message: str) -> None:
        done, total, seconds_left = self._forecast.estimate()
        self.reporter.report(done, total, message, seconds_left)
