"""A model that says nothing is stopped, and a knowledge base is deleted: only a browser shows it.

A stopped run draws no more, and a dialog runs without the page around it.
"""

import re

from playwright.sync_api import expect

from tests.browser.waiting import idle
from tests.servers import Reply, scripted

SILENT = 300  # seconds, longer than any test waits


def test_a_silent_model_is_stopped_and_the_question_can_be_asked_again(
    serve, warm_home, page, shoot, monkeypatch
):
    with scripted(Reply(delay=SILENT)) as server:
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_MODEL", "tiny")
        with serve(warm_home) as address:
            page.goto(f"{address}/chat?kb=handbook&provider=compatible")
            page.get_by_test_id("stChatInputTextArea").fill("What may a hotel cost?")
            page.get_by_test_id("stChatInputTextArea").press("Enter")
            page.get_by_text(re.compile(r"Waiting for the model, \d+ s")).wait_for()
            shoot(page, "chat-waiting")
            page.locator("[data-testid=stChatInput] button").last.click()
            page.get_by_text("Stopped before it was complete.").wait_for()
            page.get_by_role("button", name="Try again").wait_for()
            shoot(page, "chat-stopped")


def test_a_knowledge_base_is_deleted(serve, warm_home, page, shoot):
    with serve(warm_home) as address:
        page.goto(f"{address}/documents?kb=handbook")
        page.get_by_text("1 knowledge base: handbook is open").click()
        page.locator(".st-key-documents_delete_base button").click()
        typed = page.get_by_label("Type handbook to confirm")
        typed.fill("handbook")
        typed.press("Enter")
        really = page.get_by_role("button", name="Delete for good")
        expect(really).to_be_enabled()
        shoot(page, "documents-delete")
        really.click()
        page.get_by_role("dialog").wait_for(state="detached")
        page.get_by_text("There is no knowledge base yet.").first.wait_for()
        idle(page)
        expect(page.get_by_text("encountered an error")).to_have_count(0)
