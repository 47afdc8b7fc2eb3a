"""A home that is backed up while it is used comes back whole, or not at all."""

import hashlib
import stat
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rag import KnowledgeBase, Workspace
from rag.storage import Database
from rag.workspace import maintenance
from tests.verbs import run_verb
from tests.workspaces import DATABASE, QUICK, add, found, workspace_at

pytestmark = pytest.mark.sqlite("about a home with its file; test_backup_server.py has servers")
LEAVE = "Unused leave may be carried over for three months."
TRAVEL = "Trains are booked in second class."
FILES = {"leave.md": LEAVE, "travel.md": TRAVEL}


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    base = workspace.create("handbook", QUICK)
    add(workspace, base, FILES)
    return base


def original(home: Path, text: str) -> Path:
    name = hashlib.sha256(text.encode()).hexdigest()
    return home / "files" / name[:2] / name


def test_a_home_in_use_comes_back_whole(base, tmp_path, capsys):
    file, there = tmp_path / "home.zip", tmp_path / "there"
    code, told, _ = run_verb(capsys, "backup", file)
    assert (code, told["documents"], told["files"], told["lost"]) == (0, 2, 2, [])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    code, told, _ = run_verb(capsys, "restore", file, "--home", there)
    assert (code, told["documents"], told["set_aside"]) == (0, 2, None)
    again = workspace_at(there)
    copy = again.base("handbook")
    assert copy.search("carried over", QUICK).hits == base.search("carried over", QUICK).hits
    assert original(there, LEAVE).read_text() == LEAVE
    assert again.check() == []
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (there, there / DATABASE)]
    assert modes == [0o700, 0o600]


def test_a_home_that_holds_something_is_not_overwritten(base, home, tmp_path, capsys):
    file, there = tmp_path / "home.zip", tmp_path / "there"
    assert run_verb(capsys, "backup", file)[0] == 0
    other = workspace_at(there)
    other.create("other", QUICK)
    code, _, said = run_verb(capsys, "restore", file, "--home", there)
    assert (code, "is not empty" in said) == (2, True)
    code, _, said = run_verb(capsys, "restore", file, "--home", there, "--force")
    assert (code, "is in use" in said) == (2, True)
    other.close()
    code, told, _ = run_verb(capsys, "restore", file, "--home", there, "--force")
    assert code == 0
    assert [info.name for info in workspace_at(there).bases()] == ["handbook"]
    assert [info.name for info in workspace_at(Path(told["set_aside"])).bases()] == ["other"]


