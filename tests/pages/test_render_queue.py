"""Pages are drawn in turns, and whoever takes long holds nobody up."""

import contextlib
import threading
from collections.abc import Callable

from pages.components.shell.render_queue import RenderQueue

SOON = 120.0  # seconds that a thread may take to do what it can do at once


class _Visitor(threading.Thread):
    """Waits for a turn, notes that it has it, and keeps it until it is told to go."""

    def __init__(self, turns: RenderQueue, name: str, came: list[str]) -> None:
        super().__init__(daemon=True)
        self._turns, self._name, self._came = turns, name, came
        self.has_turn, self.go = threading.Event(), threading.Event()

    def run(self) -> None:
        with self._turns.one():
            self._came.append(self._name)
            self.has_turn.set()
            self.go.wait(SOON)


def _until(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not condition():
        pause.wait(0.001)


def _queue(turns: RenderQueue, names: str, came: list[str]) -> list[_Visitor]:
    """Visitors who come one after the other."""
    visitors = []
    for name in names:
        before = turns.waiting + len(came)
        visitor = _Visitor(turns, name, came)
        visitor.start()
        _until(lambda before=before: turns.waiting + len(came) > before)  # type: ignore[misc]
        visitors.append(visitor)
    return visitors


def test_turns_are_taken_in_the_order_of_arrival():
    turns, came = RenderQueue(2, lease=3600), list[str]()
    visitors = _queue(turns, "abcd", came)
    assert (came, turns.waiting) == (["a", "b"], 2)
    visitors[1].go.set()
    assert visitors[2].has_turn.wait(SOON)
    assert (came, turns.waiting) == (["a", "b", "c"], 1)
    visitors[0].go.set()
    assert visitors[3].has_turn.wait(SOON)
    assert came == ["a", "b", "c", "d"]
    for visitor in visitors:
        visitor.go.set()
        visitor.join(SOON)
    with turns.one():
        assert turns.waiting == 0


def test_who_takes_long_holds_nobody_up():
    now, came = [0.0], list[str]()
    turns = RenderQueue(1, lease=0.01, clock=lambda: now[0])
    slow, next_one = _queue(turns, "ab", came)
    assert came == ["a"]
    now[0] = 1.0
    assert next_one.has_turn.wait(SOON)
    for visitor in (slow, next_one):
        visitor.go.set()
        visitor.join(SOON)
    with turns.one():
        assert turns.waiting == 0


def test_a_page_that_fails_gives_its_turn_back():
    turns = RenderQueue(1, lease=3600)
    for _ in range(2):
        with contextlib.suppress(ValueError), turns.one():
            raise ValueError
    with turns.one():
        assert turns.waiting == 0
