"""Answers of runs, each stored as soon as it is given, so that a killed run goes on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, case, func, select

from rag.storage.quality.tables import run_answer
from rag.storage.rows import insert_or_replace, read
from rag.types import Cost


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The answer to one question of a run, with its measures by name.

    ``examples`` past interactions were shown with it, ``prompt_version`` names the wording of its
    prompts ("" for quotes). ``cost`` and ``judge_cost`` are in
    ``currency``, None where the price was not known.
    """

    question_id: str
    status: str
    mode: str
    text: str
    note: str
    sentences: list[Any]
    metrics: Mapping[str, float]
    searched: float
    first_token: float | None
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    examples: int = 0
    prompt_version: str = ""
    cost: float | None = None
    currency: str = ""
    judge_tokens: int = 0
    judge_cost: float | None = None

    @property
    def tokens(self) -> int:
        """All that were reported."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def price(self) -> Cost | None:
        """The cost of the answer; None if it is unknown."""
        return None if self.cost is None else Cost(self.cost, self.currency)

    @property
    def judge_price(self) -> Cost | None:
        """The cost of the answer's judge; None if it is unknown."""
        return None if self.judge_cost is None else Cost(self.judge_cost, self.currency)


@dataclass(frozen=True, slots=True)
class Bill:
    """The tokens and the cost of a run's answers in one currency, including their judge.

    ``unpriced`` counts the answers with tokens of an unknown price. ``money`` is None if this
    applies to all answers.
    """

    currency: str
    tokens: int
    money: float | None
    unpriced: int


def bills(connection: Connection, run_ids: Collection[str]) -> dict[str, list[Bill]]:
    """Return the bills for the answers of runs, by run.

    Runs without a language model have no entry.
    """
    columns = run_answer.c
    answered = columns.prompt_tokens + columns.completion_tokens
    unpriced = ((answered > 0) & columns.cost.is_(None)) | (
        (columns.judge_tokens > 0) & columns.judge_cost.is_(None)
    )
    paid = func.coalesce(columns.cost, 0.0) + func.coalesce(columns.judge_cost, 0.0)
    is_priced = columns.cost.is_not(None) | columns.judge_cost.is_not(None)
    by_run: dict[str, list[Bill]] = {}
    for row in connection.execute(
        select(
            columns.run_id,
            columns.currency,
            func.sum(answered + columns.judge_tokens).label("tokens"),
            func.sum(case((is_priced, paid))).label("money"),
            func.sum(case((unpriced, 1), else_=0)).label("unpriced"),
        )
        .where(columns.run_id.in_(run_ids), answered + columns.judge_tokens > 0)
        .group_by(columns.run_id, columns.currency)
        .order_by(columns.run_id, columns.currency)
    ):
        by_run.setdefault(row.run_id, []).append(read(Bill, row))
    return by_run


def store(connection: Connection, base_id: int, run_id: str, answer: RunAnswer) -> None:
    """Store an answer, in the place of one that failed before."""
    row = {**asdict(answer), "run_id": run_id, "base_id": base_id, "created": datetime.now(UTC)}
    insert_or_replace(connection, run_answer, row)


def of_run(connection: Connection, base_id: int, run_id: str) -> dict[str, RunAnswer]:
    """The answers of a run of a base by question id; also of one that is not finished."""
    mine = (run_answer.c.base_id == base_id) & (run_answer.c.run_id == run_id)
    rows = connection.execute(select(run_answer).where(mine))
    return {row.question_id: read(RunAnswer, row) for row in rows}
