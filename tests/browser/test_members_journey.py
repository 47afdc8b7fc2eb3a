"""Members of the least and of a high role press the main controls of each page.

They work, or are off. Every role does so in ``tests/pages/test_every_control.py``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from playwright.sync_api import Page, expect

from rag import ROLES
from tests.browser.conftest import Serve
from tests.browser.waiting import idle
from tests.identity_provider import providing, secrets_file
from tests.workspaces import workspace_at

QUESTION = "How long may unused leave be carried over?"


class Control(NamedTuple):
    """A control of a page, the least role that may use it, and a text that it brings up."""

    role: Literal["button", "radio", "switch"]
    name: str
    least: str
    text: str = ""


PAGES = {
    "Documents": (Control("button", "Rename", "editor", "Links with the old name"),),
    "Chat": (
        Control("radio", QUESTION, "viewer", "Inspect this"),
        Control("button", "Add to questions", "labeller", "Grade the passages"),
        Control("button", "New conversation", "viewer", "Try one of these"),
    ),
    "Arena": (Control("switch", "Blind", "viewer"),),
    "Review": (),
    "Inspector": (
        Control("radio", "Terms", "viewer"),
        Control("button", "Label the exact words", "labeller", "Which words answer?"),
    ),
    "Metrics": (Control("button", "Download run", "viewer", "Report (HTML)"),),
    "Question sets": (
        Control("button", "Make questions", "labeller", "Each question shows its source"),
    ),
    "Tuning": (
        Control("radio", "Top-k", "viewer"),
        Control("button", "Search all", "editor"),
    ),
    "Runs": (
        Control("button", "Download run", "viewer", "Report (HTML)"),
        Control("button", "Note and tags", "editor", "Cancel"),
    ),
    "Operations": (Control("radio", "All", "viewer"),),
    "Settings": (Control("button", "Make a link", "owner", "/share/share_"),),
    "Audit log": (Control("button", "Download CSV", "owner"),),
}
"""Controls by the title of their page or tab."""
TABS = {
    "Question sets": "Metrics",
    "Arena": "Runs",
    "Review": "Usage",
    "Operations": "Usage",
    "Audit log": "Settings",
}
"""Pages by the tab that has the place of an earlier page, whose address leads on to it."""
ADDRESSES = {"Question sets": "metrics?metrics=Question+sets", "Audit log": "audit"}
"""Addresses of tabs that do not have their name."""


def test_members_meet_what_their_role_may(
    serve: Serve,
    warm_home: Path,
    tmp_path: Path,
    open_page: Callable[[], Page],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "secrets.toml"
    monkeypatch.setenv("STREAMLIT_SECRETS_FILES", str(file))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    run = _prepare(warm_home)
    with providing(*map(str.title, ROLES)) as provider:
        file.write_text(secrets_file(provider))
        with serve(warm_home) as address:
            context = open_page().context  # one for all, which has read the dashboard's code once
            for role in ("owner", "viewer"):  # who signs in first is the administrator
                page = context.new_page()
                _sign_in(page, address, role.title())
                _tour(page, address, role, run)
                page.close()
                context.clear_cookies()


def _prepare(home: Path) -> str:
    """Adds a run and a member for each role; returns the id of the run."""
    workspace = workspace_at(home)
    base = workspace.base("handbook")
    for role in ROLES:
        base.members.add(f"{role}@example.org", role)
    run = base.evaluator.evaluate("checks", base.recipe()).run.id
    workspace.close()
    return run


def _sign_in(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}/settings")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=name).click()
    expect(page.get_by_test_id("stSidebar").get_by_text(name, exact=True)).to_be_visible()


def _tour(page: Page, address: str, role: str, run: str) -> None:
    """Opens each page by the navigation, but those that show something given by its address."""
    given = {"Inspector": f"inspector?kb=handbook&q={QUESTION}", "Runs": f"runs?runs={run}"}
    for title, controls in PAGES.items():
        if title in TABS:
            page.goto(f"{address}/{ADDRESSES.get(title, title.lower())}")
            shown = "Operations" if (title, role) == ("Review", "viewer") else title
            expect(page.get_by_role("tab", name=shown, selected=True)).to_be_visible()
        elif title in given:
            page.goto(f"{address}/{given[title]}")
        else:
            page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
        expect(page.get_by_role("heading", level=1, name=TABS.get(title, title))).to_be_visible()
        _await_drawn(page)
        if title == "Documents":
            page.get_by_text("handbook is open").click()
        for control in controls:
            _press(page, control, may=[*ROLES].index(role) >= [*ROLES].index(control.least))


def _press(page: Page, control: Control, *, may: bool) -> None:
    """Presses a control that may be used; one that may not is off, or not there."""
    # Where a page has a field to chat, Streamlit names its main part by another test id.
    element = page.get_by_role("main").get_by_role(control.role, name=control.name, exact=True)
    if not may:
        if element.count():
            expect(element.first).to_be_disabled()
        return
    if control.role == "switch":
        element.first.press("Space")  # Streamlit draws over the element itself
    else:
        element.first.click()
    if control.text:
        expect(page.get_by_text(control.text).first).to_be_visible()
    _await_drawn(page)
    cancel = page.get_by_role("dialog").get_by_role("button", name="Cancel")
    if cancel.count():
        cancel.click()
    else:
        page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def _await_drawn(page: Page) -> None:
    """Waits until the page and the code of its widgets are there, and nothing failed."""
    idle(page)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)
