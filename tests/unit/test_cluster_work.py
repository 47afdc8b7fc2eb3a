"""What a cluster is sent: texts in even pieces, files ahead of the one that is waited for."""

import pickle
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import Document, UnreadableDocument, readers
from rag.cluster import Cluster, ReadingAhead, StoredFile, is_sent, reading, tasks
from rag.cluster.embedding import even_pieces
from rag.errors import ProviderMisbehaved
from rag.readers import Limits

PAGE = "<p>The valve leaks.</p>"


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=60), st.integers(1, 9))
def test_pieces_hold_each_text_once_and_are_about_as_long(lengths, most):
    pieces = even_pieces(lengths, most)
    assert sorted(place for piece in pieces for place in piece) == list(range(len(lengths)))
    assert len(pieces) <= most
    even = (sum(lengths) + len(lengths)) / most
    assert all(sum(lengths[at] for at in piece) <= even + max(lengths) + 1 for piece in pieces)


def test_texts_of_one_length_stay_together():
    assert even_pieces([9, 1, 9, 1], 2) == [[1, 3, 0], [2]]
    assert even_pieces([5, 5, 5, 5], 2) == [[0, 1], [2, 3]]


class Sent(Cluster):
    """A cluster that keeps what it is sent, and gives what it is told."""

    there = True
    breadth = 1

    def __init__(self) -> None:
        super().__init__(None, lambda: False)
        self.files: dict[str, Future[Document]] = {}
        self.gives: Callable[[str], Document | None] = read_by_worker

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        assert task is tasks.read
        content, name, _source, limits = arguments
        assert (content.decode(), limits) == (PAGE + name, Limits(max_bytes=999))
        self.files[name] = Future()
        return self.files[name]

    def result(self, future: Any, cancelled: Any = None) -> Any:
        return future and self.gives(
            next(name for name, sent in self.files.items() if sent is future)
        )


def read_by_worker(name: str) -> Document:
    return tasks.read((PAGE + name).encode(), name, "", Limits(max_bytes=999))


@pytest.fixture
def files(tmp_path: Path) -> list[StoredFile]:
    made = []
    for name in ("a.html", "b.html", "c.html", "d.html", "e.txt"):
        (tmp_path / name).write_text(PAGE + name)
        made.append(StoredFile(tmp_path / name, name, "", Limits(max_bytes=999)))
    return made


def read(ahead: ReadingAhead, item: int, files: list[StoredFile]) -> str:
    return ahead.read(item, files[item], lambda _done, _total: None, lambda: False).name


def test_files_are_sent_ahead_in_the_order_of_the_job(files):
    cluster = Sent()
    ahead = ReadingAhead(cluster, lambda item: files[item])
    ahead.expect([2, 0, 4, 3, 1])
    assert read(ahead, 2, files) == "c.html"
    assert list(cluster.files) == ["c.html", "a.html", "d.html"]
    assert read(ahead, 0, files) == "a.html"
    assert list(cluster.files) == ["c.html", "a.html", "d.html", "b.html"]
    assert read(ahead, 1, files) == "b.html"  # another worker has the one before
    assert [name for name, sent in cluster.files.items() if sent.cancelled()] == ["d.html"]


def test_files_that_are_too_much_at_once_wait(files, monkeypatch):
    cluster = Sent()
    monkeypatch.setattr(reading, "_MOST_BYTES", len(PAGE) + 10)
    cluster.breadth = 2  # type: ignore[misc]
    ahead = ReadingAhead(cluster, lambda item: files[item])
    ahead.expect([0, 1, 2, 3])
    read(ahead, 0, files)
    assert list(cluster.files) == ["a.html", "b.html", "c.html"]


def test_what_a_worker_cannot_read_is_read_here(files, monkeypatch):
    here, cluster = list[str](), Sent()
    plainly, older = readers.read, replace(read_by_worker("a.html"), reader_version=0)

    def noted(path: Path, name: str, **how: Any) -> Document:
        here.append(name)
        return plainly(path, name, **how)

    ahead = ReadingAhead(cluster, lambda _item: None)
    monkeypatch.setattr(readers, "read", noted)
    cluster.gives = lambda _name: older
    assert read(ahead, 0, files) == "a.html"
    assert here == ["a.html"]
    cluster.gives = lambda _name: None
    assert read(ahead, 1, files) == "b.html"
    assert here == ["a.html", "b.html"]
    assert read(ahead, 4, files) == "e.txt"
    assert here == ["a.html", "b.html", "e.txt"]
    assert list(cluster.files) == ["a.html", "b.html"]


def test_what_is_heavy_is_sent():
    sent = ["a.pdf", "A.DOCX", "b.htm", "scan.png", "a.txt", "a.md", "a.csv", "a.exe", "a"]
    assert [name for name in sent if is_sent(name)] == ["a.pdf", "A.DOCX", "b.htm", "scan.png"]


def test_why_a_file_is_unreadable_comes_back_from_a_worker():
    with pytest.raises(UnreadableDocument) as raised:
        tasks.read(b" \n", "empty.txt", "", Limits())
    back = pickle.loads(pickle.dumps(raised.value))
    assert type(back) is UnreadableDocument
    assert back.reason == "empty"


def test_a_worker_says_that_its_model_is_another_one():
    vectors = tasks.embed("fake", "fake-64", ["pump", "valve"])
    assert (vectors.shape, str(vectors.dtype)) == ((2, 64), "float32")
    with pytest.raises(ProviderMisbehaved, match="has the model fake-64, not fake-65") as raised:
        tasks.embed("fake", "fake-65", ["pump"])
    back = pickle.loads(pickle.dumps(raised.value))
    assert back.hint == "Install the same version of Touchstone and of its models there."
