"""The verbs for past interactions, and for how a knowledge base does in use."""

from __future__ import annotations

import argparse
from typing import Any

from rag import (
    EVERYBODY,
    CitedSpan,
    DocumentData,
    InvalidInput,
    Remembered,
    Timestamp,
    TurnRow,
    VerbData,
    attribute,
    cost_text,
    counted,
    operation_figures,
    operation_periods,
    optional,
    slowest_turns,
    total_seconds,
    worst_turns,
)
from rag.cli import inputs
from rag.cli.printing import Output, snippet

ACTIONS = ("list", "search", "show", "correct", "delete")


class InteractionData(VerbData):
    """A past interaction, and whether its sources still say the same."""

    id: int = attribute("interaction", "turn")
    question: str = attribute("interaction", "question")
    answer: str = attribute("interaction", "answer")
    outcome: str = attribute("interaction", "outcome")
    follow_up: bool = attribute("interaction", "follow_up")
    thumb: int = attribute("interaction", "thumb")
    corrected: bool = attribute("interaction", "corrected")
    asked: Timestamp = attribute("interaction", "asked")
    standing: str
    changed_documents: list[str] = attribute("gone")
    cosine: float | None
    sources: tuple[CitedSpan, ...] = attribute("interaction", "sources")


class InteractionsData(VerbData):
    """Past interactions, and the number of all that are stored."""

    held: int
    interactions: list[InteractionData]


class DeletedInteractionData(VerbData):
    """The id of a deleted interaction."""

    deleted: int


class TurnMetricsData(VerbData):
    """A question in use: its status, times and metrics, and what is wrong with its answer."""

    id: int
    question: str | None
    asked: Timestamp
    status: str
    seconds: float
    metrics: dict[str, Any]
    fault: str | None = optional()


def memory(args: argparse.Namespace) -> Output:
    if args.limit < 1:
        raise InvalidInput("--limit is at least 1.", "Leave it out for 50.")
    base = inputs.workspace(args).base(args.kb, EVERYBODY)
    interactions = base.conversations.memory
    if args.action == "list":
        _expect(args, 0)
        return _listed(interactions.list_all(args.limit), interactions.count())
    if args.action == "search":
        _expect(args, 1, "TEXT")
        matches = interactions.search(args.value[0], base.recipe(), args.limit)
        return _listed(matches, interactions.count())
    _expect(args, 1, "ID")
    turn = inputs.number(args.value[0], "an interaction", "memory KB list shows them.")
    if args.action == "delete":
        interactions.delete(turn)
        data = DeletedInteractionData(deleted=turn)
        return Output(data, f"forgot {turn}; its turn stays in its conversation")
    if args.action == "correct":
        if args.question is None and args.answer is None:
            raise InvalidInput("The correction is missing.", "Give --question or --answer.")
        interactions.correct(turn, question=args.question, answer=args.answer)
    past = interactions.get(turn)
    text = "\n".join([_line(past), "", past.interaction.answer])
    return Output(InteractionData.of(past), text)


def operations(args: argparse.Namespace) -> Output:
    turns = inputs.workspace(args).base(args.kb, EVERYBODY).conversations.all_turns(args.days)
    whole, bad = operation_figures(turns), worst_turns(turns)
    data = DocumentData(
        **whole.public(),
        days=args.days,
        periods=[
            period.figures.public() | {"start": period.start.isoformat()}
            for period in operation_periods(turns)
        ],
        slowest=list(map(_turn, slowest_turns(turns))),
        worst=[_turn(turn, wrong) for turn, wrong in bad],
    )
    if not turns:
        return Output(data, "No questions in this period.")
    lines = [
        f"{counted(whole.questions, 'question')}, {whole.refused} refused, {whole.failed} failed",
        f"half of the answers took up to {_seconds(whole.p50)}, 95% up to {_seconds(whole.p95)}",
        ", ".join(filter(None, [f"{whole.tokens:,} tokens", cost_text(whole.costs)])),
        f"{whole.thumbs_up} thumbs up, {whole.thumbs_down} down",
        *(
            f"{wrong:12} {turn.id}  {snippet(turn.question or '', 80)}"
            for turn, wrong in worst_turns(turns)
        ),
    ]
    return Output(data, "\n".join(lines))


def _expect(args: argparse.Namespace, count: int, what: str = "") -> None:
    if len(args.value) != count:
        takes = f"takes one {what}" if count else "takes no further argument"
        raise InvalidInput(f"memory {args.action} {takes}.", "Put words in quotation marks.")


def _listed(interactions: list[Remembered], total: int) -> Output:
    data = InteractionsData(held=total, interactions=list(map(InteractionData.of, interactions)))
    return Output(data, "\n".join(map(_line, interactions)) or "The memory is empty.")


def _line(remembered: Remembered) -> str:
    interaction = remembered.interaction
    alike = "" if remembered.cosine is None else f"{remembered.cosine:.3f}  "
    question = snippet(interaction.question, 100)
    return f"{interaction.turn:5}  {alike}{remembered.standing:12}  {question}"


def _turn(turn: TurnRow, fault: str | None = None) -> TurnMetricsData:
    return TurnMetricsData(
        id=turn.id,
        question=turn.question,
        asked=turn.asked,
        status=turn.status,
        seconds=total_seconds(turn),
        metrics=dict(turn.metrics),
        fault=fault,
    )


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"
