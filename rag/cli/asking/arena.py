"""The verb for votes on the answers of two recipes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from rag import (
    EVERYBODY,
    ArenaComparison,
    ArenaSummary,
    InvalidInput,
    KnowledgeBase,
    Side,
    changed_recipe,
)
from rag.cli import inputs, targets
from rag.cli.printing import Output, encodable, snippet

ACTIONS = ("list", "ask", "show", "vote", "summary")
_TAKES = {"list": 0, "ask": 1, "show": 1, "vote": 2, "summary": 0}
_WORDS = {0: "nothing more", 1: "a question or an id", 2: "an id and a vote"}
_LISTED = 100


def arena(args: argparse.Namespace) -> Output:
    if len(args.value) != _TAKES[args.action]:
        takes = _WORDS[_TAKES[args.action]]
        raise InvalidInput(f"arena {args.action} takes {takes}.", "Put words in quotation marks.")
    if args.action == "ask":
        return _ask(args)
    base = inputs.workspace(args).base(args.kb, EVERYBODY)
    if args.action == "list":
        pairs = base.conversations.arena.list_comparisons(_LISTED)
        rows = [_row(base, pair, reveal=bool(pair.vote)) for pair in pairs]
        text = "\n".join(map(_line, pairs)) or "No pair of answers yet: arena KB ask."
        return Output({"bouts": rows}, text)
    if args.action == "summary":
        summaries = base.conversations.arena.summaries()
        rows = [_summary(base, summary) for summary in summaries]
        lines = map(_line_of, rows, summaries)
        return Output({"summaries": rows}, "\n".join(lines) or "No vote yet.")
    bout = inputs.number(args.value[0], "a pair of answers", "arena KB list shows them.")
    if args.action == "vote":
        base.conversations.arena.vote(bout, args.value[1])
    return _shown(base, base.conversations.arena.get(bout))


def _ask(args: argparse.Namespace) -> Output:
    base, recipe = targets.ready(args)
    changes = dict(inputs.assignment(text) for text in args.against)
    other = changed_recipe(recipe, fields=changes)
    if other.hash == recipe.hash:
        raise InvalidInput(
            "Both recipes are the same.",
            "Give the other recipe's changes with --against FIELD=VALUE.",
        )
    question = args.value[0]
    mine, theirs = (
        (candidate, base.ask(question, candidate).answer) for candidate in (recipe, other)
    )
    arena = base.conversations.arena
    return _shown(base, arena.get(arena.add(question, mine, theirs)))


def _shown(base: KnowledgeBase, bout: ArenaComparison) -> Output:
    """Both answers; which recipe gave which is shown after the vote."""
    row = _row(base, bout, reveal=bool(bout.vote))
    lines = [f"{bout.id}  {bout.question}"]
    for name in ("left", "right"):
        recipe = f" ({row[name]['recipe']})" if row[name]["recipe"] else ""
        lines += ["", f"{name}{recipe}:", row[name]["answer"]]
    vote = f"vote: {bout.vote}" if bout.vote else "no vote yet: left, right, tie or 'both bad'"
    return Output(row, "\n".join([*lines, "", vote]))


def _row(base: KnowledgeBase, bout: ArenaComparison, *, reveal: bool) -> dict[str, Any]:
    """Two answers and the vote on them; names of recipes only to ``reveal`` them."""

    def side(answer_side: Side) -> dict[str, Any]:
        name = base.runs.recipe_name(answer_side.recipe) if reveal else None
        answer = answer_side.answer
        return {"recipe": name, "answer": answer["text"], "status": answer["status"]}

    return {
        "id": bout.id,
        "question": bout.question,
        "left": side(bout.left),
        "right": side(bout.right),
        "vote": bout.vote or None,
        "created": bout.created,
    }


def _line(bout: ArenaComparison) -> str:
    return f"{bout.id:5}  {bout.vote or '-':8}  {snippet(bout.question, 100)}"


def _summary(base: KnowledgeBase, summary: ArenaSummary) -> dict[str, Any]:
    """The votes on two recipes, with their names."""
    first, second = map(base.runs.recipe_name, (summary.first, summary.second))
    return {**encodable(summary), "first": first, "second": second}


def _line_of(row: Mapping[str, Any], summary: ArenaSummary) -> str:
    verdict = "decided" if summary.decided else "not decided"
    return f"{row['first']} against {row['second']}: {summary.share}, {verdict}; {summary.tally}"
