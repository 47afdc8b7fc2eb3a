"""Budgets of jobs that ask language models: in calls, tokens and money."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rag.errors import InvalidInput
from rag.services.jobs import Job
from rag.storage.quality.answers import Bill
from rag.types import Cost


@dataclass(frozen=True, slots=True)
class Budget:
    """The spending limits of one job; None means no limit.

    ``calls`` limits answers or grades. No further call starts once ``tokens`` were reported or
    ``money`` was spent, in the currency of the price table; calls in progress still finish. If the
    price is unknown, ``money`` has no effect.
    """

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def require(self) -> None:
        """Raise InvalidInput for a limit that is not above 0."""
        if any(limit is not None and limit <= 0 for limit in (self.calls, self.tokens, self.money)):
            raise InvalidInput("A budget must be greater than 0.", "Leave it out, or give more.")

    @property
    def fields(self) -> dict[str, Any]:
        """The limits as fields of a ``BudgetedJob``."""
        return {"most": self.calls, "most_tokens": self.tokens, "most_money": self.money}


UNLIMITED = Budget()


class BudgetedJob(Job[None]):
    """A job that ends where its budget is spent."""

    most: int | None = None
    most_tokens: int | None = None
    most_money: float | None = None

    @property
    def budget(self) -> Budget:
        """The limits of the job."""
        return Budget(self.most, self.most_tokens, self.most_money)


def money(amount: float, currency: str) -> str:
    """``0.0042 USD``: two digits that count, and cents at least."""
    digits = 2 if amount == 0 or amount >= 1 else 4 if amount >= 0.001 else 6
    return f"{amount:,.{digits}f} {currency}"


def bills_text(bills: Sequence[Bill]) -> str:
    """Describe the cost of a run in the format of ``cost_text``."""
    paid = [money(bill.money, bill.currency) for bill in bills if bill.money is not None]
    if not paid:
        return "cost unknown" if bills else ""
    missing = sum(bill.unpriced for bill in bills)
    return " and ".join(paid) + (f", not known for {missing:,}" if missing else "")


def cost_text(costs: Iterable[Cost | None]) -> str:
    """Describe the total cost of answers and the number of unknown costs; "" for none."""
    prices = list(costs)
    prices_given = [price for price in prices if price is not None]
    if not prices:
        return ""
    if not prices_given:
        return "cost unknown"
    totals: dict[str, float] = {}
    for price in prices_given:
        totals[price.currency] = totals.get(price.currency, 0.0) + price.amount
    amounts = " and ".join(money(amount, currency) for currency, amount in sorted(totals.items()))
    missing = len(prices) - len(prices_given)
    return f"{amounts}, not known for {missing:,}" if missing else amounts
