"""HTTP tools on the settings page: added, tried with a real call, changed, deleted after asking."""

from __future__ import annotations

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


def keep(workspace: Workspace, url: str, **fields: object) -> None:
    paths = {"results": "results", "title": "title", "link": "url"}
    data = {"name": "wiki", "url": f"{url}/?q={{question}}", **paths, **fields}
    workspace.tools.save(HttpTool.parse(data))


def fill(app: AppTest, **typed: str) -> AppTest:
    for name, value in typed.items():
        widgets = app.text_area if name in ("body", "headers") else app.text_input
        widgets(key=f"tools_{name}").set_value(value)
    next(each for each in app.button if each.label == "Save the tool").click().run()
    assert not app.exception
    return app


def test_a_tool_is_added(workspace: Workspace) -> None:
    app = visit("settings.py")
    assert "There is no tool yet." in texts(app)
    app.button(key="tools_add").click().run()
    fill(
        app,
        name="wiki",
        url="https://x.example/find",
        body='{"q": "{question}"}',
        headers="Authorization: Bearer TOUCHSTONE_TOOL_KEY",
        results="data.hits",
    )
    [tool] = workspace.tools.every()
    assert (tool.method, tool.results) == ("POST", "data.hits")
    assert tool.headers == {"Authorization": "Bearer TOUCHSTONE_TOOL_KEY"}
    assert r"needs TOUCHSTONE\_TOOL\_KEY" in texts(visit("settings.py"))


def test_a_secret_is_refused_and_not_repeated(workspace: Workspace) -> None:
    app = visit("settings.py")
    app.button(key="tools_add").click().run()
    url = "https://x.example/?q={question}"
    app = fill(app, name="wiki", url=url, headers="X-Key: s3cret")
    assert r"begins with TOUCHSTONE\_TOOL\_" in texts(app)
    assert "s3cret" not in texts(app)
    assert workspace.tools.every() == []


def test_a_real_call_shows_the_results_as_text(workspace: Workspace, server: Script) -> None:
    keep(workspace, server.url)
    app = visit("settings.py")
    app.button(key="tools_test_wiki").click().run()
    app.text_input(key="tools_question").set_value("leave?").run()
    app.button(key="tools_ask").click().run()
    assert server.paths == ["/?q=leave%3F"]
    assert r"1 · \[Wiki\]\(x\)" in texts(app)
    assert r"Leave \<b\>lapses\<\/b\> for \$5\$\." in texts(app)
    server.replies[:] = [Reply(500)]
    app.button(key="tools_ask").click().run()
    assert "answers 500" in texts(app)


def test_a_tool_is_changed_and_deleted_after_asking(workspace: Workspace) -> None:
    keep(workspace, "https://x.example")
    app = visit("settings.py")
    app.button(key="tools_edit_wiki").click().run()
    fill(app, url="https://y.example/?q={question}")
    assert [tool.url for tool in workspace.tools.every()] == ["https://y.example/?q={question}"]
    app = visit("settings.py")
    app.button(key="tools_delete_wiki").click().run()
    assert len(workspace.tools.every()) == 1
    assert [each.label for each in app.button if each.key == "tools_delete_really"] == ["Delete"]
    workspace.tools.remove("wiki")
    assert "There is no tool yet." in texts(visit("settings.py"))
