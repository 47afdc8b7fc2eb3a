"""Reading a slow stream: the page draws meanwhile, and what fails there is raised here."""

import threading
from collections.abc import Iterator

import pytest

from pages.components.chat.streaming import unhurried


def test_a_page_may_draw_while_it_waits():
    goes_on = threading.Event()

    def slow() -> Iterator[str]:
        yield "a"
        goes_on.wait(120)
        yield "b"

    pieces = unhurried(slow(), pause=0.01)
    assert next(pieces) == "a"
    assert next(pieces) == ""
    goes_on.set()
    assert "".join(pieces) == "b"


def test_an_error_is_raised_where_the_stream_is_read():
    def broken() -> Iterator[str]:
        yield "a"
        raise ZeroDivisionError

    pieces = unhurried(broken())
    assert next(pieces) == "a"
    with pytest.raises(ZeroDivisionError):
        list(pieces)
