"""Whoever has a link asks, opens sources, reads runs, takes a report away, and leaves."""

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from rag import (
    KnowledgeBase,
    TourStop,
    answer_stops,
    comparison_stop,
    explanation_stop,
    run_stop,
)
from tests.answers import asked
from tests.browser.conftest import Serve, Shoot
from tests.browser.waiting import click_row, idle, shows, until
from tests.identity_provider import providing, secrets_file
from tests.workspaces import add, workspace_at

QUESTION = "How long may unused leave be carried over?"


@dataclass(frozen=True)
class Served:
    """A server with two runs and a link."""

    address: str
    link: str
    runs: str
    tour: int


@pytest.fixture(scope="module")
def served(
    serve: Serve, filled_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("roles")
    home, file = folder / "home", folder / "secrets.toml"
    shutil.copytree(filled_home, home)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("STREAMLIT_SECRETS_FILES", str(file))
        patch.setenv("NO_PROXY", "127.0.0.1")
        file.write_text(secrets_file(stack.enter_context(providing("Ann"))))
        workspace = workspace_at(home)
        base = workspace.base("handbook")
        runs = [
            base.runs.evaluate("checks", base.recipe().with_fields(fields)).run.id
            for fields in ({"search.threshold": None}, {"search.threshold": 0.99})
        ]
        base.runs.pin(runs[0])
        add(workspace, base, {"late.md": "# Late\n\nCome late."})  # since the runs were made
        secret, _ = base.access.create_link("fair")
        tour = base.conversations.tours.create("For the board")
        base.conversations.tours.add(tour, _stops(base))
        workspace.close()
        yield Served(stack.enter_context(serve(home)), f"/share/{secret}", ",".join(runs), tour)


def test_whoever_has_the_link_asks_and_reads_runs(served, open_page, shoot):
    page = open_page()
    page.goto(served.address + served.link)
    expect(page.get_by_text("Shown to you by a link until")).to_be_visible()
    _follow_a_citation(page)
    shoot(page, "guest-chat")
    _say_what_was_wrong(page)
    _read_runs(page, served, shoot)
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.context.pages == [page]
    assert page.context.cookies(served.address + "/") != []
    assert not [each for each in page.context.cookies() if each["name"] == "touchstone_shared"]


def _stops(base: KnowledgeBase) -> list[TourStop]:
    """An answer with its page, why its first passage was retrieved, and two runs compared."""
    recipe = base.recipe()
    turn = asked(base, QUESTION, recipe)
    document = base.documents.document(turn.citations[0].document_id)
    explainer = base.explanations.explain(QUESTION, recipe)
    best = explainer.trace.hits[0].chunk.key
    standing = explainer.standing(best)
    new, old = base.runs.list_all()
    (compared,) = base.runs.compare([new.id], old.id, "ndcg@10", None)
    return [
        *answer_stops(turn, {document.id: document}),
        explanation_stop(QUESTION, standing, base.documents.document(standing.chunk.document_id)),
        run_stop(old, "As shipped", base.runs.intervals(old.id), base.runs.results(old.id)),
        comparison_stop(compared, {new.id: "Strict", old.id: "As shipped"}, base.recipe()),
    ]


def test_a_tour_is_read_by_link_on_a_small_screen(served, open_page, shoot):
    page = open_page()
    page.set_viewport_size({"width": 420, "height": 900})
    page.goto(f"{served.address}{served.link}/tour/{served.tour}")
    expect(page.get_by_role("heading", name="For the board")).to_be_visible()
    for number in range(1, 6):
        expect(page.get_by_text(f"Stop {number} of 5")).to_be_visible()
        idle(page)
        shoot(page, f"tour-{number}")
        wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not page.evaluate(wide)
        if number < 5:
            page.get_by_role("button", name="Next").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Print version").click()
    assert QUESTION in Path(download.value.path()).read_text("utf-8")


def _follow_a_citation(page: Page) -> None:
    field = page.get_by_test_id("stChatInputTextArea")
    field.fill(QUESTION)
    field.press("Enter")
    cited = page.get_by_role("link", name="[1]", exact=True).first
    expect(cited).to_be_visible()
    page.locator("span.listening").wait_for(state="attached")
    beside, chip = page.get_by_text(re.compile("passage 1 of")), page.get_by_role("radio")
    until(shows(beside), cited.click)
    expect(page).to_have_url(re.compile(r"source=\d+\.1"))
    expect(chip.filter(has_text="leave.md").first).to_be_checked()
    chip.filter(has_text="leave.md").first.click()
    expect(page).not_to_have_url(re.compile("source="))
    chip.filter(has_text="leave.md").first.click()
    expect(beside).to_be_visible()
    expect(page.get_by_role("button", name="Inspect this")).to_have_count(0)
    expect(page.get_by_role("button", name="Add to questions")).to_have_count(0)
    _nothing_failed(page)


def _say_what_was_wrong(page: Page) -> None:
    page.locator("[class*=st-key-chat_thumb_] button").last.click()
    page.get_by_role("button", name="Say why").click()
    page.get_by_role("radio", name="incomplete").click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("button", name="Because: incomplete")).to_be_visible()
    page.get_by_role("button", name="Conversations").click()
    expect(page.get_by_role("button", name="Markdown")).to_be_disabled()
    page.keyboard.press("Escape")
    _nothing_failed(page)


def _read_runs(page: Page, served: Served, shoot: Shoot) -> None:
    page.goto(f"{served.address}/runs")
    click_row(page.get_by_test_id("stDataFrame").first, 0, _download(page))
    shoot(page, "guest-run")
    _take_report(page)
    page.goto(f"{served.address}/runs?runs={served.runs}")
    expect(page.get_by_text("Better on 0 questions, worse on 3")).to_be_visible()
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    shoot(page, "guest-runs")
    _take_report(page)
    page.get_by_role("radio", name="Lost").click()
    click_row(page.get_by_test_id("stDataFrame").nth(1), 0, page.get_by_text("Nothing came back."))
    expect(page.get_by_role("button", name="Inspect").first).to_be_disabled()
    _nothing_failed(page)


def _download(page: Page) -> Locator:
    return page.get_by_test_id("stMain").get_by_role("button", name="Download run", exact=True)


def _take_report(page: Page) -> None:
    _download(page).click()
    for name in ("Bundle (ZIP)", "TREC run", "TREC qrels"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    with page.expect_download() as download:
        page.get_by_role("button", name="Report (HTML)").click()
    assert "handbook" in Path(download.value.path()).read_text("utf-8")
    page.keyboard.press("Escape")


def _nothing_failed(page: Page) -> None:
    idle(page)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)
