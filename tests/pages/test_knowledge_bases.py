"""All knowledge bases at the top of Documents: opened, renamed, deleted and made there."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.recipe.index_builds import embedders
from rag import IndexRecipe, Recipe, Workspace

OpenPage = Callable[..., AppTest]


@pytest.fixture
def two(labelled: Workspace) -> Workspace:
    """ "notes", evaluated, and the empty "archive"."""
    base = labelled.base("notes")
    base.runs.evaluate("checks", base.recipe())
    labelled.create("archive", Recipe(index=IndexRecipe(embedder="fake")))
    return labelled


def test_every_base_stands_with_its_size_and_last_run(two, open_page):
    table = open_page("documents.py", kb="notes").dataframe[0].value
    assert list(table["Name"]) == ["archive", "notes"]
    assert list(table["Documents"]) == [0, 3]
    assert list(table["Passages"]) == [0, two.overview()[1].passages]
    assert list(table["Questions"]) == [0, 4]
    assert list(table["Last run"].notna()) == [False, True]


def test_one_base_needs_no_table(labelled, open_page):
    app = open_page("documents.py", kb="notes")
    assert "1 knowledge base: notes is open" in [each.label for each in app.expander]
    assert "Questions" not in app.dataframe[0].value.columns
    assert app.button(key="documents_delete_base").label == "Delete"


def test_the_open_base_is_renamed_and_stays_open(two, open_page):
    app = open_page("documents.py", kb="notes")
    app.button(key="documents_rename").click().run()
    app.text_input(key="documents_new_name").set_value("handbook")
    next(b for b in app.button if b.form_id == "documents_rename_form").click().run()
    assert [info.name for info in two.bases()] == ["archive", "handbook"]
    app.run()
    assert app.sidebar.selectbox(key="kb").value == "handbook"
    assert not app.warning


def test_a_copy_is_made_and_opened(two, open_page):
    app = open_page("documents.py", kb="notes")
    app.button(key="documents_duplicate").click().run()
    assert app.text_input(key="documents_copy_name").value == "notes 2"
    next(b for b in app.button if b.form_id == "documents_duplicate_form").click().run()
    app.run()
    assert app.sidebar.selectbox(key="kb").value == "notes 2"
    (job,) = two.jobs.recent(two.base("notes 2").id)
    assert (job.kind, two.jobs.run(job.id).status) == ("duplicate", "done")
    app = open_page("documents.py", kb="notes 2")
    assert list(app.dataframe[0].value["Documents"]) == [0, 3, 3]


def test_deleting_asks_for_the_name(two, open_page):
    app = open_page("documents.py", kb="notes")
    app.button(key="documents_delete_base").click().run()
    assert app.button(key="documents_delete_really").disabled
    assert [info.name for info in two.bases()] == ["archive", "notes"]


def test_the_embedder_for_trials_is_offered_nowhere(labelled, open_page):
    assert "fake" not in labelled.embedders()
    assert "minilm" in labelled.embedders()
    app = open_page("tuning.py", cuts="true")  # a stored recipe that has it still opens
    assert app.multiselect(key="cut_embedders").value == ["fake"]
    assert "fake" not in embedders(IndexRecipe())


def choose(app: AppTest, name: str) -> AppTest:
    app.sidebar.selectbox(key="kb").set_value(name).run()
    assert not app.exception
    return app


def chip(app: AppTest) -> str:
    """What the recipe chip says that differs from the saved recipe."""
    return "\n".join(each.value for each in app.sidebar.markdown if "search\\." in each.value)


def test_a_recipe_that_is_not_saved_stays_with_its_base(two, open_page):
    app = open_page("inspector.py", kb="notes")
    app.sidebar.slider(key="k").set_value(9).run()
    app.sidebar.button_group(key="mode").set_value("Lexical").run()
    choose(app, "archive")
    assert chip(app) == ""
    assert app.sidebar.slider(key="k").value == two.base("archive").recipe().search.top_k
    assert {"k", "mode"}.isdisjoint(app.query_params)
    choose(app, "notes")
    assert chip(app) == "- search\\.mode: hybrid → **lexical**\n- search\\.top\\_k: 5 → **9**"
    assert app.sidebar.slider(key="k").value == 9
    assert app.query_params["k"] == "9"


def test_a_new_base_starts_with_its_own_recipe(two, open_page):
    app = open_page("inspector.py", kb="notes", k="9")
    two.create("fresh", Recipe(index=IndexRecipe(embedder="fake")))
    app.session_state["frame_created"] = "fresh"  # what the dialog for a new one leaves
    app.run()
    assert app.sidebar.selectbox(key="kb").value == "fresh"
    assert chip(app) == ""


def test_what_else_is_searched_stays_with_its_base(two, open_page):
    two.create("third", Recipe(index=IndexRecipe(embedder="fake")))
    app = open_page("inspector.py", kb="notes")
    app.multiselect(key="also").set_value(["third"]).run()
    choose(app, "archive")
    assert app.multiselect(key="also").value == []
    choose(app, "notes")
    assert app.multiselect(key="also").value == ["third"]
