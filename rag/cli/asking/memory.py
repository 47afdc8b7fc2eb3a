"""The verbs for past interactions, and for how a knowledge base does in use."""

from __future__ import annotations

import argparse
from typing import Any

from rag import (
    EVERYBODY,
    InvalidInput,
    Remembered,
    TurnRow,
    cost_text,
    counted,
    operation_figures,
    operation_periods,
    slowest_turns,
    total_seconds,
    worst_turns,
)
from rag.cli import inputs
from rag.cli.printing import Output, snippet

ACTIONS = ("list", "search", "show", "correct", "delete")


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
        return Output({"deleted": turn}, f"forgot {turn}; its turn stays in its conversation")
    if args.action == "correct":
        if args.question is None and args.answer is None:
            raise InvalidInput("The correction is missing.", "Give --question or --answer.")
        interactions.correct(turn, question=args.question, answer=args.answer)
    past = interactions.get(turn)
    text = "\n".join([_line(past), "", past.interaction.answer])
    return Output(_interaction(past), text)


def operations(args: argparse.Namespace) -> Output:
    turns = inputs.workspace(args).base(args.kb, EVERYBODY).conversations.all_turns(args.days)
    whole, bad = operation_figures(turns), worst_turns(turns)
    data = {
        **whole.public(),
        "days": args.days,
        "periods": [
            period.figures.public() | {"start": period.start.isoformat()}
            for period in operation_periods(turns)
        ],
        "slowest": list(map(_turn, slowest_turns(turns))),
        "worst": [{**_turn(turn), "fault": wrong} for turn, wrong in bad],
    }
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
    data = {"held": total, "interactions": list(map(_interaction, interactions))}
    return Output(data, "\n".join(map(_line, interactions)) or "The memory is empty.")


def _interaction(remembered: Remembered) -> dict[str, Any]:
    """A past interaction, and whether its sources still say the same."""
    past = remembered.interaction
    return {
        "id": past.turn,
        "question": past.question,
        "answer": past.answer,
        "outcome": past.outcome,
        "follow_up": past.follow_up,
        "thumb": past.thumb,
        "corrected": past.corrected,
        "asked": past.asked,
        "standing": remembered.standing,
        "changed_documents": remembered.gone,
        "cosine": remembered.cosine,
        "sources": past.sources,
    }


def _line(remembered: Remembered) -> str:
    interaction = remembered.interaction
    alike = "" if remembered.cosine is None else f"{remembered.cosine:.3f}  "
    question = snippet(interaction.question, 100)
    return f"{interaction.turn:5}  {alike}{remembered.standing:12}  {question}"


def _turn(turn: TurnRow) -> dict[str, Any]:
    return {
        "id": turn.id,
        "question": turn.question,
        "asked": turn.asked,
        "status": turn.status,
        "seconds": total_seconds(turn),
        "metrics": turn.metrics,
    }


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"