@pytest.mark.parametrize("part", ["database", "file", "cut", "nothing"])
def test_a_damaged_backup_changes_nothing(base, tmp_path, capsys, part):
    file, there = tmp_path / "home.zip", tmp_path / "there"
    assert run_verb(capsys, "backup", file)[0] == 0
    content = file.read_bytes()
    if part in ("database", "file"):
        with zipfile.ZipFile(file) as archive:
            whole = {name: archive.read(name) for name in archive.namelist()}
        name = next(name for name in whole if name.startswith("files/") == (part == "file"))
        whole[name] = whole[name][:-1] + bytes([whole[name][-1] ^ 1])
        with zipfile.ZipFile(file, "w") as archive:
            for each, data in whole.items():
                archive.writestr(each, data)
    else:
        file.write_bytes(content[: len(content) // 2] if part == "cut" else b"")
    code, _, said = run_verb(capsys, "restore", file, "--home", there)
    assert (code, "is not a complete backup" in said) == (2, True)
    assert list(there.iterdir()) == []


def test_what_is_deleted_while_it_is_copied_is_in_the_backup_whole_or_not_at_all(
    workspace, base, home, tmp_path, capsys, monkeypatch
):
    """One document goes before its file could be kept, the other one afterwards."""
    copy_to, pack = Database.copy_to, maintenance._pack
    ids = {info.name: info.id for info in base.documents.documents(QUICK.index)}

    def deletes(name: str) -> None:
        if name in ids:
            base.documents.delete_documents([ids.pop(name)])

    def slow_copy(database: Database, file: Path) -> None:
        copy_to(database, file)
        deletes("leave.md")

    def slow_pack(*given: Any) -> maintenance.Backup:
        deletes("travel.md")
        return pack(*given)

    monkeypatch.setattr(Database, "copy_to", slow_copy)
    monkeypatch.setattr(maintenance, "_pack", slow_pack)
    file, there = tmp_path / "home.zip", tmp_path / "there"
    code, told, _ = run_verb(capsys, "backup", file)
    assert (code, told["documents"], told["files"], told["lost"]) == (0, 1, 1, [])
    assert not any(path.is_file() for path in (home / "files").rglob("*"))
    assert run_verb(capsys, "restore", file, "--home", there)[0] == 0
    assert found(workspace_at(there).base("handbook"), "trains") == [TRAVEL]
    assert original(there, TRAVEL).read_text() == TRAVEL


def test_a_backup_beside_a_writer_is_of_one_moment(workspace, base, tmp_path, capsys):
    ended = threading.Event()

    def writes() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            add(workspace, base, {f"{number}.md": f"{TRAVEL} {number}"})

    writer = threading.Thread(target=writes)
    writer.start()
    try:
        for number in range(3):
            file, there = tmp_path / f"{number}.zip", tmp_path / f"{number}"
            assert run_verb(capsys, "backup", file)[0] == 0
            assert run_verb(capsys, "restore", file, "--home", there)[0] == 0
            assert workspace_at(there).check() == []
    finally:
        ended.set()
        writer.join()


def test_a_lost_original_is_told(base, home, tmp_path, capsys):
    original(home, LEAVE).unlink()
    original(home, TRAVEL).write_text("other")
    code, told, _ = run_verb(capsys, "backup", tmp_path / "home.zip")
    names = sorted(original(home, text).name for text in (LEAVE, TRAVEL))
    assert (code, told["files"], told["lost"]) == (1, 0, names)


@pytest.mark.parametrize("name", ["a?b", "a%41b", "a#b", "a b ü", "a&b=c", "a\nb"])
def test_a_home_of_any_name_has_its_database_in_it(base, tmp_path, capsys, name):
    before, there = tmp_path / "before.zip", tmp_path / name
    assert run_verb(capsys, "backup", before)[0] == 0
    assert run_verb(capsys, "restore", before, "--home", there)[0] == 0
    beside = set(tmp_path.iterdir())
    assert run_verb(capsys, "runs", "handbook", "--home", there)[0] == 0
    assert run_verb(capsys, "check", "--repair", "--home", there)[0] == 0
    code, told, _ = run_verb(capsys, "backup", there / "kept.zip", "--home", there)
    assert (code, told["documents"], told["files"]) == (0, 2, 2)
    assert set(tmp_path.iterdir()) == beside
    assert original(there, LEAVE).exists()
    assert (there / DATABASE).exists()


def test_a_database_without_a_base_is_no_reason_to_delete_originals(base, workspace, capsys):
    """It may be another database than that of the home."""
    home = workspace.settings.home
    workspace.close()
    (home / DATABASE).unlink()
    code, told, _ = run_verb(capsys, "check", "--repair")
    kinds = [
        (problem["kind"], problem["what"], problem["repaired"]) for problem in told["problems"]
    ]
    assert code == 1
    assert kinds.count(("orphaned", "file", False)) == 2
    assert ("missing", "database", False) in kinds
    assert original(home, LEAVE).exists()


def test_a_backup_of_nothing_is_asked_for(workspace, tmp_path, capsys):
    file = tmp_path / "home.zip"
    code, _, said = run_verb(capsys, "backup", file)
    assert code == 2
    assert "--allow-empty" in said
    assert list(tmp_path.glob("*.zip")) == []
    assert run_verb(capsys, "backup", file, "--allow-empty")[0] == 0
    assert file.exists()
