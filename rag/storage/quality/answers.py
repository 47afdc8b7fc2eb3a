"""Answers of runs, judgements of hits, and preferences between answers, by language models.

Each is stored as soon as it is given, so that a killed job goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from rag.storage.rows import insert_missing, insert_or_replace, read
from rag.storage.tables import UtcDateTime, base_id, metadata, run, run_question
from rag.types import Cost

judgement = sa.Table(
    "judgement",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run_id", sa.String(12), sa.ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    sa.Column("question_id", sa.String, nullable=False),
    sa.Column("item", sa.String, nullable=False),
    # Provider and model, the code that asked it, and the rubric with its version.
    sa.Column("judge", sa.String, nullable=False),
    sa.Column("version", sa.String, nullable=False),
    sa.Column("rubric", sa.String, nullable=False),
    sa.Column("repetition", sa.Integer, nullable=False),
    sa.Column("grade", sa.Integer, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    # With which the hit was drawn among those that could have been judged: 1 where all were.
    sa.Column("probability", sa.Float, nullable=False),
    # What it cost at the time; null where the price was not known.
    sa.Column("cost", sa.Float),
    sa.Column("currency", sa.String(8), nullable=False, server_default=""),
    # The version that the server said it answered with.
    sa.Column("model", sa.String, nullable=False, server_default=""),
    # The probability that a decision model stated; null of a grade in words.
    sa.Column("stated", sa.Float),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.UniqueConstraint("run_id", "question_id", "item", "judge", "rubric", "repetition"),
)

# Answers come in one by one, before their run is stored: that is done with the last of them.
run_answer = sa.Table(
    "run_answer",
    metadata,
    sa.Column("run_id", sa.String(12), primary_key=True),
    sa.Column("question_id", sa.String, primary_key=True),
    base_id(),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("mode", sa.String, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("sentences", sa.JSON, nullable=False),
    sa.Column("metrics", sa.JSON, nullable=False),
    # Seconds of the search, until the first piece of text, and in all; tokens as reported.
    sa.Column("searched", sa.Float, nullable=False),
    sa.Column("first_token", sa.Float),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("prompt_tokens", sa.Integer, nullable=False),
    sa.Column("completion_tokens", sa.Integer, nullable=False),
    # Past interactions that the prompt held.
    sa.Column("examples", sa.Integer, nullable=False, server_default="0"),
    # Names the wording of its prompts; "" for quotes.
    sa.Column("prompt_version", sa.String, nullable=False, server_default=""),
    # What the answer and its judge cost at the time; null where the price was not known.
    sa.Column("cost", sa.Float),
    sa.Column("currency", sa.String(8), nullable=False, server_default=""),
    sa.Column("judge_tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("judge_cost", sa.Float),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Index(None, "base_id"),
)

# Which of the answers of two runs to a question a judge prefers, asked in both orders.
preference = sa.Table(
    "preference",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run_id", sa.String(12), sa.ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    sa.Column(
        "other_id", sa.String(12), sa.ForeignKey("run.id", ondelete="CASCADE"), nullable=False
    ),
    sa.Column("question_id", sa.String, nullable=False),
    sa.Column("judge", sa.String, nullable=False),
    sa.Column("version", sa.String, nullable=False),
    sa.Column("rubric", sa.String, nullable=False),
    # 1 where the first run's is better, -1 where the other's is; halves where the orders differ.
    sa.Column("vote", sa.Float, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("cost", sa.Float),
    sa.Column("currency", sa.String(8), nullable=False, server_default=""),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.UniqueConstraint("run_id", "other_id", "question_id", "judge", "rubric"),
    sa.Index(None, "other_id"),
)


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


def bills(connection: sa.Connection, run_ids: Collection[str]) -> dict[str, list[Bill]]:
    """Return the bills for the answers of runs, by run.

    Runs without a language model have no entry.
    """
    columns = run_answer.c
    answered = columns.prompt_tokens + columns.completion_tokens
    unpriced = ((answered > 0) & columns.cost.is_(None)) | (
        (columns.judge_tokens > 0) & columns.judge_cost.is_(None)
    )
    paid = sa.func.coalesce(columns.cost, 0.0) + sa.func.coalesce(columns.judge_cost, 0.0)
    is_priced = columns.cost.is_not(None) | columns.judge_cost.is_not(None)
    by_run: dict[str, list[Bill]] = {}
    for row in connection.execute(
        sa.select(
            columns.run_id,
            columns.currency,
            sa.func.sum(answered + columns.judge_tokens).label("tokens"),
            sa.func.sum(sa.case((is_priced, paid))).label("money"),
            sa.func.sum(sa.case((unpriced, 1), else_=0)).label("unpriced"),
        )
        .where(columns.run_id.in_(run_ids), answered + columns.judge_tokens > 0)
        .group_by(columns.run_id, columns.currency)
        .order_by(columns.run_id, columns.currency)
    ):
        by_run.setdefault(row.run_id, []).append(read(Bill, row))
    return by_run


def store_answer(connection: sa.Connection, base_id: int, run_id: str, answer: RunAnswer) -> None:
    """Store an answer, in the place of one that failed before."""
    row = {**asdict(answer), "run_id": run_id, "base_id": base_id, "created": datetime.now(UTC)}
    insert_or_replace(connection, run_answer, row)


def answers_of_run(connection: sa.Connection, base_id: int, run_id: str) -> dict[str, RunAnswer]:
    """The answers of a run of a base by question id; also of one that is not finished."""
    mine = (run_answer.c.base_id == base_id) & (run_answer.c.run_id == run_id)
    rows = connection.execute(sa.select(run_answer).where(mine))
    return {row.question_id: read(RunAnswer, row) for row in rows}


@dataclass(frozen=True, slots=True)
class StoredJudgement:
    """A judge's grade for a hit of a run.

    ``judge`` is "provider:model", ``version`` is the version of the code that asked the judge, and
    ``rubric`` is the wording with its version. ``probability`` is the probability with which the
    hit was sampled for judging. ``cost`` is in ``currency``; None if the price is unknown.
    ``model`` is the version that the server said it answered with, "" where it did not.
    ``stated`` is the probability that a decision model stated, None of a grade in words.
    """

    question_id: str
    item: str
    judge: str
    version: str
    rubric: str
    repetition: int
    grade: int
    reason: str
    tokens: int
    probability: float
    cost: float | None = None
    currency: str = ""
    model: str = ""
    stated: float | None = None


def add_judgement(connection: sa.Connection, run_id: str, new: StoredJudgement) -> None:
    """Store a judgement, unless the same was made meanwhile."""
    row = {name: getattr(new, name) for name in StoredJudgement.__slots__}
    insert_missing(connection, judgement, {**row, "run_id": run_id, "created": datetime.now(UTC)})


def judgements_of_run(
    connection: sa.Connection, run_id: str, judge: str | None = None, rubric: str | None = None
) -> list[StoredJudgement]:
    """The judgements of a run in the order they were made, of one judge or by one rubric."""
    statement = sa.select(judgement).where(judgement.c.run_id == run_id).order_by(judgement.c.id)
    if judge is not None:
        statement = statement.where(judgement.c.judge == judge)
    if rubric is not None:
        statement = statement.where(judgement.c.rubric == rubric)
    return [read(StoredJudgement, row) for row in connection.execute(statement)]


def regrade(
    connection: sa.Connection, run_id: str, judge: str, rubric: str, threshold: float, highest: int
) -> None:
    """Grade the hits of a run anew by their stated probabilities: the highest grade, or 0."""
    mine = (judgement.c.run_id == run_id, judgement.c.judge == judge, judgement.c.rubric == rubric)
    grade = sa.case((judgement.c.stated >= threshold, highest), else_=0)
    connection.execute(
        sa.update(judgement).where(*mine, judgement.c.stated.is_not(None)).values(grade=grade)
    )


def elsewhere(
    connection: sa.Connection, base_id: int, judge: str, rubric: str
) -> dict[tuple[str, str, int], StoredJudgement]:
    """A judge's grades in all runs of a base, by the words of the question, item and repetition."""
    statement = (
        sa.select(judgement, run_question.c.text)
        .join(
            run_question,
            (run_question.c.run_id == judgement.c.run_id)
            & (run_question.c.question_id == judgement.c.question_id),
        )
        .join(run, run.c.id == judgement.c.run_id)
        .where(run.c.base_id == base_id, judgement.c.judge == judge, judgement.c.rubric == rubric)
        .order_by(judgement.c.id)
    )
    return {
        (row.text, row.item, row.repetition): read(StoredJudgement, row)
        for row in connection.execute(statement)
    }


