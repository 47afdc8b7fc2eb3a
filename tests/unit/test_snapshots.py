"""Indexes in memory, and their snapshots: whatever happens to files, a base answers as before."""

import gc
import os
import shutil
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from rag import KnowledgeBase, Settings, Workspace
from rag.lexical import LexicalIndex
from rag.services.indexing import servers
from rag.services.indexing.indexes import Indexes
from rag.stores import empty
from tests.workspaces import QUICK, add, found, workspace_at

TEXTS = {
    f"{subject}.md": f"# {subject.title()}\n\n"
    + "\n\n".join(
        f"The {subject} rule {number} says that {words} before day {number}."
        for number, words in enumerate(
            ("forms are signed", "a manager agrees", "trains are booked")
        )
    )
    for subject in ("leave", "travel", "expenses", "pensions", "parking", "canteen")
}
QUESTIONS = ("who may agree to parking", "day 2 of the pensions rule", "trains", "signed forms")
RECIPES = tuple(QUICK.with_fields({"search.mode": mode}) for mode in ("dense", "lexical", "hybrid"))


def _emptied(content: bytes) -> bytes:
    return b""


def _truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(share: float) -> Callable[[bytes], bytes]:
    def damage(content: bytes) -> bytes:
        place = int(share * (len(content) - 1))
        return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]

    return damage


DAMAGES: dict[str, Callable[[bytes], bytes] | None] = {
    "deleted": None,
    "emptied": _emptied,
    "truncated": _truncated,
    **{f"flipped at {share:.0%}": flipped(share) for share in (0.2, 0.6, 1)},
}


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    base = workspace.create("rules", QUICK)
    add(workspace, base, TEXTS)
    return base


def rankings(base: KnowledgeBase) -> list[object]:
    return [
        [(hit.chunk.id, hit.score, hit.parts) for hit in base.search(question, recipe).hits]
        for question in QUESTIONS
        for recipe in RECIPES
    ]


def outcome(home: Path, before: list[object]) -> str:
    """How a process that starts now answers."""
    opened = workspace_at(home)
    try:
        return "as before" if rankings(opened.base("rules")) == before else "another ranking"
    except Exception as error:
        return type(error).__name__
    finally:
        opened.close()


def snapshot(home: Path) -> Path:
    [folder] = (home / "indexes").glob("*/*")
    return folder


