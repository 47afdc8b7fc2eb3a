"""The tab Systems of the page Runs: added, tried with a real call, evaluated, held beside a run."""

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.runs.table import reference, rows
from rag import HttpSystem, KnowledgeBase, NotFound, Workspace
from rag.experiments.systems.formats.tables import Returned, ReturnedText
from tests.servers import Reply, scripted

OpenPage = Callable[..., AppTest]


@pytest.fixture
def base(labelled: Workspace) -> KnowledgeBase:
    return labelled.base("notes")


def _said(app: AppTest) -> str:
    return "\n".join(each.value for each in [*app.main.markdown, *app.main.caption])


def test_a_system_is_tried_and_added(base, open_page, monkeypatch):
    monkeypatch.setattr("rag.network.is_public", lambda _address: True)
    app = open_page("runs.py", compare="Systems")
    text = next(iter(base.documents.documents(base.recipe().index))).name
    with scripted(Reply(body=json.dumps({"hits": [{"text": "Nobody wrote this."}]}))) as server:
        app.text_input(key="systems_name").set_value("really")
        app.text_input(key="systems_address").set_value(server.url)
        app.text_input(key="systems_question").set_value(f"What is in {text}?").run()
        app.button(key="systems_try").click().run()
        assert "1 result in" in _said(app)
        app.button(key="systems_save").click().run()
    assert not app.exception
    (stored,) = base.systems.list_all()
    assert (stored.name, stored.definition.form) == ("really", "touchstone")
    app.button(key="systems_delete_really").click().run()
    app.button(key="systems_confirm_delete").click().run()
    assert base.systems.list_all() == []


def test_a_command_and_searches_of_the_base_itself_are_added(base, open_page):
    app = open_page("runs.py", compare="Systems")
    for form, name in (("grep", "lines"), ("documents", "whole"), ("command", "server")):
        if base.systems.list_all():
            app.button(key="systems_add").click().run()
        app.selectbox(key="systems_form").set_value(form).run()
        app.text_input(key="systems_name").set_value(name).run()
        if form == "command":
            app.text_input(key="systems_command").set_value("some-server --flag")
            app.text_input(key="systems_tool").set_value("search_docs")
            app.text_input(key="systems_argument").set_value("text").run()
        app.button(key="systems_save").click().run()
        assert not app.exception
    stored = {item.name: item.definition for item in base.systems.list_all()}
    assert (stored["lines"].form, stored["whole"].form) == ("grep", "documents")
    server = stored["server"]
    assert (server.command, server.tool) == ("some-server --flag", "search_docs")
    assert json.loads(server.body) == {"text": "{question}"}


def test_the_run_of_a_system_stands_beside_that_of_the_recipe(base, open_page, monkeypatch):
    own = base.runs.evaluate("checks", base.recipe()).run
    fields = {"name": "rival", "url": "https://x.example?q={question}"}
    stored = base.systems.add(HttpSystem.parse(fields))
    questions = base.systems.questions("checks")
    deep = base.recipe().with_fields({"search.top_k": 10})
    returned = [
        Returned(
            item.text,
            tuple(ReturnedText(hit.chunk.text) for hit in base.search(item.text, deep).hits),
        )
        for item in questions
    ]
    run = base.systems.evaluate("checks", returned, stored.source).evaluation.run
    ranked = rows(base, "checks", "ndcg@10", base.runs.list_all("checks"))
    assert reference(ranked) == "newest run of a recipe"
    assert reference([row for row in ranked if row.run.system]) == "newest run"
    app = open_page("runs.py", compare="Systems")
    said = _said(app)
    assert f"{len(questions)} of {len(questions)} questions have the same first 10" in said
    assert "the saved recipe; overlap 100%" in said

    def broken(*_: object) -> None:
        raise NotFound("The run is gone.", "Evaluate again.")

    with monkeypatch.context() as patch:
        patch.setattr("pages.components.runs.systems._measured", broken)
        app.run()
        assert [error.value for error in app.main.error] == [
            "**The run is gone\\.**  \nEvaluate again\\."
        ]
        assert app.button(key="systems_test_rival").label == "Test"
    app.run()
    app.button(key="systems_compare_rival").click().run()
    assert app.query_params["runs"] == f"{run.id},{own.id}"


def test_metrics_says_that_k_covers_all_there_is(base, open_page):
    run = base.runs.evaluate("checks", base.recipe()).run
    (caution,) = run.cautions
    assert run.environment["rankable results"] in caution
    assert caution in [info.value for info in open_page("metrics.py").info]
