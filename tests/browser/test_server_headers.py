"""What every answer of the server carries, and what it does not tell.

That the policy leaves the pages whole is shown by all browser tests: none may break it.
"""

from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app import Guard
from tests.browser.conftest import ARGUMENTS, CHROMIUM

METRICS = "/_stcore/metrics"
SETTING = "TOUCHSTONE_METRICS"
EVERY_KIND = ("/", "/chat", "/favicon.png", "/_stcore/health", "/_stcore/host-config", METRICS)


@pytest.fixture
def address(journeys: tuple[str, Path]) -> str:
    return journeys[0]


@pytest.mark.parametrize("path", EVERY_KIND)
def test_every_answer_has_the_headers(address, path):
    sent = httpx.get(f"{address}{path}", trust_env=False, timeout=60).headers
    assert sent["X-Content-Type-Options"] == "nosniff"
    assert sent["X-Frame-Options"] == "SAMEORIGIN"
    assert sent["Referrer-Policy"] == "same-origin"
    policy = dict(rule.split(" ", 1) for rule in sent["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'self'"
    assert policy["object-src"] == "'none'"
    assert "'unsafe-inline'" not in policy["script-src"]
    assert policy["script-src"].count("'sha256-") == 1


def test_a_script_that_came_with_content_does_not_run(address, browser):
    page = browser.new_page()
    page.goto(f"{address}/settings")
    expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
    refused = page.evaluate(
        """() => new Promise((done) => {
          document.addEventListener("securitypolicyviolation", (event) => {
            done(event.effectiveDirective);
          });
          const script = document.createElement("script");
          script.textContent = "document.title = 'taken over'";
          document.body.append(script);
        })"""
    )
    assert refused == "script-src-elem"
    expect(page).not_to_have_title("taken over")
    page.close()


@pytest.mark.thorough  # that its files are served is asserted in test_api_access.py
def test_the_reference_of_the_api_is_drawn_without_a_token_or_a_network(address, page):
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(f"{address}/api/v1/docs")
    expect(page.get_by_role("heading", name="knowledge bases")).to_be_visible()
    expect(page.get_by_role("button", name="Authorize")).to_be_visible()
    page.locator('[data-path="/v1/knowledge-bases/{kb}/search"]').click()
    expect(page.get_by_role("heading", name="Parameters")).to_be_visible()
    assert [url for url in requested if not url.startswith((address, "data:"))] == []


@pytest.mark.parametrize(
    ("value", "status"), [(None, 404), ("0", 404), ("perhaps", 404), ("1", 200)]
)
def test_the_figures_of_the_server_are_told_only_when_asked_for(value, status, monkeypatch):
    monkeypatch.delenv(SETTING, raising=False)
    if value is not None:
        monkeypatch.setenv(SETTING, value)
    figures = Route(METRICS, lambda _request: PlainTextResponse("active_sessions 3"))
    told = TestClient(Guard(Starlette(routes=[figures])), "http://localhost").get(METRICS)
    assert told.status_code == status
    assert ("active_sessions" in told.text) == (status == 200)
    assert told.headers["X-Content-Type-Options"] == "nosniff"


def test_a_page_whose_name_was_resolved_to_this_machine_gets_nothing(address, browser):
    """DNS rebinding: for the browser, the page of evil.example and the dashboard are one site."""
    mapped = [*ARGUMENTS, "--host-resolver-rules=MAP evil.example 127.0.0.1"]
    misled = browser.browser_type.launch(executable_path=CHROMIUM, args=mapped)
    page = misled.new_page()
    answer = page.goto(f"http://evil.example:{urlsplit(address).port}/documents")
    assert answer.status == 421
    assert "TOUCHSTONE_HOSTS" in page.inner_text("body")
    opened = page.evaluate(
        """() => new Promise((done) => {
          const url = location.origin.replace("http", "ws") + "/_stcore/stream";
          const socket = new WebSocket(url, "streamlit");
          socket.onopen = () => done(true);
          socket.onerror = () => done(false);
        })"""
    )
    assert not opened
    misled.close()


OTHER_DOORS = ("/api/v1/knowledge-bases", "/api/v1/openapi.json", "/mcp", "/readyz", "/healthz")


@pytest.mark.parametrize("path", OTHER_DOORS)
def test_programs_are_told_which_variable_lists_the_hosts(address, path):
    answer = httpx.get(f"{address}{path}", headers={"Host": "evil.example"}, trust_env=False)
    assert answer.status_code == 421
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert "TOUCHSTONE_HOSTS" in answer.json()["hint"]


@pytest.mark.parametrize("path", ["/share", "/share/abc", "/share/abc/tour/3", "/share/abc/more"])
def test_an_incomplete_link_says_so(address, path):
    answer = httpx.get(f"{address}{path}", trust_env=False, timeout=60)
    assert answer.status_code == 404
    assert "ask the person who sent it for a new one" in answer.text
    assert (
        "set-cookie" not in answer.headers
        or "touchstone_shared" not in answer.headers["set-cookie"]
    )
    assert "Content-Security-Policy" in answer.headers
