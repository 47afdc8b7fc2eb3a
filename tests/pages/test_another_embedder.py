"""The steps by which docs/using.md moves a knowledge base to another embedding model."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from pages.components.shell.text import plain
from tests.pages.conftest import finished

OpenPage = Callable[..., AppTest]


def test_the_steps_lead_from_one_model_to_the_other(labelled, open_page):
    base = labelled.base("notes")
    saved = base.recipe()
    app = open_page("metrics.py", kb="notes")
    app.button(key="metrics_evaluate").click().run()
    finished(labelled, "evaluate")
    app.switch_page("documents.py")
    app.session_state["documents_build_more"] = True
    app.run()
    app.selectbox(key="documents_another_embedder").set_value("wordllama").run()
    assert app.button(key="documents_build_another").label == "Build index"
    app.button(key="documents_build_another").click().run()
    finished(labelled, "build")
    app.run()
    assert base.recipe() == saved
    next(button for button in app.button if button.label == "Try this index").click().run()
    app.switch_page("metrics.py").run()
    app.button(key="metrics_evaluate").click().run()
    finished(labelled, "evaluate")
    after, before = base.runs.list_all()
    assert (after.recipe.index.embedder, before.recipe) == ("wordllama", saved)
    app = open_page("runs.py", kb="notes", runs=f"{before.id},{after.id}")
    headline = base.runs.compare([after.id], before.id)[0].figures.headline
    assert any(plain(headline) in block.value for block in app.main.markdown)
    app.button(key=f"runs_use_{after.id}").click().run()
    app.button(key="frame_recipe_save").click().run()
    assert base.recipe() == after.recipe
    table = open_page("documents.py", kb="notes").dataframe[1].value
    assert dict(zip(table["Embedding model"], table["State"], strict=True)) == {
        "fake": "ready",
        "wordllama": "answers now",
    }