def files(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_base_answers_as_before_whatever_file_of_its_snapshot_is_damaged(base, home, damage):
    before, folder, change = rankings(base), snapshot(home), DAMAGES[damage]
    kept = shutil.copytree(folder, home / "kept")
    outcomes = {}
    for name in files(folder):
        content = (folder / name).read_bytes()
        if change is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(change(content))
        outcomes[str(name)] = outcome(home, before)
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
    assert len(outcomes) == 17
    assert {name: told for name, told in outcomes.items() if told != "as before"} == {}


def test_a_base_answers_as_before_where_the_interpreter_fails_to_read_its_snapshot(
    base, home, monkeypatch
):
    before = rankings(base)

    def failing(folder: Path) -> LexicalIndex:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(LexicalIndex, "load", failing)
    assert outcome(home, before) == "as before"


def test_a_damaged_snapshot_is_told_of_and_written_anew(base, home, caplog):
    before, folder = rankings(base), snapshot(home)
    (folder / "keys.npy").write_bytes(b"")
    assert not servers.intact(folder)
    assert outcome(home, before) == "as before"
    [told] = caplog.records
    assert (told.levelname, told.exc_info) == ("WARNING", None)
    assert servers.intact(folder)
    assert outcome(home, before) == "as before"
    assert len(caplog.records) == 1


def test_a_snapshot_of_an_earlier_version_is_made_again_once(base, home, caplog):
    before, folder = rankings(base), snapshot(home)
    (folder / "manifest.json").unlink()
    assert [outcome(home, before) for _ in range(2)] == ["as before", "as before"]
    assert ["it has no list of hashes" in record.message for record in caplog.records] == [True]


def test_a_snapshot_that_is_replaced_while_it_is_read_is_not_mixed(tmp_path):
    def written(name: str, content: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "part").write_text(content)
        servers.seal(folder)
        return folder

    old, new = written("old", "before"), written("new", "after")
    reading = servers.opened(old)
    reading.__enter__()
    shutil.rmtree(old)
    new.rename(old)
    with pytest.raises(ValueError, match="replaced"):
        reading.__exit__(None, None, None)
    with servers.opened(old):
        assert (old / "part").read_text() == "after"


def test_files_and_folders_are_on_disk_before_a_snapshot_is_in_its_place(
    workspace, home, monkeypatch
):
    on_disk: set[str] = set()
    fsync, rename = os.fsync, Path.rename
    renamed: dict[str, set[str]] = {}

    def noting(descriptor: int) -> None:
        on_disk.add(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def watching(path: Path, target: Path) -> Path:
        written = {str(each) for each in (path, *path.rglob("*"))}
        renamed[str(target)] = written - on_disk
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noting)
    monkeypatch.setattr(Path, "rename", watching)
    add(workspace, workspace.create("rules", QUICK), TEXTS)
    folder = snapshot(home)
    assert renamed == {str(folder): set()}
    assert str(folder.parent) in on_disk


def test_a_check_finds_a_damaged_index_and_removes_it(workspace, base, home):
    before, folder = rankings(base), snapshot(home)
    (folder / "index.json").write_text("{}")
    name = str(folder.relative_to(home))
    told = [(each.kind, each.what, each.name, each.repaired) for each in workspace.check()]
    assert told == [("damaged", "index", name, False)]
    [repaired] = workspace.check(repair=True)
    assert (repaired.repaired, folder.exists()) == (True, False)
    assert workspace.check() == []
    assert outcome(home, before) == "as before"


NAMES = ("first", "second", "third")


@pytest.fixture
def three(home: Path) -> Workspace:
    """A workspace with three knowledge bases."""
    workspace = workspace_at(home)
    for name in NAMES:
        base = workspace.create(name, QUICK)
        add(workspace, base, {f"{name}.md": f"# Rules\n\nThe {name} rule is about trains."})
    return workspace


def bounded(workspace: Workspace, most_bytes: int) -> Indexes:
    services = workspace._services
    folder = workspace.settings.home / "indexes"
    return Indexes(services.database, folder, services.models.embedder, most_bytes=most_bytes)


def ids(workspace: Workspace) -> list[int]:
    return [workspace.base(name).id for name in NAMES]


def test_what_was_used_longest_ago_is_let_go(three):
    first, second, third = ids(three)
    size = bounded(three, 1).current(first, QUICK.index).bytes
    indexes = bounded(three, int(2.5 * size))
    alive = {}
    for base_id in (first, second, first, third):
        alive[base_id] = weakref.ref(indexes.current(base_id, QUICK.index))
    gc.collect()
    assert [alive[base_id]() is not None for base_id in (first, second, third)] == [
        True,
        False,
        True,
    ]
    assert len(indexes.current(second, QUICK.index).passages) == 1


def test_one_index_stays_however_large(three):
    indexes = bounded(three, 1)
    first = indexes.current(ids(three)[0], QUICK.index)
    assert indexes.current(ids(three)[0], QUICK.index) is first


def test_the_setting_bounds_the_workspace(home):
    settings = Settings.from_env({"TOUCHSTONE_MAX_INDEX_MB": "7"}, home=home)
    assert Workspace(settings)._services.indexes._most_bytes == 7 << 20


def test_bases_answer_alike_while_their_indexes_come_and_go(three):
    indexes = bounded(three, 1)
    object.__setattr__(three._services, "indexes", indexes)
    bases = [three.base(name) for name in NAMES]

    def asked(base: KnowledgeBase) -> list[str]:
        return found(base, "which rule is about trains")

    expected = [asked(base) for base in bases]
    assert [name in " ".join(texts) for name, texts in zip(NAMES, expected, strict=True)] == [
        True
    ] * 3
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(asked, bases * 20))
    assert answers == expected * 20


def test_the_size_of_an_index_is_about_that_of_its_parts():
    rows = np.eye(64, dtype=np.float32)
    dense = empty("flat", 64).added(np.arange(64), rows)
    assert dense.bytes == rows.nbytes + 64 * 8
    words = LexicalIndex.empty("english")
    assert words.bytes == 0
    few, many = (words.added((n, f"word{n} rule") for n in range(count)) for count in (10, 1000))
    assert 0 < few.bytes < many.bytes < 1000 * 200
