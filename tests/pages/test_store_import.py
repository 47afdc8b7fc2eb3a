"""The tab *From a store* of the page Documents: a preview, and the import that follows."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from rag import KnowledgeBase
from tests.read_only_stores import qdrant_with
from tests.workspaces import QUICK

OpenPage = Callable[..., AppTest]

TEXTS = ("Leave is thirty days.", "Rent is due in May.", "The boat is blue.")


def _said(app: AppTest) -> str:
    return "\n".join(item.value for item in [*app.main.markdown, *app.main.caption])


def test_a_store_is_looked_at_and_imported(labelled, open_page, monkeypatch):
    monkeypatch.setattr("rag.network.is_public", lambda _address: True)
    base: KnowledgeBase = labelled.create("manuals", QUICK)
    vectors = base._services.models.embedder("fake").embed(TEXTS, "document")
    vectors[2] = vectors[0]
    rows = [{"id": place, "content": text} for place, text in enumerate(TEXTS)]
    app = open_page("documents.py", kb="manuals")
    with qdrant_with(rows, vectors.tolist()) as store:
        app.selectbox(key="store_kind").select("qdrant")
        app.text_input(key="store_address").set_value(store.address)
        app.text_input(key="store_name").set_value("passages").run()
        assert app.selectbox(key="store_embedder").value == "fake"
        app.button(key="store_preview").click().run()
        assert not app.exception
        assert "**3 rows**, vectors of 64 dimensions, dot product." in _said(app)
        app.button(key="store_import").click().run()
        assert not app.exception
        job = labelled.jobs.recent(limit=1)[0]
        assert labelled.jobs.run(job.id).status == "done"
        assert store.refused == []
    app.run()
    assert "3 of 3 documents added" in _said(app)
    assert base.recipe().index.embedder.startswith("fake#passages-")


def test_a_base_with_documents_says_why_and_offers_another_one(labelled, open_page):
    app = open_page("documents.py", kb="notes")
    app.button(key="store_new_base").click().run()
    assert not app.exception
    assert app.text_input[-1].label == "Name"
