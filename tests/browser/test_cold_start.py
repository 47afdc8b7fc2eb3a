"""From starting the process to a page that can be used: measured and printed, never asserted."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Serve

Serve = Serve


@pytest.mark.parametrize("visit", ["empty home", "warm home"])
def test_the_first_page_of_a_fresh_server(
    visit: str, serve: Serve, page: Page, warm_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = time.perf_counter()
    with serve(warm_home if visit == "warm home" else None) as address:
        listening = time.perf_counter() - start
        page.goto(f"{address}/chat")
        expect(page.get_by_test_id("stChatInputTextArea")).to_be_enabled()
        usable = time.perf_counter() - start
    with capsys.disabled():
        said = f"{visit}: listening after {listening:.1f} s, chat usable after {usable:.1f} s"
        sys.stdout.write(f"\n{said}\n")
