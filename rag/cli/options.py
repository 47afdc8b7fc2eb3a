"""Declaration of verbs and their options."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from rag.cli.printing import Output


class Parser(argparse.ArgumentParser):
    """A parser whose error about a mistyped verb or choice names the nearest one.

    ``declare`` adds its arguments before they are parsed.
    """

    declare: Callable[[], None] = staticmethod(lambda: None)

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        """Parse what is declared, as ``ArgumentParser`` does."""
        self.declare()
        return super().parse_known_args(*args, **kwargs)

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error, and exit with code 2."""
        typed, *choices = re.findall(r"'([^']*)'", message) or [""]
        if "invalid choice" in message and (near := get_close_matches(typed, choices, 1)):
            self.print_usage(sys.stderr)
            self.exit(2, f"{self.prog}: there is no {typed!r}. Did you mean {near[0]!r}?\n")
        super().error(message)


Call = Callable[[argparse.Namespace], "Output"]
Verb = Callable[..., Parser]
"""Adds a verb: the function that does it, and the names of its plain positional arguments."""

STOPPED = 130
EXITS: Mapping[int, str] = {
    0: "done",
    2: "bad usage or bad input, or no result, for example if no document could be read",
    STOPPED: "stopped by Ctrl+C; completed work is kept",
}
"""The exit codes of every verb. Whatever is not 0 has a message on standard error."""
PAUSED: Mapping[int, str] = {
    1: "the work is not done: the model failed, or the budget is spent; run the verb again to go on"
}
"""Those of verbs that call a model for many items."""


def switch(added: Parser, flag: str, text: str) -> None:
    added.add_argument(flag, action="store_true", help=text)


def repeatable(added: Parser, flag: str, metavar: str, text: str) -> None:
    added.add_argument(flag, action="append", default=[], metavar=metavar, help=text)


def budget(added: Parser, what: str) -> None:
    added.add_argument("--most", type=int, metavar="N", help=f"pause after N {what}")
    added.add_argument("--most-tokens", type=int, metavar="N", help="pause after N tokens")
    added.add_argument(
        "--most-money",
        type=float,
        metavar="X",
        help="pause after X in the currency of the table of prices, where the price is known",
    )
