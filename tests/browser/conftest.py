"""The real server with a home of its own, and a real browser in front of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ExceptionRepr
from playwright.sync_api import Error, expect, sync_playwright

from tests.answers import asked
from tests.browser.waiting import LONG
from tests.dashboard import serving
from tests.workspaces import add, workspace_at

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from rag import KnowledgeBase

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
WIDTHS = {1440: 900, 420: 900}
AT_REST: dict[str, Any] = {"reduced_motion": "reduce"}
"""Without animations, which the processor draws frame by frame: a quarter of the time of a page."""

# What a library tries and catches, such as eval, is no message of the console.
VIOLATIONS = """document.addEventListener("securitypolicyviolation", (event) => console.error(
  `Content Security Policy: ${event.effectiveDirective} ${event.blockedURI}`))"""

DOCUMENTS = {
    "leave.md": "# Leave\n\nUnused leave may be carried over until 30 June of the next year. "
    "It lapses after that day.\n\n# Illness\n\nA certificate is needed from the fourth day.",
    "travel.md": "# Travel\n\nTrains are booked in second class. A hotel may cost $120 a night.",
    "pump.md": "# Pump\n\nThe pump makes a grinding noise when its bearing is dry. Grease it.",
}
LABELLED = "\n".join(
    json.dumps({"id": name, "text": text, "evidence": [{"document": name, "quote": quote}]})
    for name, text, quote in (
        ("leave.md", "How long may unused leave be carried over?", "until 30 June"),
        ("travel.md", "What may a hotel cost?", "A hotel may cost $120 a night."),
        ("pump.md", "Why does the pump make a noise?", "when its bearing is dry"),
    )
)

Serve = Callable[..., AbstractContextManager[str]]
Shoot = Callable[["Page", str], None]


CONTEXTS: pytest.StashKey[list[BrowserContext]] = pytest.StashKey()
"""The visitors of a test, whose pages are described when it fails."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the words of each open tab to the report of a failure: the call log has none of them."""
    report = yield
    if report.when == "call" and isinstance(report.longrepr, ExceptionRepr):
        for context in item.stash.get(CONTEXTS, []):
            for tab in context.pages:
                with suppress(Error):  # of a browser that is gone
                    words = tab.inner_text("body").split("\n")
                    report.longrepr.addsection(f"Page {tab.url}", "\n".join(filter(None, words)))
    return report


JOURNEYS = {
    "test_a_file_is_uploaded_previewed_and_cited",
    "test_a_cited_answer_is_asked_opened_inspected_and_shared",
    "test_find_the_missing_and_bring_it_in",
    "test_label_a_passage_then_its_exact_words",
    "test_evaluate_then_open_a_question_in_the_inspector",
    "test_tune_by_hand_then_by_search",
    "test_compare_and_take_the_report_away",
    "test_whoever_has_the_link_asks_and_reads_runs",
    "test_a_tour_is_read_by_link_on_a_small_screen",
    "test_two_people_and_a_link",
}
"""Those that every change must pass; the others are thorough."""
SERVER = {"test_server_headers"}
"""Files on what the server sends, which every change must pass too."""
AGAIN = pytest.mark.flaky(reruns=1, only_rerun=["TimeoutError", "Locator expected"])
"""A journey that waited in vain is walked once more: the log shows both, with their words."""


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(AGAIN)
            if item.originalname not in JOURNEYS and item.path.stem not in SERVER:
                item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Serve:
    """Starts a fresh server with an empty home, or the one given; ends it afterwards."""
    return lambda home=None: serving(home or tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def address(serve: Serve) -> Iterator[str]:
    """The address of one server for all tests that do not need a fresh one."""
    with serve() as url:
        yield url


@pytest.fixture(scope="session")
def filled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("filled")
    workspace = workspace_at(home)
    base = workspace.create("handbook")
    assert set(add(workspace, base, DOCUMENTS)) == {"added"}
    base.questions.import_file("checks", "checks.jsonl", LABELLED)
    workspace.close()
    return home


@pytest.fixture(scope="session")
def warm_address(
    serve: Serve, filled_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of one server with documents, for tests that change nothing."""
    home = shutil.copytree(filled_home, tmp_path_factory.mktemp("warm") / "home")
    with serve(home) as address:
        yield address


@pytest.fixture(scope="session")
def journeys(
    serve: Serve, filled_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """The address of one server, and its home, for tests that have a base of their own there."""
    home = shutil.copytree(filled_home, tmp_path_factory.mktemp("journeys") / "home")
    with serve(home) as address:
        yield address, home


@pytest.fixture
def own(journeys: tuple[str, Path]) -> Iterator[tuple[str, KnowledgeBase]]:
    """The address of a server, and a copy of "handbook" there: a journey labels and evaluates."""
    address, home = journeys
    workspace = workspace_at(home)
    base, job = workspace.duplicate("handbook", f"own-{token_hex(4)}")
    assert workspace.jobs.run(job).status == "done"
    yield address, base
    workspace.close()


@pytest.fixture
def warm_home(filled_home: Path, tmp_path: Path) -> Path:
    """A home with the knowledge base "handbook": the default recipe, documents, a question set.

    Every test has its own, because a journey labels, evaluates and saves.
    """
    return shutil.copytree(filled_home, tmp_path / "warm")


@pytest.fixture
def measured_home(warm_home: Path) -> Path:
    """With a run and its baseline, so that no page is empty."""
    workspace = workspace_at(warm_home)
    base = workspace.base("handbook")
    recipe = base.recipe()
    pinned = base.runs.evaluate("checks", recipe).run.id
    base.runs.pin(pinned)
    base.runs.evaluate("checks", recipe.with_fields({"search.top_k": 8}))
    asked(base, "How long may unused leave be carried over?")
    workspace.close()
    return warm_home


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = CHROMIUM if CHROMIUM.exists() else shutil.which("chromium")
    if not executable:
        pytest.skip("needs chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        expect.set_options(timeout=LONG)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[[], Page]]:
    """Opens tabs of visitors who never were here: no history, no cookies, no storage.

    Nothing in them may be against the policy of the server, so that every journey shows that
    the policy leaves its pages whole.
    """
    contexts = request.node.stash.setdefault(CONTEXTS, [])
    said: list[str] = []

    def opened() -> Page:
        context = browser.new_context(
            viewport={"width": 1440, "height": 900}, ignore_https_errors=True, **AT_REST
        )
        context.set_default_timeout(LONG)
        context.add_init_script(VIOLATIONS)
        context.on("console", lambda message: said.append(message.text))
        contexts.append(context)
        return context.new_page()

    yield opened
    for context in contexts:
        context.close()
    assert [text for text in said if "Content Security Policy" in text] == []


@pytest.fixture
def page(open_page: Callable[[], Page]) -> Page:
    """The tab of a new visitor."""
    return open_page()


@pytest.fixture
def shoot(request: pytest.FixtureRequest) -> Shoot:
    """Takes pictures of a page, wide and narrow, light and dark, where ``--screenshots`` says."""
    folder = request.config.getoption("screenshots")
    return lambda page, name: _take_pictures(page, name, Path(folder)) if folder else None


def _take_pictures(page: Page, name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(700)
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 900})
