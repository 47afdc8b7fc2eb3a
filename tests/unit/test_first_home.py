"""A home of the first version, opened by this one, holds nothing that a check finds fault with."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rag import Settings, Workspace
from tests.unit.test_migrations import FIRST_SCHEMA
from tests.workspaces import QUICK

DAY = "2026-01-02 03:04:05"
QUESTIONS = b'{"id": "q1", "text": "why?"}'
TEXT = b"Unused leave lapses in March."


def stored(home: Path, content: bytes) -> str:
    """A file as homes have kept it from the first version on; returns its name."""
    name = hashlib.sha256(content).hexdigest()
    path = home / "files" / name[:2] / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return name


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A document and a question set that one job brought in, and an index without hashes."""
    questions, document = stored(tmp_path, QUESTIONS), stored(tmp_path, TEXT)
    recipe = QUICK.model_dump(mode="json")
    build = QUICK.index.hash
    rows = {
        "knowledge_base": (7, "manuals", json.dumps(recipe), 1, DAY),
        "cut": (1, 7, QUICK.index.cut),
        "build": (7, build, 1, json.dumps(recipe["index"]), DAY),
        "document": (7, document, "leave.txt", "", "text/plain", "[]", "[]", "{}", len(TEXT), DAY),
        "document_part": (7, document, 0, TEXT.decode()),
        "job": (
            *(3, 7, "ingest", "Reading leave.txt"),
            json.dumps({"questions": {"set": "s", "name": "q.jsonl", "file": questions}}),
            *("done", 1, 1, "1 of 1 read", False, None, None, DAY, DAY),
        ),
        "job_item": (3, 0, "leave.txt", json.dumps({"file": document}), "added", "", "", 1),
    }
    with closing(sqlite3.connect(tmp_path / "touchstone.db")) as connection, connection:
        connection.executescript(FIRST_SCHEMA.read_text())
        for table, values in rows.items():
            marks = ", ".join("?" * len(values))
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)
    index = tmp_path / "indexes" / "7" / build
    index.mkdir(parents=True)
    (index / "index.json").write_text("{}")
    return tmp_path


def test_a_check_is_content_after_the_first_start(home):
    workspace = Workspace(Settings.from_env({}, home=home))
    workspace.jobs._tidy()  # which the worker does when it starts
    assert workspace.check() == []
    [document] = workspace.base("manuals").documents.documents(QUICK.index)
    assert workspace.base("manuals").documents.original(document.id).read_bytes() == TEXT
    assert workspace._services.files.present() == {document.id}
    workspace.close()
