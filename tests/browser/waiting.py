"""Waiting for what a page does: nothing here depends on how quick the machine is."""

from collections.abc import Callable
from contextlib import suppress

from playwright.sync_api import Error, FloatRect, Locator, Page, expect

LONG = 60_000  # milliseconds that anything may take on a busy machine
_AGAIN = 10_000  # milliseconds after which an action without effect is done once more
_LOOK = 200  # milliseconds between two looks
_HEADER, _ROW = 35, 35  # pixels
_DRAWN = (
    "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
)


Effect = Callable[[float], object]  # waits so many milliseconds for it, and fails without


def shows(element: Locator) -> Effect:
    """That an element is to be seen."""
    return lambda wait: expect(element).to_be_visible(timeout=wait)


def hides(element: Locator) -> Effect:
    """That an element is not to be seen any more."""
    return lambda wait: expect(element).to_be_hidden(timeout=wait)


def until(
    effect: Effect, act: Callable[[], object], every: int = _AGAIN, limit: int = 2 * LONG
) -> None:
    """Does something until its effect shows.

    What is painted on a canvas has no elements to wait for: a click can meet a table or a chart
    that is about to be drawn anew, and is lost with it.
    """
    for _ in range(limit // every):
        with suppress(Error, AssertionError):
            act()
            effect(every)
            return
    act()
    effect(every)


def click_row(table: Locator, row: int, effect: Locator) -> None:
    """Clicks a row, counted from 0, of a table until the effect of that shows."""
    click_table(table, (120, _HEADER + _ROW * row + _ROW // 2), effect)


def click_table(table: Locator, place: tuple[int, int], effect: Locator, clicks: int = 1) -> None:
    """Clicks a place of a table until the effect of that shows."""
    painted, (x, y) = table.locator(".dvn-scroller"), place

    def click() -> None:
        idle(table.page)
        painted.click(position={"x": x, "y": y}, click_count=clicks)

    until(shows(effect), click)


def idle(page: Page) -> None:
    """Waits until the server has drawn the page: what is not there by then does not come.

    By a locator: an expectation describes the whole page whenever it is not met yet.
    """
    page.locator(_DRAWN).wait_for(state="attached")


def comes_true(page: Page, condition: Callable[[], bool]) -> None:
    """Waits for what no element says by itself."""
    for _ in range(LONG // _LOOK):
        if condition():
            return
        page.wait_for_timeout(_LOOK)
    assert condition()


def at_rest(element: Locator) -> FloatRect | None:
    """Where an element is, once it has stayed there for a second."""
    places = [element.bounding_box()]
    while len(places) < 6 or any(place != places[-1] for place in places[-6:]):
        element.page.wait_for_timeout(_LOOK)
        places.append(element.bounding_box())
    return places[-1]
