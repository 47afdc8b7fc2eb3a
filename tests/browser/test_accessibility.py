"""Every page in both themes by axe-core: no serious violation but what Streamlit itself draws."""

from collections.abc import Iterator
from functools import partial
from importlib import resources
from typing import Any

from playwright.sync_api import Page

from tests.browser.conftest import AT_REST
from tests.browser.waiting import hides, idle, shows, until

PAGES = (
    "upload?kb=handbook",
    "chat",
    "inspector?q=How+long+may+unused+leave+be+carried+over%3F",
    "metrics",
    "metrics?metrics=Question+sets",
    "tuning",
    "runs",
    "runs?compare=Arena",
    "usage",
    "usage?usage=Operations&period=All",
    "settings",
    "settings?settings=Access",
)
OPENED = {
    "metrics": ("Judge",),
    "metrics?metrics=Question+sets": ("Edit questions", "Import questions", "Rename or delete"),
    "chat": ("Add to questions",),
    "tuning": ("Options",),
}
"""What opens over a page by a click on a button."""
STREAMLIT: dict[str, str] = {}
"""Rule to selector: what cannot be mended from here. Each must still be needed."""

_RUN = """async (known) => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.filter(rule => ["serious", "critical"].includes(rule.impact))
    .flatMap(rule => rule.nodes.map(node => ({
      rule: rule.id,
      html: node.html.slice(0, 200),
      why: node.failureSummary,
      known: document.querySelector(node.target[0])?.matches(known[rule.id] || ":not(*)") || false,
    })));
}"""


def test_no_page_has_a_serious_violation_of_ours(serve, measured_home, browser):
    script = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
    ours: list[dict[str, Any]] = []
    seen: set[str] = set()
    with serve(measured_home) as address:
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": 1440, "height": 2000},
                color_scheme=scheme,
                bypass_csp=True,
                **AT_REST,
            )
            page = context.new_page()
            for name in PAGES:
                for place, found in _looks(page, name, f"{address}/{name}", script):
                    seen |= {each["rule"] for each in found if each["known"]}
                    ours += [
                        {"page": f"{place}, {scheme}"} | each for each in found if not each["known"]
                    ]
                if name == "settings?settings=Access":
                    assert _focused(page) == "solid", scheme
                    assert page.evaluate(_CONTRAST, ":focus") >= 4.5, scheme
                if name == "tuning":
                    page.goto(f"{address}/tuning?cuts=true")
                    page.locator("[data-tag]").first.wait_for()
                    assert page.evaluate(_CONTRAST, "[data-tag]") >= 4.5, scheme
            context.close()
    assert [(each["page"], each["rule"], each["html"]) for each in ours] == []
    assert seen == STREAMLIT.keys()


def _focused(page: Page) -> str:
    """The outline of the primary button, which the keyboard is on.

    A script that has just ended may draw the button anew, and takes the focus from it.
    """
    outline = ""
    for _ in range(3):
        idle(page)
        page.get_by_role("button", name="Make a token").focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        idle(page)
        outline = str(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"))
        if outline != "none":
            break
    return outline


_CONTRAST = """(selector) => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const light = (colour, under) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const fill of [under, colour]) { canvas.fillStyle = fill; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
      .map((value) => value / 255)
      .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
      .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  };
  const under = getComputedStyle(document.querySelector("[data-testid=stApp]")).backgroundColor;
  const style = getComputedStyle(document.querySelector(selector));
  const [one, other] = [light(style.color, under), light(style.backgroundColor, under)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}"""
"""Of what axe cannot judge: the focused primary button, and the chip of a choice."""

Found = list[dict[str, Any]]


def _looks(page: Page, name: str, address: str, script: str) -> Iterator[tuple[str, Found]]:
    """What axe finds on a page, and again with each of the things that open over it."""
    page.goto(address)
    page.get_by_role("heading", level=1).first.wait_for()
    idle(page)
    if "q=" in name:  # buttons come with a script of their own: the list scrolls before they do
        page.locator("[class*=st-key-inspector_card_] button").first.wait_for()
    if name == "chat":
        page.get_by_role("textbox", name="Ask").fill("How long may unused leave be carried over?")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Add to questions").wait_for()
        idle(page)
    page.evaluate(script)
    yield name, page.evaluate(_RUN, STREAMLIT)
    for button in OPENED.get(name, ()):
        opened = page.get_by_role("dialog")
        until(shows(opened), page.get_by_role("button", name=button).click)
        idle(page)
        yield f"{name}, {button}", page.evaluate(_RUN, STREAMLIT)
        cancel = opened.get_by_role("button", name="Cancel")
        close = cancel.click if cancel.count() else partial(page.keyboard.press, "Escape")
        until(hides(opened), close)
        idle(page)
