"""Declaration of verbs and their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from rag.cli.printing import Output

Parser = argparse.ArgumentParser
Call = Callable[[argparse.Namespace], Output]
Verb = Callable[..., Parser]
"""Adds a verb: the function that does it, and the names of its plain positional arguments."""


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
