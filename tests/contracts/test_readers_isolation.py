"""Reading in a child process: hangs, crashes, memory, cancelling, threads."""

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rag import Cancelled, UnreadableDocument, Upload
from rag.readers import Limits, format_of, formats, isolation, read, read_text
from rag.readers.content import Source
from rag.readers.isolation import ReaderDefect, WorkerPool
from tests.sample_files import pdf
from tests.workspaces import QUICK, workspace_at

PDF = format_of("x.pdf")


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(1)
    yield pool
    pool.close()


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book"
    path.write_bytes(pdf(*(f"page {number}" for number in range(1, 301))))
    return path


@pytest.fixture
def leaflet(tmp_path: Path) -> Path:
    path = tmp_path / "leaflet"
    path.write_bytes(pdf("one page"))
    return path


def test_the_process_is_kept_warm(pool, leaflet):
    first = pool.read(PDF, Source(leaflet))
    (worker,) = pool.idle
    second = pool.read(PDF, Source(leaflet))
    assert first == second
    assert first.text == "one page"
    assert pool.idle == (worker,)


def test_a_failed_reading_does_not_end_the_process(pool, leaflet, tmp_path):
    pool.read(PDF, Source(leaflet))
    (worker,) = pool.idle
    bad = tmp_path / "bad"
    bad.write_bytes(b"%PDF-1.7 nothing")
    with pytest.raises(UnreadableDocument):
        pool.read(PDF, Source(bad))
    assert pool.idle == (worker,)


def test_a_killed_process_means_damaged_and_the_next_file_gets_a_new_one(pool, book, leaflet):
    def kill(done: int, total: int) -> None:
        if done == 1:
            os.kill(pool.busy[0].pid, signal.SIGKILL)

    with pytest.raises(UnreadableDocument, match="crashed") as caught:
        pool.read(PDF, Source(book, tick=kill))
    assert caught.value.reason == "damaged"
    assert pool.idle == ()
    assert pool.read(PDF, Source(leaflet)).text == "one page"


def test_an_idle_process_that_died_is_replaced(pool, leaflet):
    pool.read(PDF, Source(leaflet))
    (worker,) = pool.idle
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    assert pool.read(PDF, Source(leaflet)).text == "one page"


def test_a_fault_of_the_program_is_not_blamed_on_the_file(pool, leaflet, tmp_path):
    broken = replace(PDF, reader="rag.readers.office.word:_outline")  # wants no Source
    with pytest.raises(ReaderDefect) as caught:
        pool.read(broken, Source(leaflet))
    assert "AttributeError: 'Source' object has no attribute 'find'" in str(caught.value)
    assert "word.py" in str(caught.value)
    absent = replace(PDF, reader="rag.readers.office.word:absent")
    with pytest.raises(ReaderDefect, match="has no attribute 'absent'"):
        pool.read(absent, Source(leaflet))
    assert pool.read(PDF, Source(leaflet)).text == "one page"


def test_the_log_has_what_went_wrong_in_a_reader(home, monkeypatch, caplog):
    reader = "rag.readers.office.word:_outline"
    broken = replace(format_of("x.txt"), reader=reader)
    monkeypatch.setattr("rag.readers.format_of", lambda name: broken)
    with closing(workspace_at(home)) as workspace:
        base = workspace.create("Guide", QUICK)
        job = base.documents.add_files([Upload("x.txt", io.BytesIO(b"words"))])
        workspace.jobs.run(job)
        (item,) = workspace.jobs.items(job)
    identity = re.fullmatch(r"Unexpected error, id ([0-9a-f]{8})\.", item.reason)
    assert identity
    assert f"id {identity.group(1)}" in caplog.text
    assert "'Source' object has no attribute 'find'" in caplog.text


@pytest.mark.parametrize(
    "limits",
    [Limits(seconds_per_page=0.3), Limits(seconds=4.0)],
    ids=["per page", "altogether"],
)
def test_a_process_that_stands_still_is_killed(pool, book, leaflet, limits):
    pids: list[int] = []
    pool.read(PDF, Source(leaflet))  # so that the start of the process takes none of the time

    def stop(done: int, total: int) -> None:
        if not pids:
            pids.append(pool.busy[0].pid)
            os.kill(pids[0], signal.SIGSTOP)

    with pytest.raises(UnreadableDocument) as caught:
        pool.read(PDF, Source(book, limits, tick=stop))
    assert caught.value.reason == "timed_out"
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_cancelling_stops_between_pages(pool, book):
    seen: list[int] = []
    with pytest.raises(Cancelled):
        pool.read(
            PDF, Source(book, tick=lambda done, total: seen.append(done)), lambda: len(seen) > 5
        )
    assert max(seen) < 300
    assert pool.idle == ()


def test_cancelling_while_waiting_for_a_process(pool, book):
    started, stop = threading.Event(), threading.Event()

    def hold(done: int, total: int) -> None:
        started.set()
        stop.wait(120)

    with ThreadPoolExecutor(1) as threads:
        holding = threads.submit(pool.read, PDF, Source(book, tick=hold))
        assert started.wait(120)
        with pytest.raises(Cancelled):
            pool.read(PDF, Source(book), lambda: True)
        stop.set()
        assert holding.result().text.startswith("page 1\n\npage 2")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the address space reliably")
