"""Homes for page tests: quick to fill, opened by the page under test, closed after it."""

import io
import json
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from pages.components.shell import identity
from rag import Claims, JobRow, KnowledgeBase, Recipe, Settings, Upload, Workspace
from rag.providers import endpoint
from rag.storage import Database
from rag.storage import jobs as rows
from tests.handbook import make
from tests.members import World
from tests.runs import DOCUMENTS
from tests.workspaces import fill_home, workspace_at

FRAME = Path(__file__).resolve().parents[2] / "pages" / "frame.py"
RECIPE = Recipe().with_fields({"index.embedder": "fake", "index.chunk_size": 24})

QUESTIONS = [
    ("q1", "How long may unused leave be carried over?", "leave.md", "carried over until 30 June"),
    ("q2", "Why does the pump make a grinding noise?", "pump.txt", "when its bearing is dry"),
    ("q3", "What may a hotel cost?", "travel.txt", "Hotels may cost 140 euros a night."),
]
UNANSWERABLE = ("q4", "Who won the world cup in 1954?")

OpenPage = Callable[..., AppTest]
AtWork = Callable[[int], None]


@pytest.fixture(scope="session", autouse=True)
def _read_once() -> Iterator[None]:
    """Read the manifests of packages and the scripts of pages once, as a server does.

    Otherwise, every visitor of a test would scan all installed packages.
    """
    scripts = ScriptCache()
    with pytest.MonkeyPatch.context() as patch:
        manifests = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", manifests)
        for module in (app_test, local_script_runner):
            patch.setattr(module, "ScriptCache", lambda: scripts)
        yield


@pytest.fixture(autouse=True)
def _retries_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages name providers that are not there, which are asked three times."""
    monkeypatch.setattr(endpoint.random, "uniform", lambda *_: 0.0)


@pytest.fixture(autouse=True)
def _own_dashboard(own_dashboard: None) -> None:
    """Every test opens a workspace of its own."""


def questions_file() -> str:
    """The labelled questions as JSONL."""
    rows = [
        {
            "id": key,
            "text": text,
            "tags": [document],
            "evidence": [{"document": document, "quote": q}],
        }
        for key, text, document, q in QUESTIONS
    ]
    last = {"id": UNANSWERABLE[0], "text": UNANSWERABLE[1], "tags": ["none"], "answerable": False}
    return "\n".join(json.dumps(row) for row in [*rows, last])


def fill(base: KnowledgeBase, documents: dict[str, str]) -> int:
    """Queues texts as files; returns the job."""
    uploads = [Upload(name, io.BytesIO(text.encode())) for name, text in documents.items()]
    return base.documents.add_files(uploads)


def finished(workspace: Workspace, kind: str) -> JobRow:
    """The newest job of a kind, when it is over: the worker of the page may be at it."""
    newest = next(job for job in workspace.jobs.recent() if job.kind == kind)
    return workspace.jobs.run(newest.id)


@pytest.fixture
def at_work(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AtWork]:
    """Lets a job be worked on by another process, which ends with the test."""
    database = Database(Settings.from_env({}, home=home).database_url)
    owner = f"elsewhere:{os.getpid()}:test"
    monkeypatch.setattr(rows, "_LEASE_SECONDS", 600.0)

    def claimed(job_id: int) -> None:
        with database.write() as connection:
            assert rows.claim(connection, owner, job_id) == job_id
            assert rows.report(connection, job_id, owner, 1, 4, "1 of 4 questions")

    yield claimed
    with database.write() as connection:
        rows.release(connection, owner)
    database.close()


@pytest.fixture
def base(home: Path) -> Iterator[KnowledgeBase]:
    """The small handbook, which the page under test opens a second time."""
    workspace, made = make(home)
    yield made
    workspace.close()


@pytest.fixture
def filled(home: Path) -> Workspace:
    """A home with the knowledge base "notes": three small documents, hashed words, no questions.

    The page under test opens the home a second time, as another process would.
    """
    fill_home(home, _prepare)
    return Workspace.from_env()


def _prepare(home: Path) -> None:
    workspace = workspace_at(home)
    base = workspace.create("notes", RECIPE)
    assert workspace.jobs.run(fill(base, DOCUMENTS)).status == "done"
    workspace.close()


@pytest.fixture
def labelled(filled: Workspace) -> Workspace:
    """``filled`` with the question set "checks": three answerable questions and one that is not."""
    filled.base("notes").questions.import_file("checks", "checks.jsonl", questions_file())
    return filled


@pytest.fixture
def open_page() -> OpenPage:
    """Opens a page in its frame, with query parameters, and the recipe where it has one."""

    def opened(file: str, **parameters: str) -> AppTest:
        app = AppTest.from_file(str(FRAME), default_timeout=60)
        for name, value in parameters.items():
            app.query_params[name] = value
        for folded in ("recipe_panel", "tuning_more", "documents_builds"):
            app.session_state[folded] = True
        app.switch_page(file).run()
        assert not app.exception
        return app

    return opened


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("home")
    world = World(home)
    yield world
    world.workspace.close()


@pytest.fixture
def visit(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Opens a page as somebody, with everything that an address can name of Ann's."""
    monkeypatch.setenv("TOUCHSTONE_HOME", str(world.workspace.settings.home))

    def visit(who: str, page: str, *, issued: datetime | None = None, **parameters: str) -> AppTest:
        name, email = who.title(), f"{who}@example.org"
        claims = Claims("https://id.example", who, email, name, verified=True, issued=issued)
        monkeypatch.setattr(identity, "configured", lambda: True)
        monkeypatch.setattr(identity, "claims", lambda: claims if who else None)
        monkeypatch.setattr(identity, "providers", lambda: [""])
        app = AppTest.from_file(str(FRAME), default_timeout=300)
        for name, value in parameters.items():
            app.query_params[name] = value
        return app.switch_page(page).run() if who else app.run()

    return visit
