"""The backup of a database on a server: of one moment, checked by hash, restored anywhere."""

import hashlib
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from rag import Workspace
from rag.storage import Database
from rag.storage.every_table import metadata
from tests.postgres import Server
from tests.runs import SET, VECTORS, handbook
from tests.verbs import run_verb
from tests.workspaces import DATABASE, DATABASES, URL, add

Told = dict[str, Any]
Run = Callable[..., tuple[int, Told, str]]
BESIDE = {"file_part", "lease"}  # bytes that are compared by themselves, and who is at work now


@pytest.fixture
def here(home: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """An evaluated knowledge base in PostgreSQL, which the command line works on."""
    before, DATABASES.server = DATABASES.server, postgres
    workspace, base = handbook(home)
    base.runs.evaluate(SET, VECTORS)
    monkeypatch.setenv(URL, DATABASES.of(home))
    yield workspace
    DATABASES.server = before
    workspace.close()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a verb; gives its exit code, what it told as JSON, and what it said besides."""

    return partial(run_verb, capsys)


def rows(url: str) -> dict[str, list[str]]:
    """Everything that a database says, by table."""
    with closing(Database(url)) as database, database.read() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table))))
            for table in metadata.sorted_tables
            if table.name not in BESIDE
        }


def test_a_server_comes_back_in_an_empty_database(here, run, postgres, tmp_path, monkeypatch):
    url, file, there = DATABASES.of(here.settings.home), tmp_path / "all.zip", tmp_path / "there"
    before = rows(url)
    code, told, _ = run("backup", file)
    assert (code, told["documents"], told["files"], told["lost"]) == (0, 3, 3, [])
    empty = postgres.url(postgres.create())
    monkeypatch.setenv(URL, empty)
    code, told, said = run("restore", file, "--home", there)
    assert (code, told["documents"], said) == (0, 3, "")
    assert rows(empty) == before
    assert len(before["run_question"]) == 5
    again = Workspace(here.settings.from_env(home=there))
    copy, base = again.base("handbook"), here.base("handbook")
    asked = "Why is there a grinding noise?"
    assert copy.search(asked, VECTORS).hits == base.search(asked, VECTORS).hits
    assert [run.metrics for run in copy.runs.list_all()] == [
        run.metrics for run in base.runs.list_all()
    ]
    assert add(again, copy, {"more.txt": "Numbers go on behind those that came."}) == ["added"]
    assert again.check() == []
    again.close()
    code, _, said = run("restore", file, "--home", tmp_path / "third")
    assert (code, "is not empty" in said) == (2, True)
    assert list((tmp_path / "third").iterdir()) == []


def test_a_backup_of_a_server_is_restored_into_a_file_and_back(
    here, run, postgres, tmp_path, monkeypatch
):
    before = rows(DATABASES.of(here.settings.home))
    files, there = [tmp_path / "one.zip", tmp_path / "two.zip"], tmp_path / "there"
    assert run("backup", files[0])[0] == 0
    monkeypatch.setenv(URL, f"sqlite:///{there / DATABASE}")
    assert run("restore", files[0], "--home", there)[0] == 0
    assert run("backup", files[1], "--home", there)[0] == 0
    empty = postgres.url(postgres.create())
    monkeypatch.setenv(URL, empty)
    assert run("restore", files[1], "--home", tmp_path / "third")[0] == 0
    assert rows(empty) == before


@pytest.mark.parametrize("part", ["database", "file"])
def test_a_damaged_backup_leaves_the_server_empty(here, run, postgres, tmp_path, monkeypatch, part):
    file = tmp_path / "all.zip"
    assert run("backup", file)[0] == 0
    with zipfile.ZipFile(file) as archive:
        whole = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in whole if name.startswith("files/") == (part == "file"))
    whole[name] = whole[name][:-1] + bytes([whole[name][-1] ^ 1])
    with zipfile.ZipFile(file, "w") as archive:
        for each, data in whole.items():
            archive.writestr(each, data)
    empty = postgres.url(postgres.create())
    monkeypatch.setenv(URL, empty)
    code, _, said = run("restore", file, "--home", tmp_path / "there")
    assert (code, "is not a complete backup" in said) == (2, True)
    assert not any(rows(empty).values())


def test_a_backup_beside_a_writer_holds_one_moment(here, run, postgres, tmp_path, monkeypatch):
    """What every document has (text, passages, vectors, original) is there for all or none."""
    base, ended, texts = here.base("handbook"), threading.Event(), set[str]()

    def writes() -> None:
        while not ended.is_set():
            text = f"Document {len(texts)} was added meanwhile."
            texts.add(hashlib.sha256(text.encode()).hexdigest())
            add(here, base, {f"{len(texts)}.txt": text})

    writer = threading.Thread(target=writes)
    writer.start()
    try:
        file = tmp_path / "all.zip"
        while len(texts) < 3:
            ended.wait(0.01)
        code, told, _ = run("backup", file)
    finally:
        ended.set()
        writer.join()
    assert (code, told["lost"]) == (0, [])
    assert 3 + len(texts) >= told["documents"] >= 5
    empty = postgres.url(postgres.create())
    monkeypatch.setenv(URL, empty)
    assert run("restore", file, "--home", tmp_path / "there")[0] == 0
    again = Workspace(here.settings.from_env(home=tmp_path / "there"))
    assert again.check() == []
    copy = again.base("handbook")
    for document in copy.documents.documents(VECTORS.index):
        original = copy.documents.original(document.id)
        assert hashlib.sha256(original.read_bytes()).hexdigest() == document.id
    again.close()