def test_memory_is_bounded(pool, tmp_path, leaflet):
    path = tmp_path / "huge"
    path.write_bytes(b"<html><body>" + b"<p>word</p>" * 4_000_000)
    with pytest.raises(UnreadableDocument) as caught:
        pool.read(format_of("x.html"), Source(path, Limits(memory_mb=700)))
    assert caught.value.reason == "too_large"
    assert pool.read(PDF, Source(leaflet)).text == "one page"


def test_threads_get_their_own_documents(tmp_path):
    paths = [tmp_path / str(number) for number in range(8)]
    for path in paths:
        path.write_bytes(pdf(f"document {path.name}"))
    with ThreadPoolExecutor(4) as threads:
        texts = [document.text for document in threads.map(lambda p: read(p, "x.pdf"), paths)]
    assert texts == [f"document {number}" for number in range(8)]


def test_the_process_ends_with_its_parent(leaflet):
    program = (
        "import os, sys; from pathlib import Path; from rag.readers import read; "
        "from rag.readers.isolation import shared_pool; "
        "read(Path(sys.argv[1]), 'x.pdf'); print(shared_pool().idle[0].pid, flush=True); "
        "os._exit(1)"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", program, str(leaflet)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    child = int(done.stdout)
    assert any(_is_gone(child) for _ in range(200))


def _is_gone(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    time.sleep(0.05)
    return status == "Z"


def test_it_works_from_any_folder(tmp_path, leaflet, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pool = WorkerPool(1)
    assert pool.read(PDF, Source(leaflet)).text == "one page"
    pool.close()


@pytest.mark.parametrize(
    ("extension", "content", "text"),
    [
        ("txt", "words", "words"),
        ("md", "# Words", "# Words"),
        ("html", "<p>words</p>", "words"),
        ("csv", "a,b\n1,2", "a\tb\n1\t2"),
        ("tsv", "a\tb\n1\t2", "a\tb\n1\t2"),
        ("json", '{"a": 1}', "a: 1"),
        ("jsonl", '{"a": 1}', "a: 1"),
    ],
)
def test_light_formats_are_read_in_a_process_apart_too(
    tmp_path, monkeypatch, extension, content, text
):
    def run_here(*_: object) -> None:
        raise AssertionError("read in this process")

    monkeypatch.setattr(formats, "run", run_here)
    path = tmp_path / "file"
    path.write_text(content, encoding="utf-8")
    assert read(path, f"x.{extension}").text == text


def test_pasted_text_is_read_in_a_process_apart(monkeypatch):
    pool = WorkerPool(1)
    monkeypatch.setattr("rag.readers.shared_pool", lambda: pool)
    pasted = "# Größe \ud800\n\n|a|b|\n|-|-|\n|1|2|\n"
    assert read_text(pasted, "Note").text == "# Größe \n\na\tb\n1\t2\n"
    (worker,) = pool.idle
    os.kill(worker.pid, signal.SIGSTOP)
    stops = iter([False, False, True])
    with pytest.raises(Cancelled):
        read_text(pasted, "Note", cancelled=lambda: next(stops))
    assert pool.idle == ()


def test_light_files_do_not_wear_a_process_out(monkeypatch, pool, tmp_path, leaflet):
    monkeypatch.setattr(isolation, "_READS_PER_PROCESS", 2)
    path = tmp_path / "file"
    path.write_bytes(b"words")
    pool.read(PDF, Source(leaflet))
    (worker,) = pool.idle
    for _ in range(5):
        assert pool.read(format_of("x.txt"), Source(path)).text == "words"
    assert pool.idle == (worker,)
    pool.read(PDF, Source(leaflet))
    assert pool.idle == ()


@pytest.mark.parametrize(
    ("share", "silence", "ends"),
    [
        pytest.param(0.2, 0.0, 5.0, id="busy machine: time of a processor counts"),
        pytest.param(1.0, 0.0, 1.0, id="idle machine"),
        pytest.param(0.0, 0.0, 10.0, id="stands still and says so"),
        pytest.param(0.2, 9.0, 1.0, id="silent"),
    ],
)
def test_a_busy_machine_is_given_more_time(monkeypatch, share, silence, ends):
    now = [100.0]
    monkeypatch.setattr(isolation.time, "monotonic", lambda: now[0])
    retry_policy = isolation._Patience(Limits(seconds_to_open=1.0))
    retry_policy.hears(50.0)  # the process has worked for others
    with pytest.raises(UnreadableDocument, match="stuck"):  # noqa: PT012
        for step in range(1, 200):
            now[0] = 100.0 + step / 16
            if not silence:
                retry_policy.hears(50.0 + share * step / 16)
            retry_policy.check()
    assert now[0] - 100.0 == pytest.approx(ends, abs=0.1)
