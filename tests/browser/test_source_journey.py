"""From a citation to the page that says it, on to the next page, and to a place on the map."""

import io
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from rag.workspace.workspace import SAMPLE_FOLDER
from tests.browser.waiting import LONG, at_rest, comes_true, idle, until
from tests.workspaces import add, workspace_at

QUESTION = "How many days of unused leave may be carried over?"
FILES = ("leave-policy-2026.pdf", "price-list-2026.csv", "glossary.md")
TINTS = ((184, 216, 255), (255, 221, 87))  # the passage, and the quoted words

pytestmark = pytest.mark.slow


@pytest.fixture
def policy_home(tmp_path: Path) -> Path:
    home = tmp_path / "policy"
    workspace = workspace_at(home)
    base = workspace.create("policies")
    files = {name: (SAMPLE_FOLDER / name).read_bytes() for name in FILES}
    assert set(add(workspace, base, files)) == {"added"}
    workspace.close()
    return home


def test_a_citation_leads_to_its_page_and_to_the_map(serve, page, shoot, policy_home):
    with serve(policy_home) as address:
        _open_citation(page, address)
        _see_the_words_marked(page)
        shoot(page, "chat-page")
        _turn_pages(page)
        _inspect(page)
        _draw_the_map(page)
        shoot(page, "inspector-map")
        _click_a_point(page)


def _open_citation(page: Page, address: str) -> None:
    page.goto(f"{address}/chat")
    box = page.get_by_placeholder("Ask your documents")
    box.fill(QUESTION)
    box.press("Enter")
    page.get_by_text("quotes, no language model").wait_for()
    page.get_by_role("radio", name=re.compile(r"leave-policy-2026\.pdf · p\. 2")).first.click()


def _picture(page: Page, number: int) -> Locator:
    picture = page.get_by_role("img", name=re.compile(rf"^Page {number} of leave-policy-2026\.pdf"))
    expect(picture).to_have_js_property("complete", True)
    return picture


def _tinted(picture: Locator) -> list[int]:
    """How many pixels of the screen have the colour of each mark."""
    expect(picture).to_have_attribute("src", re.compile(r"\.png$"))  # as it was drawn, no copy
    picture.evaluate("image => image.decode()")  # else it may be there, but not yet painted
    seen = np.asarray(Image.open(io.BytesIO(picture.screenshot())).convert("RGB")).astype(int)
    return [int((abs(seen - tint).max(axis=2) < 6).sum()) for tint in TINTS]


def _see_the_words_marked(page: Page) -> None:
    def marked() -> bool:
        passage, quote = _tinted(_picture(page, 2))
        return passage > 500 and quote > 200

    comes_true(page, marked)


def _turn_pages(page: Page) -> None:
    page.locator("[class*=st-key-source_Next] button").first.click()
    comes_true(page, lambda: _tinted(_picture(page, 3)) == [0, 0])
    page.wait_for_url(re.compile(r"leaf=1"))
    page.reload()
    _picture(page, 3)
    page.locator("[class*=st-key-source_Previous] button").first.click()
    _see_the_words_marked(page)


def _inspect(page: Page) -> None:
    page.get_by_role("button", name="Inspect this").click()
    page.get_by_role("heading", level=1, name="Inspector").wait_for()
    page.get_by_role("radio", name="Map", exact=True).click()


def _draw_the_map(page: Page) -> None:
    page.get_by_role("button", name="Draw the map").click()
    page.get_by_text("The question lies among").wait_for(timeout=3 * LONG)
    page.locator(".st-key-inspector_map .gl-canvas").first.wait_for()


_PLACES = """() => {
  const chart = document.querySelector(".st-key-inspector_map .js-plotly-plot");
  const corner = chart.getBoundingClientRect(), layout = chart._fullLayout;
  const places = [];
  for (const trace of chart._fullData.filter((each) => each.type === "scattergl"))
    for (let at = 0; at < trace._length; at++) places.push([
      corner.x + layout.xaxis._offset + layout.xaxis.l2p(trace.x[at]),
      corner.y + layout.yaxis._offset + layout.yaxis.l2p(trace.y[at]),
    ]);
  return places.sort((one, other) => other[0] - one[0]);
}"""