def judges(connection: sa.Connection, run_id: str) -> Sequence[tuple[str, str]]:
    """Judge and rubric of all who judged a run, the one with most judgements first."""
    statement = (
        sa.select(judgement.c.judge, judgement.c.rubric)
        .where(judgement.c.run_id == run_id)
        .group_by(judgement.c.judge, judgement.c.rubric)
        .order_by(sa.func.count().desc(), judgement.c.judge)
    )
    return [(row.judge, row.rubric) for row in connection.execute(statement)]


@dataclass(frozen=True, slots=True)
class StoredPreference:
    """A judge's preference for a question, asked in both orders.

    ``vote`` is 1 if the first run's answer is better, -1 if the other run's answer is better, and
    0.5 or -0.5 if only one order says so. ``cost`` is in ``currency``; None if the price is
    unknown.
    """

    question_id: str
    judge: str
    version: str
    rubric: str
    vote: float
    tokens: int
    cost: float | None = None
    currency: str = ""


def add_preference(
    connection: sa.Connection, run_id: str, other_id: str, new: StoredPreference
) -> None:
    """Store a preference, unless the same was stored meanwhile."""
    row = {**asdict(new), "run_id": run_id, "other_id": other_id, "created": datetime.now(UTC)}
    insert_missing(connection, preference, row)


def preferences_between(
    connection: sa.Connection, run_id: str, other_id: str, judge: str, rubric: str
) -> dict[str, StoredPreference]:
    """The preferences of a judge between two runs, by question id."""
    mine = (preference.c.run_id == run_id) & (preference.c.other_id == other_id)
    same_judge = (preference.c.judge == judge) & (preference.c.rubric == rubric)
    rows = connection.execute(
        sa.select(preference).where(mine, same_judge).order_by(preference.c.id)
    )
    return {row.question_id: read(StoredPreference, row) for row in rows}
