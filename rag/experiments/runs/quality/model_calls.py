"""Calls to language models in jobs: a few at a time, within a budget, while the provider answers.

Answers, judges and preferences run by it, so all three pause, spend and go on alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from rag import telemetry
from rag.errors import InvalidInput, ProviderError
from rag.services.jobs import Job
from rag.storage.jobs import PAUSED
from rag.storage.quality.answers import Bill
from rag.types import money


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


def bills_text(bills: Sequence[Bill]) -> str:
    """Describe the cost of a run in the format of ``cost_text``."""
    paid = [money(bill.money, bill.currency) for bill in bills if bill.money is not None]
    if not paid:
        return "cost unknown" if bills else ""
    missing = sum(bill.unpriced for bill in bills)
    return " and ".join(paid) + (f", not known for {missing:,}" if missing else "")


Item = TypeVar("Item")
Reply = TypeVar("Reply")

AT_ONCE = 4
"""Calls in progress at the same time."""
PATIENCE = 3
"""Consecutive failures after which the provider counts as down."""


@dataclass
class ModelCalls:
    """The calls of one job, with their tokens, money (in the currency of prices) and failures."""

    budget: Budget
    finished: int = 0
    tokens: int = 0
    money: float = 0.0
    failed: int = 0
    problem: str = ""
    _failed_in_a_row: int = 0

    def run(
        self, items: Sequence[Item], call: Callable[[Item], Reply]
    ) -> Iterator[tuple[Item, Reply]]:
        """Yield items with replies as they arrive; the caller records each reply.

        An item whose call raises ProviderError is recorded as a failure and not yielded. No call
        starts once the budget is spent or ``PATIENCE`` calls in a row failed. Other errors are
        raised after the calls in progress end.
        """
        waiting = list(items if self.budget.calls is None else items[: self.budget.calls])[::-1]
        pending, call = dict[Future[Reply], Item](), telemetry.carry_context(call)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while waiting or pending:
                if self._spent or self._failed_in_a_row >= PATIENCE:
                    waiting.clear()
                while waiting and len(pending) < AT_ONCE:
                    item = waiting.pop()
                    pending[pool.submit(call, item)] = item
                ready, _ = wait(pending, return_when=FIRST_COMPLETED) if pending else ((), ())
                for future in ready:
                    item = pending.pop(future)
                    try:
                        reply = future.result()
                    except ProviderError as error:
                        self.record(problem=str(error))
                    else:
                        yield item, reply

    def record(self, tokens: int = 0, money: float = 0.0, problem: str = "") -> None:
        """Count a finished call; a ``problem`` marks it as failed."""
        self.finished += 1
        self.tokens += tokens
        self.money += money
        if problem:
            self.failed += 1
            self._failed_in_a_row += 1
            self.problem = problem
        else:
            self._failed_in_a_row = 0

    def describe_pause(self, done: int, total: int, things: str, verb: str) -> str:
        """Say how far a job came: ``"Paused: 2 of 5 hits are judged. Judge again to go on."``."""
        paused = f"{PAUSED} at the budget" if self._spent else PAUSED
        failures = f" {self.failed:,} failed: {self.problem}" if self.failed else ""
        progress = f"{done:,} of {total:,} {things}"
        return f"{paused}: {progress}.{failures} {verb} again to go on."

    @property
    def _spent(self) -> bool:
        limits = (
            (self.budget.calls, self.finished),
            (self.budget.tokens, self.tokens),
            (self.budget.money, self.money),
        )
        return any(limit is not None and spent >= limit for limit, spent in limits)