def _click_a_point(page: Page) -> None:
    """One of those farthest to the right, where few are in the way; another one if it is chosen."""
    chart = page.locator(".st-key-inspector_map")
    before, turns = page.url, itertools.count()

    def click() -> None:
        idle(page)
        chart.scroll_into_view_if_needed()
        at_rest(chart)
        x, y = page.evaluate(_PLACES)[next(turns)]
        page.mouse.move(x - 3, y)
        page.mouse.move(x, y)
        page.wait_for_timeout(300)  # until it is hovered, a point takes no click
        page.mouse.click(x, y)

    def another_passage(wait: float) -> None:
        page.wait_for_url(lambda url: "passage=" in url and url != before, timeout=wait)

    until(another_passage, click)
    page.get_by_text(re.compile(r"passage \d+ of \d+")).wait_for()
    page.get_by_text("The question lies among").wait_for(timeout=3 * LONG)


LONG_CELL = (
    "the exporter writes each record to the store and verifies its checksum before it is removed"
)
WIDE = "Feature,Description,Status,Owner,Notes\n" + "\n".join(
    f'Feature {row},"{LONG_CELL}; the quota of tenant {row} is {row * 7} gigabytes",'
    f'beta,Team {row},"see https://example.org/releases/version-{row}.html#anchor"'
    for row in range(12)
)


def test_every_column_of_a_wide_table_is_read_without_scrolling_sideways(serve, page, tmp_path):
    workspace = workspace_at(tmp_path / "wide")
    assert add(workspace, workspace.create("features"), {"features.csv": WIDE}) == ["added"]
    workspace.close()
    with serve(tmp_path / "wide") as address:
        page.goto(f"{address}/chat")
        box = page.get_by_placeholder("Ask your documents")
        box.fill("What is the quota of tenant 7 in gigabytes?")
        box.press("Enter")
        page.get_by_role("radio", name=re.compile(r"features\.csv")).first.click()
        row = page.get_by_role("row").filter(has_text="quota of tenant 7")
        expect(row).to_have_attribute("aria-current", "true")
        cells = row.get_by_role("cell")
        for width in (1440, 420):
            page.set_viewport_size({"width": width, "height": 900})
            expect(cells).to_have_count(5)
            comes_true(page, lambda: _within(cells, page.locator(".text")))


def _within(cells: Locator, box: Locator) -> bool:
    """Whether all cells lie between the left and the right edge of a box."""
    outer, boxes = box.bounding_box(), [cell.bounding_box() for cell in cells.all()]
    return all(
        inner is not None
        and inner["x"] >= outer["x"]
        and inner["x"] + inner["width"] <= outer["x"] + outer["width"]
        for inner in boxes
    )


@pytest.mark.parametrize("opened", ["link", "radio"])
def test_a_clicked_source_comes_into_view_on_a_narrow_screen(serve, page, policy_home, opened):
    page.set_viewport_size({"width": 420, "height": 900})
    with serve(policy_home) as address:
        page.goto(f"{address}/chat")
        box = page.get_by_placeholder("Ask your documents")
        for number in (1, 2):
            box.fill(QUESTION)
            box.press("Enter")
            page.get_by_text("quotes, no language model").nth(number - 1).wait_for()
            idle(page)
        page.locator("span.listening").wait_for(state="attached")
        name = re.compile(r"^\[1\]$" if opened == "link" else r"leave-policy-2026\.pdf · p\. 2")
        page.get_by_role(opened, name=name).first.click()
        title = page.locator(".st-key-chat_source strong").first
        comes_true(page, lambda: _is_above(title, page.get_by_test_id("stBottom"), 250))
        at_rest(title)
        assert _is_above(title, page.get_by_test_id("stBottom"), 250)


def _is_above(element: Locator, other: Locator, space: int) -> bool:
    """Whether an element is in view, and so many pixels above another one."""
    one, two = element.bounding_box(), other.bounding_box()
    return one is not None and two is not None and 0 < one["y"] < two["y"] - space
