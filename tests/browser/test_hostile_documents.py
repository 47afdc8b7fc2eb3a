"""Sixty hostile documents and a model that repeats them: nothing is loaded, and nothing runs."""

import re
from urllib.parse import quote, urlsplit

from playwright.sync_api import Page

from tests.hostile_documents import ELSEWHERE, TOPIC, hostile_documents
from tests.servers import openai_stream, scripted
from tests.workspaces import QUICK, add, workspace_at

QUESTION = "How many bar does the Marlin 7 pump need?"


def test_the_page_loads_nothing_remote_and_runs_nothing(serve, tmp_path, page, shoot, monkeypatch):
    documents = hostile_documents()
    workspace = workspace_at(tmp_path / "home")
    base = workspace.create("hostile", QUICK.with_fields({"index.chunker": "whole"}))
    assert add(workspace, base, documents) == ["added"] * 60
    workspace.close()
    asked = list[str]()
    page.context.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(f"dialog://{dialog.message}"))
    said = "\n\n".join(documents.values())
    with scripted(openai_stream(f"{TOPIC} [1]\n\n", said)) as model:
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", f"{model.url}/v1")
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_MODEL", "parrot")
        with serve(tmp_path / "home") as address:
            page.goto(f"{address}/chat?kb=hostile&cut=Off&k=50&context=50000")
            _ask(page, "quotes, no language model")
            page.goto(f"{address}/chat?kb=hostile&cut=Off&k=50&context=50000&provider=compatible")
            _ask(page, "with text that reads like instructions")
            shoot(page, "chat-hostile")
            page.goto(f"{address}/inspector?kb=hostile&cut=Off&k=50&q={quote(QUESTION)}")
            page.get_by_text("reads like instructions to a language model").first.wait_for()
            shoot(page, "inspector-hostile")
            assert page.evaluate("window.hostile") is None
            assert page.locator(f"[src*='{ELSEWHERE}'], [href*='{ELSEWHERE}']").count() == 0
    assert len(asked) > 20
    server = urlsplit(address).netloc
    assert {urlsplit(url).netloc for url in asked} - {server, ""} == set()
    assert not [url for url in asked if re.match("dialog:|javascript:", url)]


def _ask(page: Page, shown: str) -> None:
    page.get_by_test_id("stChatInputTextArea").fill(QUESTION)
    page.get_by_test_id("stChatInputTextArea").press("Enter")
    page.get_by_text(shown).last.wait_for()
    assert page.evaluate("window.hostile") is None
