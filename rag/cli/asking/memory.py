"""The verbs for past interactions, and for how a knowledge base does in use."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from rag import (
    EVERYBODY,
    InvalidInput,
    KnowledgeBase,
    OperationFigures,
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
    """List, search, show, correct or delete past interactions."""
    if args.limit < 1:
        raise InvalidInput("--limit is at least 1.", "Leave it out for 50.")
    base = inputs.workspace(args).base(args.kb, EVERYBODY)
    if args.action == "list":
        _expect(args, 0)
        return _listed(base.memory.list_all(args.limit), base.memory.count())
    if args.action == "search":
        _expect(args, 1, "TEXT")
        matches = base.memory.search(args.value[0], base.recipe(), args.limit)
        return _listed(matches, base.memory.count())
    _expect(args, 1, "ID")
    turn = inputs.number(args.value[0], "an interaction", "memory KB list shows them.")
    if args.action == "delete":
        base.memory.delete(turn)
        return Output({"deleted": turn}, f"forgot {turn}; its turn stays in its conversation")
    if args.action == "correct":
        _correct(base, turn, args)
    interaction = base.memory.get(turn)
    return Output(
        _row(interaction), "\n".join([_line(interaction), "", interaction.interaction.answer])
    )


def operations(args: argparse.Namespace) -> Output:
    """Say how a knowledge base does in use: questions, refusals, times, tokens, thumbs."""
    turns = inputs.workspace(args).base(args.kb, EVERYBODY).operations.turns(args.days)
    whole, bad = operation_figures(turns), worst_turns(turns)
    data = {
        "days": args.days,
        **_figures(whole),
        "periods": [
            {"start": period.start.isoformat(), **_figures(period.figures)}
            for period in operation_periods(turns)
        ],
        "slowest": [_turn(turn) for turn in slowest_turns(turns)],
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


def _correct(base: KnowledgeBase, turn: int, args: argparse.Namespace) -> None:
    if args.question is None and args.answer is None:
        raise InvalidInput("The correction is missing.", "Give --question or --answer.")
    base.memory.correct(turn, question=args.question, answer=args.answer)


def _listed(interactions: list[Remembered], total: int) -> Output:
    data = {"held": total, "interactions": [_row(item) for item in interactions]}
    return Output(data, "\n".join(map(_line, interactions)) or "The memory is empty.")


def _row(remembered: Remembered) -> dict[str, Any]:
    interaction = remembered.interaction
    return {
        "id": interaction.turn,
        "question": interaction.question,
        "answer": interaction.answer,
        "outcome": interaction.outcome,
        "follow_up": interaction.follow_up,
        "thumb": interaction.thumb,
        "corrected": interaction.corrected,
        "asked": interaction.asked.isoformat(),
        "standing": remembered.standing,
        "changed_documents": list(remembered.gone),
        "cosine": remembered.similarity,
        "sources": [asdict(source) for source in interaction.sources],
    }


def _line(remembered: Remembered) -> str:
    interaction = remembered.interaction
    alike = "" if remembered.similarity is None else f"{remembered.similarity:.3f}  "
    question = snippet(interaction.question, 100)
    return f"{interaction.turn:5}  {alike}{remembered.standing:12}  {question}"


def _figures(figures: OperationFigures) -> dict[str, Any]:
    data = asdict(figures) | {"costs": cost_text(figures.costs)}
    return {**data, "refused_share": figures.refused_share}


def _turn(turn: TurnRow) -> dict[str, Any]:
    return {
        "id": turn.id,
        "question": turn.question,
        "asked": turn.asked.isoformat(),
        "status": turn.status,
        "seconds": total_seconds(turn),
        "metrics": dict(turn.metrics),
    }


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"
