"""A home on a disk without room: reading goes on, and work waits until there is room."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rag import Settings, Upload, Workspace
from rag.__main__ import main
from rag.api.mounting import Api
from rag.errors import DiskFull
from rag.services.jobs import runner
from tests.jobs import ended, until
from tests.workspaces import QUICK, add

pytestmark = pytest.mark.sqlite("its files are on the disk that is full")
_MEGABYTES = 24


@pytest.fixture
def small_home(tmp_path: Path) -> Iterator[Path]:
    """A home with one document, on a disk of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_MEGABYTES}m", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can make a small disk")
    try:
        home = disk / "home"
        workspace = Workspace(Settings.from_env({}, home=home))
        add(workspace, workspace.create("notes", QUICK), {"a.md": "Leave lapses in June."})
        workspace.close()
        yield home
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill(home: Path, leave: int = 0) -> Path:
    """Take all room of the disk but for some bytes."""
    filler = home.parent / "filler"
    with filler.open("wb", buffering=0) as file:
        for block in (1 << 20, 512):
            with suppress(OSError):
                while True:
                    file.write(bytes(block))
    assert shutil.disk_usage(home).free == 0
    os.truncate(filler, filler.stat().st_size - leave)
    return filler


def test_verbs_that_only_read_work_on_a_full_disk(small_home, tmp_path, capsys):
    _fill(small_home)
    for verb in (
        ["search", "notes", "When does leave lapse?"],
        ["ask", "notes", "When does leave lapse?"],
        ["runs", "notes"],
        ["check"],
        ["backup", str(tmp_path / "backup.zip")],
    ):
        code = main([*verb, "--home", str(small_home)])
        assert (verb[0], code, capsys.readouterr().err) == (verb[0], 0, "")
    assert (tmp_path / "backup.zip").stat().st_size > 0


def test_a_server_that_starts_on_a_full_disk_answers_and_says_so(small_home):
    filler = _fill(small_home)
    workspace = Workspace(Settings.from_env({}, home=small_home))
    outside = TestClient(Starlette(routes=Api(lambda: workspace).routes()))
    ready = outside.get("/readyz")
    assert (ready.status_code, ready.json()["reasons"]) == (503, ["The disk is full."])
    assert outside.get("/api/v1/knowledge-bases").status_code == 401
    base = workspace.base("notes")
    assert base.search("When does leave lapse?", QUICK).hits
    with pytest.raises(DiskFull):
        workspace.create("other", QUICK)
    filler.unlink()
    workspace.close()


def test_an_upload_waits_for_room(small_home, monkeypatch, caplog):
    monkeypatch.setattr(runner, "_SECONDS_TO_ROOM", 0.2)
    workspace = Workspace(Settings.from_env({}, home=small_home))
    base = workspace.base("notes")
    words = " ".join(f"word{number} lapses" for number in range(20_000))
    job = base.documents.add_files([Upload("long.md", io.BytesIO(words.encode()))])
    filler = _fill(small_home, leave=200_000)
    workspace.jobs.start()
    until(lambda: "waits" in caplog.text)
    assert workspace.jobs.get(job).active
    assert workspace.not_ready() == ["The disk is full."]
    filler.unlink()
    ended(workspace.jobs, job)
    assert [item.status for item in workspace.jobs.items(job)] == ["added"]
    workspace.close()
