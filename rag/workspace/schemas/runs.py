"""Runs as JSON."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean

from pydantic import Field

from rag.storage.quality.answers import RunAnswer
from rag.types import Cost
from rag.workspace.schemas.schema import Schema, Timestamp, attribute


class SystemSourceData(Schema):
    """The system that a run measured, and what came of the texts and questions."""

    kind: str
    name: str
    version: int = Field(description="counts the definitions of a stored system; 0 for others")
    hash: str = Field(description="SHA-256 of its definition, or of the file with its results")
    located: dict[str, int] = Field(description="returned texts by how they were located")
    errors: dict[str, str] = Field(description="the reason by id of each question that failed")
    hops: dict[str, float | int | None] = Field(
        description="means of the questions with several retrievals; empty without any"
    )
    repeated: int = Field(default=0, description="questions that a result was returned for twice")


class MeasuredData(Schema):
    """The metrics of a run, which measured a recipe or a system."""

    run: str = attribute("id")
    recipe: str | None = attribute("recipe_hash", description="its hash; null for a system")
    system: SystemSourceData | None
    set: str = attribute("question_set")
    questions: int
    metrics: dict[str, float]
    context_tokens: float | None = Field(
        default=None, description="handed to a model for a question, about; null where unknown"
    )
    cautions: list[str] = Field(
        default=[], description="what keeps the figures from telling good from bad"
    )


class RunData(MeasuredData):
    """A run."""

    created: Timestamp
    seconds: float
    note: str
    tags: list[str]


class ResultData(Schema):
    """The result of one question of a run."""

    id: str = attribute("question_id")
    question: str = attribute("text")
    tags: list[str]
    answerable: bool
    metrics: dict[str, float]
    first_relevant: int | None
    found: int
    relevant: int
    cut_rank: int | None


class QuestionParityData(Schema):
    """The agreement of two runs on one question; ``first_difference`` is a rank."""

    id: str = attribute("question_id")
    question: str = attribute("text")
    overlap: float
    rank_biased_overlap: float
    first_difference: int | None


class ParityData(Schema):
    """The agreement of the first k of two runs: means, and every question, worst first."""

    run: str
    other: str
    k: int
    overlap: float
    rank_biased_overlap: float
    equal: int = Field(description="questions with equal rankings")
    left_out: int = Field(description="questions that only one run asked")
    questions: list[QuestionParityData]


class CostsData(Schema):
    """Costs by currency, and the number of answers of unknown cost."""

    known: dict[str, float]
    not_known: int

    @classmethod
    def total(cls, costs: Sequence[Cost | None]) -> CostsData:
        """Add costs up."""
        known = [cost for cost in costs if cost is not None]
        currencies = sorted({cost.currency for cost in known})
        sums = {
            name: sum(cost.amount for cost in known if cost.currency == name) for name in currencies
        }
        return cls(known=sums, not_known=len(costs) - len(known))


class AnswersSpentData(Schema):
    """The time, tokens and costs of answers and of their judge."""

    seconds: float | None = Field(description="mean of the answers")
    tokens: int
    cost: CostsData
    judge_tokens: int
    judge_cost: CostsData


def answers_spent_data(answers: Collection[RunAnswer]) -> AnswersSpentData:
    """Add up the time, tokens and costs of answers."""
    return AnswersSpentData(
        seconds=fmean(answer.seconds for answer in answers) if answers else None,
        tokens=sum(answer.tokens for answer in answers),
        cost=CostsData.total([answer.price for answer in answers]),
        judge_tokens=sum(answer.judge_tokens for answer in answers),
        judge_cost=CostsData.total([answer.judge_price for answer in answers]),
    )
