"""The section *Move to another embedding model* of the page Documents."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from rag import Workspace
from rag.errors import MissingDependency
from rag.evaluation.comparison import Comparison
from rag.services import Models
from tests.pages.conftest import finished

OpenPage = Callable[..., AppTest]


def _words(app: AppTest) -> str:
    parts = [*app.main.markdown, *app.main.caption, *app.main.warning, *app.main.error]
    return "\n".join(item.value for item in parts)


def test_a_move_is_measured_and_switched_to(labelled: Workspace, open_page: OpenPage) -> None:
    base = labelled.base("notes")
    saved, place = base.recipe(), f"documents_migration_{base.id}"
    app = open_page("upload.py", kb="notes")
    app.session_state[place] = True
    app.run()
    assert "measures both on the same questions" in _words(app)
    app.selectbox(key=f"documents_migration_to_{base.id}").set_value("wordllama").run()
    assert "passages to embed" in _words(app)
    app.button(key="documents_migration_start").click().run()
    finished(labelled, "migrate-embedder")
    app.run()
    assert not app.exception
    measured = base.tuning.migrations.result()
    assert measured is not None
    words = _words(app)
    assert f"**wordllama** against **fake** on {measured.question_set}" in words
    assert "sampled vectors are of fake" in words
    figures = base.tuning.migrations.effect(measured).figures
    assert f"{figures.won} won, {figures.lost} lost, {figures.tied} equal" in words
    assert base.recipe() == saved
    assert "Save the new recipe" in words
    assert [button.label for button in app.button if button.label == "Save for answers"]
    app.button(key="documents_migration_switch").click().run()
    assert base.recipe() == measured.plan.after
    finished(labelled, "compare-switch")
    app.run()
    assert not app.exception
    assert "4 of 4 rankings are those measured." in _words(app)
    assert "documents_migration_switch" not in {button.key for button in app.button}


def test_the_index_of_a_worse_model_is_not_offered(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = labelled.base("notes")
    recipe = base.tuning.migration.target("wordllama")
    (question_set,) = base.questions.list_all()
    labelled.jobs.run(base.tuning.migrations.start(question_set.name, recipe))
    monkeypatch.setattr(Comparison, "verdict", property(lambda _: "worse"))
    app = open_page("upload.py", kb="notes")
    assert not app.exception
    assert not [button.label for button in app.button if button.label == "Save for answers"]
    words = _words(app)
    assert "wordllama is ready. It was measured worse than the one in use." in words
    assert "Keep the saved recipe" in words
    assert "Save the new recipe" not in words
    assert app.button(key="documents_migration_switch").disabled


def test_an_embedder_that_is_not_installed_is_named(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = labelled.base("notes")
    monkeypatch.setattr(Workspace, "embedders", lambda _self: ["multilingual-e5"])

    def missing(*_: object) -> None:
        raise MissingDependency("multilingual-e5 is not installed.", "Install it.")

    monkeypatch.setattr(Models, "require", missing)
    app = open_page("upload.py", kb="notes")
    app.session_state[f"documents_migration_{base.id}"] = True
    app.run()
    app.selectbox(key=f"documents_migration_to_{base.id}").set_value("multilingual-e5").run()
    assert not app.exception
    assert "is not installed" in _words(app)
    assert base.tuning.migrations.latest() is None
