"""The Documents page offers to read documents again that an earlier reader has read."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from rag import readers
from tests.pages.conftest import finished

OpenPage = Callable[..., AppTest]


def test_documents_are_read_again_by_a_click(filled, open_page, monkeypatch):
    again = filled.base("notes").documents
    assert again.outdated() == []
    monkeypatch.setattr(readers, "reader_version", lambda _type: 99)
    count = len(again.outdated())
    assert count == 3
    app = open_page("documents.py")
    assert any(f"{count} documents can be read better now" in each.value for each in app.markdown)
    app.button(key="documents_read_again").click().run()
    assert not app.exception
    assert finished(filled, "ingest").status == "done"
    assert again.outdated() == []
    app.run()
    assert [each.key for each in app.button if each.key == "documents_read_again"] == []
