"""Two people change the recipe of one knowledge base: nobody's change goes without a word."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rag import KnowledgeBase, Recipe, Workspace

OpenPage = Callable[..., AppTest]


@pytest.fixture
def base(filled: Workspace) -> KnowledgeBase:
    return filled.base("notes")


def save_elsewhere(base: KnowledgeBase, fields: dict[str, Any]) -> Recipe:
    recipe = base.recipe().with_fields(fields)
    base.recipes.save(recipe)
    return recipe


def save(app: AppTest) -> AppTest:
    app.button(key="frame_recipe_save").click().run()
    assert not app.exception
    return app


def test_saving_one_field_keeps_another_that_was_saved_meanwhile(base, open_page):
    app = open_page("inspector.py", kb="notes")
    app.slider(key="w").set_value(0.25).run()
    theirs = save_elsewhere(base, {"search.top_k": 9})
    save(app)
    assert base.recipe() == theirs.with_fields({"search.dense_weight": 0.25})
    assert app.slider(key="k").value == 9


def test_a_page_that_is_drawn_again_has_the_others_change_and_the_own_one(base, open_page):
    app = open_page("inspector.py", kb="notes")
    app.slider(key="w").set_value(0.25).run()
    theirs = save_elsewhere(base, {"search.top_k": 9})
    app.run()
    assert (app.slider(key="k").value, app.slider(key="w").value) == (9, 0.25)
    save(app)
    assert base.recipe() == theirs.with_fields({"search.dense_weight": 0.25})


@pytest.mark.parametrize("keeps", ["mine", "theirs"])
def test_a_field_that_both_changed_is_asked_about(keeps, base, open_page):
    app = open_page("inspector.py", kb="notes")
    app.slider(key="k").set_value(3).run()
    app.slider(key="w").set_value(0.25).run()
    theirs = save_elsewhere(base, {"search.top_k": 9, "search.candidates": 70})
    save(app)
    assert base.recipe() == theirs
    assert app.error[0].value.startswith("**Someone saved another recipe in the meantime")
    [warning] = [each.value for each in app.warning]
    assert warning.startswith(r"Someone saved other values meanwhile: search\.top\_k.")
    assert r"- search\.top\_k: 9 → **3**" in "".join(each.value for each in app.markdown)
    if keeps == "theirs":
        app.button(key="frame_recipe_theirs").click().run()
        assert not app.warning
    save(app)
    mine = {"search.top_k": 3} if keeps == "mine" else {}
    assert base.recipe() == theirs.with_fields({"search.dense_weight": 0.25} | mine)
    assert not app.error


def test_a_value_that_is_saved_anew_after_the_question_is_asked_about_again(base, open_page):
    app = open_page("inspector.py", kb="notes")
    app.slider(key="k").set_value(3).run()
    save_elsewhere(base, {"search.top_k": 9})
    app.run()
    assert len(app.warning) == 1
    theirs = save_elsewhere(base, {"search.top_k": 12})
    save(app)
    assert base.recipe() == theirs
    assert r"- search\.top\_k: 12 → **3**" in "".join(each.value for each in app.markdown)


def test_another_index_is_saved_beside_what_was_saved_meanwhile(base, open_page):
    """The page has read the recipe when somebody else saves: its own save tries again."""
    other = base.recipe().with_fields({"index.chunk_size": 40})
    base.documents.build(other.index)
    app = open_page("inspector.py", kb="notes")
    app.slider(key="k").set_value(3).run()
    save_elsewhere(base, {"index.chunk_size": 40})
    save(app)
    assert base.recipe() == other.with_fields({"search.top_k": 3})
