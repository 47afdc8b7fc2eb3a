"""What is allowed for one knowledge base is done to that one, whatever has its name by then."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag import NotAllowed, ScopedWorkspace, Workspace
from rag.storage import bases
from tests.people import signed_in, view
from tests.workspaces import QUICK, workspace_at

pytestmark = pytest.mark.usefixtures("database")

ACTS: dict[str, Callable[[ScopedWorkspace], Any]] = {
    "delete": lambda mine: mine.delete("manuals"),
    "duplicate": lambda mine: mine.duplicate("manuals", "copy"),
    "rename": lambda mine: mine.rename("manuals", "renamed"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_at(tmp_path)


@pytest.mark.parametrize("act", ACTS)
def test_a_name_that_changes_hands_after_the_check_changes_nothing(act, workspace, monkeypatch):
    ann, ben = (signed_in(workspace, name) for name in ("ann", "ben"))
    mine = workspace.create("manuals", QUICK, ann.id)
    theirs = workspace.create("secrets", QUICK, ben.id)
    require = ScopedWorkspace._require

    def renamed_meanwhile(scoped: ScopedWorkspace, base: Any, path: str) -> None:
        require(scoped, base, path)
        with workspace._services.database.write() as connection:
            bases.rename(connection, mine.id, "aside")
            bases.rename(connection, theirs.id, "manuals")

    monkeypatch.setattr(ScopedWorkspace, "_require", renamed_meanwhile)
    ACTS[act](view(workspace, ann))
    names = {info.id: info.name for info in workspace.bases()}
    assert names.pop(theirs.id) == "manuals"
    mine_now = names.pop(mine.id, None)
    assert mine_now == {"delete": None, "duplicate": "aside", "rename": "renamed"}[act]
    assert list(names.values()) == (["copy"] if act == "duplicate" else [])
    if act == "duplicate":
        [job] = workspace.jobs.active()
        assert job.payload == {"source": mine.id}


def test_one_of_another_role_is_refused_by_id_too(workspace):
    ann, ben = (signed_in(workspace, name) for name in ("ann", "ben"))
    theirs = workspace.create("secrets", QUICK, ben.id)
    theirs.access.add_member(ann.email, "editor")
    for act in (ScopedWorkspace.delete, lambda mine, base: mine.duplicate(base, "copy")):
        with pytest.raises(NotAllowed):
            act(view(workspace, ann), theirs.id)
    assert [info.name for info in workspace.bases()] == ["secrets"]


@pytest.mark.parametrize(
    "act", [lambda held: held.duplicate("manuals", "copy"), Workspace.start_demo]
)
def test_a_base_whose_job_is_not_stored_before_a_kill_is_not_there(
    act, workspace, tmp_path, monkeypatch
):
    workspace.create("manuals", QUICK)
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "leave.md").write_text("Unused leave lapses.")
    (tmp_path / "sample" / "questions.jsonl").write_text('{"id": "q1", "text": "why?"}')
    monkeypatch.setattr("rag.workspace.workspace.SAMPLE_FOLDER", tmp_path / "sample")

    def killed(*_given: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("rag.storage.jobs.create", killed)
    with pytest.raises(KeyboardInterrupt):
        act(workspace)
    assert [info.name for info in workspace.bases()] == ["manuals"]
    assert workspace._services.files.list_names() == set()
