"""Declaration of verbs and their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from rag.cli.printing import Output

Parser = argparse.ArgumentParser
Call = Callable[[argparse.Namespace], Output]
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
