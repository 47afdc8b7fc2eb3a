"""HTTP tools on the settings page: added, tried with a real call, changed, deleted after asking."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rag import HttpTool, Workspace
from tests.handbook import make, texts, visit
from tests.servers import Reply, Script, scripted

RESULT = {"text": "Leave <b>lapses</b> for $5$.", "title": "[Wiki](x)", "url": "https://x.example"}


@pytest.fixture
def workspace(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("TOUCHSTONE_ALLOW_PRIVATE_URLS", "1")
    st.cache_resource.clear()
    workspace, _ = make(home)
    yield workspace
    workspace.close()
    st.cache_resource.clear()


@pytest.fixture
def server() -> Iterator[Script]:
    with scripted(Reply(body=json.dumps({"results": [RESULT]}))) as script:
        yield script


def keep(workspace: Workspace, url: str, name: str = "wiki", **fields: object) -> None:
    paths = {"results": "results", "title": "title", "link": "url"}
    data = {"name": name, "url": f"{url}/?q={{question}}", **paths, **fields}
    workspace.tools.save(HttpTool.parse(data))


def fill(app: AppTest, of: str = "", **typed: str) -> AppTest:
    """Saves the form of a tool, or of a new one, with what is typed."""
    for name, value in typed.items():
        widgets = app.text_area if name in ("body", "headers") else app.text_input
        widgets(key=f"tools_{name}_{of}").set_value(value)
    app.button(key=f"tools_save_{of}").click().run()
    assert not app.exception
    return app


def test_a_tool_is_added(workspace):
    app = visit("settings.py")
    app.button(key="tools_add").click().run()
    fill(
        app,
        name="wiki",
        url="https://x.example/find",
        body='{"q": "{question}"}',
        headers="Authorization: Bearer TOUCHSTONE_TOOL_KEY",
        results="data.hits",
    )
    [tool] = workspace.tools.list_all()
    assert (tool.method, tool.results) == ("POST", "data.hits")
    assert tool.headers == {"Authorization": "Bearer TOUCHSTONE_TOOL_KEY"}
    assert r"needs TOUCHSTONE\_TOOL\_KEY" in texts(visit("settings.py"))


def test_a_secret_is_refused_and_not_repeated(workspace):
    app = visit("settings.py")
    app.button(key="tools_add").click().run()
    url = "https://x.example/?q={question}"
    app = fill(app, name="wiki", url=url, headers="X-Key: s3cret")
    assert "s3cret" not in texts(app)
    assert workspace.tools.list_all() == []


def test_a_real_call_shows_the_results_as_text(workspace, server):
    keep(workspace, server.url)
    app = visit("settings.py")
    app.button(key="tools_test_wiki").click().run()
    app.text_input(key="tools_question_wiki").set_value("leave?").run()
    app.button(key="tools_ask_wiki").click().run()
    assert server.paths == ["/?q=leave%3F"]
    assert r"1 · \[Wiki\]\(x\)" in texts(app)
    assert r"Leave \<b\>lapses\<\/b\> for \$5\$\." in texts(app)
    server.replies[:] = [Reply(500)]
    app.button(key="tools_ask_wiki").click().run()
    assert "answers 500" in texts(app)


def test_a_tool_is_changed_and_deleted_after_asking(workspace):
    keep(workspace, "https://x.example")
    app = visit("settings.py")
    app.button(key="tools_edit_wiki").click().run()
    fill(app, "wiki", url="https://y.example/?q={question}")
    assert [tool.url for tool in workspace.tools.list_all()] == ["https://y.example/?q={question}"]
    app = visit("settings.py")
    app.button(key="tools_delete_wiki").click().run()
    assert len(workspace.tools.list_all()) == 1
    assert [each.label for each in app.button if each.key == "tools_delete_really"] == ["Delete"]
    workspace.tools.remove("wiki")


def test_what_is_typed_stays_when_another_tool_is_opened(workspace):
    keep(workspace, "https://x.example")
    keep(workspace, "https://z.example", name="pumps")
    app = visit("settings.py")
    app.button(key="tools_add").click().run()
    app.text_input(key="tools_name_").set_value("third").run()
    app.button(key="tools_edit_wiki").click().run()
    typed = "https://y.example/?q={question}"
    app.text_input(key="tools_url_wiki").set_value(typed).run()
    for other in ("tools_edit_pumps", "tools_test_pumps", "tools_test_wiki"):
        app.button(key=other).click().run()
        assert app.text_input(key="tools_url_wiki").value == typed
        assert app.text_input(key="tools_name_").value == "third"
    assert app.text_input(key="tools_url_pumps").value == "https://z.example/?q={question}"
    fill(app, "pumps", description="state of pumps")  # saving one leaves the others alone
    assert app.text_input(key="tools_url_wiki").value == typed
    assert "tools_url_pumps" not in {each.key for each in app.text_input}
    app.button(key="tools_edit_wiki").click().run()  # which closes it: what was typed is given up
    app.button(key="tools_edit_wiki").click().run()
    assert app.text_input(key="tools_url_wiki").value == "https://x.example/?q={question}"
    said = {tool.name: (tool.url, tool.description) for tool in workspace.tools.list_all()}
    assert said == {
        "pumps": ("https://z.example/?q={question}", "state of pumps"),
        "wiki": ("https://x.example/?q={question}", ""),
    }
