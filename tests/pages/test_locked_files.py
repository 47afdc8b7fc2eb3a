"""On the Documents page an encrypted PDF waits in a row for its password."""

import io
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from rag import KnowledgeBase, LockedFile, Upload, Workspace
from tests.pages.conftest import RECIPE, finished
from tests.sample_files import encrypted_pdf

OpenPage = Callable[..., AppTest]
WORDS = "Lanterns are lit at dusk."
RIGHT, WRONG = "open sesame 71", "close sesame 72"


def _waiting(workspace: Workspace) -> tuple[KnowledgeBase, LockedFile, str]:
    base = workspace.base("notes")
    data = encrypted_pdf(WORDS, RIGHT, "owner", "AES-256")
    workspace.jobs.run(base.documents.add_files([Upload("lamp.pdf", io.BytesIO(data))]))
    (locked,) = base.documents.locked_files()
    return base, locked, f"{locked.job_id}_{locked.position}"


def _read_again(app: AppTest, key: str, password: str) -> None:
    field = app.text_input(key=f"documents_password_{key}")
    assert field.proto.type == field.proto.PASSWORD
    field.set_value(password)
    next(button for button in app.button if button.label == "Read again").click()
    app.run()
    assert not app.exception


def test_a_file_is_read_with_its_password(filled, home, open_page):
    base, _locked, key = _waiting(filled)
    app = open_page("documents.py")
    assert any("lamp\\.pdf** The PDF is encrypted" in each.value for each in app.markdown)
    _read_again(app, key, WRONG)
    assert ["does not open this PDF" in error.value for error in app.error] == [True]
    assert len(base.documents.locked_files()) == 1
    assert app.session_state[f"documents_password_{key}"] == ""
    _read_again(app, key, RIGHT)
    assert finished(filled, "ingest").status == "done"
    app.run()
    assert base.documents.locked_files() == []
    assert [button.label for button in app.button if button.label == "Read again"] == []
    names = [info.name for info in base.documents.documents(RECIPE.index)]
    assert names == ["lamp.pdf", "leave.md", "pump.txt", "travel.txt"]
    kept = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert not any(word.encode() in content for content in kept for word in (RIGHT, WRONG))


def test_a_file_is_left_out(filled, home, open_page):
    base, locked, key = _waiting(filled)
    app = open_page("documents.py")
    app.button(key=f"documents_leave_out_{key}").click().run()
    assert not app.exception
    assert base.documents.locked_files() == []
    assert list((home / "files").rglob(locked.file)) == []
