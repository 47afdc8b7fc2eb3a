"""What a page asks of the eye: the words, controls and screens that stand there at rest."""

from __future__ import annotations

from typing import NamedTuple

from playwright.sync_api import Page

from tests.browser.waiting import comes_true, idle

HEIGHT = 900
"""Pixels of a window, which is 1440 wide."""
_QUIET = 1500  # milliseconds without a change: what is drawn later, such as charts, is there

# Names of icons are no words; what shows only under the pointer, such as the tools of a table, is
# not at rest. Marks that open a help are controls.
_COUNT = """(selector) => {
  const area = document.querySelector(selector);
  const seen = (element) => element.checkVisibility({ opacityProperty: true,
    visibilityProperty: true }) && element.getBoundingClientRect().width > 1;
  const asleep = "[data-testid=stElementToolbar], [data-testid=stHeaderActionElements]";
  const unread = `${asleep}, [data-testid=stIconMaterial], [role=img], style, script`;
  let words = 0;
  const texts = document.createTreeWalker(area, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const element = text.parentElement;
    if (!element.closest(unread) && seen(element)) {
      words += text.data.split(/\\s+/).filter((word) => /[\\p{L}\\p{N}]/u.test(word)).length;
    }
  }
  const kinds = "button, input, textarea, a[href], summary, [role=tab], [role=slider]";
  const controls = [...area.querySelectorAll(kinds)].filter((element) => {
    const drawn = element.type === "checkbox" ? element.closest("label") : element;
    const arrow = element.matches("[aria-haspopup=listbox]");  // the rest of its field counts
    return !element.closest(asleep) && !arrow && seen(drawn);
  });
  return [words, controls.length, area.scrollHeight];
}"""


class Attention(NamedTuple):
    """Words, controls, and heights of a window."""

    words: int
    controls: int
    screens: float


def of_main(page: Page) -> Attention:
    """Count the main area."""
    return _count(page, "[data-testid=stMain], [data-testid=stAppScrollToBottomContainer]")


def of_sidebar(page: Page) -> Attention:
    """Count the sidebar."""
    return _count(page, "[data-testid=stSidebarContent]")


def _count(page: Page, selector: str) -> Attention:
    words, controls, pixels = page.evaluate(_COUNT, selector)
    return Attention(words, controls, round(pixels / HEIGHT, 2))


def settle(page: Page) -> None:
    """Wait until nothing changes any more."""
    page.get_by_test_id("stSidebarContent").wait_for()
    counts: list[tuple[Attention, Attention]] = []

    def quiet() -> bool:
        idle(page)
        page.wait_for_timeout(_QUIET)
        counts.append((of_main(page), of_sidebar(page)))
        return len(counts) > 2 and counts[-1] == counts[-2] == counts[-3]

    comes_true(page, quiet)
