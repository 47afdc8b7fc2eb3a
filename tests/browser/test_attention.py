"""The pages of the sample at rest ask for no more reading and no more choices than their limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from rag import SAMPLE
from tests.browser.attention import Attention, of_main, of_sidebar, settle
from tests.browser.conftest import Serve
from tests.sample import sample
from tests.workspaces import workspace_at

QUESTION = "How+long+may+unused+leave+be+carried+over?"
PAGES = {
    "Documents": "/documents",
    "Chat": "/chat",
    "Inspector": f"/inspector?q={QUESTION}",
    "Metrics": "/metrics",
    "Tuning": "/tuning",
    "Runs": "/runs",
    "Settings": "/settings",
}
MAIN = {
    "Documents": Attention(80, 12, 1.1),
    "Chat": Attention(60, 8, 1.0),
    "Inspector": Attention(600, 45, 1.8),
    "Metrics": Attention(190, 22, 1.6),
    "Tuning": Attention(150, 18, 1.15),
    "Runs": Attention(60, 8, 1.0),
    "Settings": Attention(60, 8, 1.1),
}
SIDEBAR = Attention(25, 12, 1.0)
WITH_SLIDERS = Attention(25, 14, 1.0)
"""On Tuning, where everything follows the sliders of threshold and top-k."""


@pytest.fixture(scope="module")
def sample_address(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the sample and a run with answers."""
    home = tmp_path_factory.mktemp("sample") / "home"
    with sample(home) as base:
        recipe = base.recipe()
    workspace = workspace_at(home)
    job = workspace.base(SAMPLE).runs.start_answers(SAMPLE, recipe)
    assert workspace.jobs.run(job).status == "done"
    workspace.close()
    with serve(home) as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize("title", MAIN)
def test_a_page_at_rest_stays_within_its_limits(
    sample_address: str, page: Page, title: str
) -> None:
    page.goto(sample_address + PAGES[title])
    page.get_by_role("heading", level=1, name=title).wait_for()
    settle(page)
    counts = (*of_main(page), *of_sidebar(page))
    limits = (*MAIN[title], *(WITH_SLIDERS if title == "Tuning" else SIDEBAR))
    assert [min(pair) for pair in zip(counts, limits, strict=True)] == list(counts)
