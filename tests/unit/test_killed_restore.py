"""A restore that is killed while it puts things in place is finished by the next start."""

from contextlib import suppress
from pathlib import Path

import pytest

from rag import KnowledgeBase, Settings, Workspace, restore_backup
from tests.workspaces import QUICK, add, workspace_at

pytestmark = pytest.mark.sqlite("a server gets a backup only into an empty database")
TEXT = "Unused leave lapses in March."


def texts(base: KnowledgeBase) -> list[bytes]:
    """The originals of a knowledge base."""
    paths = (base.documents.original(each.id) for each in base.documents.documents(QUICK.index))
    return [path.read_bytes() for path in paths if path is not None]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that holds something else than its backup, which is ``kept.zip`` beside it."""
    home = tmp_path / "home"
    workspace = workspace_at(home)
    add(workspace, workspace.create("manuals", QUICK), {"leave.md": TEXT})
    workspace.back_up(tmp_path / "kept.zip")
    workspace.delete("manuals")
    add(workspace, workspace.create("other", QUICK), {"other.md": "Something else."})
    workspace.close()
    return home


@pytest.mark.parametrize("moves", range(6))
def test_the_next_start_finishes_it(moves, home, tmp_path, monkeypatch):
    """Killed before each of its moves: what was held goes aside, what is restored in its place."""
    settings, rename, done = Settings.from_env({}, home=home), Path.rename, list[str]()

    def killed(path: Path, target: Path) -> Path:
        if path.name != ".restore.json":
            if len(done) == moves:
                raise KeyboardInterrupt
            done.append(path.name)
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with suppress(KeyboardInterrupt):
            restore_backup(settings, tmp_path / "kept.zip", force=True)
    workspace = Workspace(settings)
    assert [info.name for info in workspace.bases()] == ["manuals"]
    assert texts(workspace.base("manuals")) == [TEXT.encode()]
    assert [each for each in workspace.check(repair=True) if each.what != "draft"] == []
    assert texts(workspace.base("manuals")) == [TEXT.encode()]
    workspace.close()
    [aside] = home.glob("before-restore-*")
    old = Workspace(Settings.from_env({}, home=aside))
    assert [info.name for info in old.bases()] == ["other"]
    old.close()
    assert not [*home.glob(".restore*")]
