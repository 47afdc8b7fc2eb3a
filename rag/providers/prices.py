"""Token prices of models, from the built-in table or a file that overrides it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from rag.errors import InvalidFile
from rag.providers.table import Variables, embedding_row, row_named
from rag.types import Cost, Usage

_TABLE = Path(__file__).with_name("table.toml")
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model's tokens, per million; ``date`` is the date of its table.

    ``model`` is a pattern for the lower-case model name (shell wildcards). Unknown prices are None.
    """

    provider: str
    model: str
    currency: str
    date: date
    input: float | None = None
    output: float | None = None

    def of(self, usage: Usage) -> Cost | None:
        """Return the cost of tokens; None if the price or the number of tokens is unknown."""
        if self.input is None or self.output is None:
            return None
        if not usage.prompt_tokens and not usage.completion_tokens:
            return None
        spent = usage.prompt_tokens * self.input + usage.completion_tokens * self.output
        return Cost(spent / _MILLION, self.currency)


def price_of(
    provider: str, model: str | None, variables: Variables, own: Sequence[Price] = ()
) -> Price | None:
    """The price of a model, of the provider's default where it is None; None where none is known.

    ``own`` go before those of the table. Raises InvalidRecipe for an unknown provider.
    """
    row = row_named(provider)
    set_by_user = variables.variable(row.model_variable) if row.model_variable else None
    return _listed_price(provider, model or set_by_user or row.chat_model, own)


def embedding_price_of(embedder: str, own: Sequence[Price] = ()) -> Price | None:
    """The price of an embedder; None where none is known. Raises InvalidRecipe if it is unknown."""
    row, model = embedding_row(embedder)
    return _listed_price(row.name, model, own)


def _listed_price(provider: str, model: str, own: Sequence[Price]) -> Price | None:
    rows = (price for price in (*own, *_table()) if price.provider == provider)
    return next((price for price in rows if fnmatchcase(model.lower(), price.model)), None)


@cache
def _table() -> Sequence[Price]:
    return read_prices(_TABLE)


def read_prices(path: Path) -> Sequence[Price]:
    """The rows of a file like ``table.toml``. Raises InvalidFile, naming what is wrong."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidFile(f"The prices in {path} cannot be read: {error}.", _HINT) from error
    head = data.get("prices", {})
    currency, day = head.get("currency"), head.get("date")
    if not isinstance(currency, str) or not 1 <= len(currency) <= 8 or not isinstance(day, date):
        raise InvalidFile(f"The prices in {path} lack a currency or a date.", _HINT)
    return tuple(_row(path, row, currency, day) for row in data.get("price", ()))


_HINT = (
    "Write [prices] with currency and date, and [[price]] with provider, model, input and output "
    "(per million tokens), as in rag/providers/table.toml."
)


def _row(path: Path, row: Mapping[str, Any], currency: str, day: date) -> Price:
    names = [row.get("provider"), row.get("model")]
    amounts = [row.get("input"), row.get("output")]
    has_amounts = all(isinstance(amount, int | float) and amount >= 0 for amount in amounts)
    if not all(isinstance(name, str) for name in names) or not (
        has_amounts or amounts == [None, None]
    ):
        raise InvalidFile(f"A price in {path} is not usable: {dict(row)}.", _HINT)
    provider, model = map(str, names)
    if not has_amounts:
        return Price(provider, model.lower(), currency, day)
    paid, got = (float(amount) for amount in amounts if amount is not None)
    return Price(provider, model.lower(), currency, day, paid, got)
