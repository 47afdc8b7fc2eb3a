"""The verb for votes on the answers of two recipes."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from rag import (
    EVERYBODY,
    ArenaComparison,
    ArenaSummary,
    InvalidInput,
    KnowledgeBase,
    Side,
    Timestamp,
    VerbData,
)
from rag.cli import inputs, targets
from rag.cli.printing import Output, snippet

ACTIONS = ("list", "ask", "show", "vote", "summary")
_TAKES = {"list": 0, "ask": 1, "show": 1, "vote": 2, "summary": 0}
_WORDS = {0: "nothing more", 1: "a question or an id", 2: "an id and a vote"}
_LISTED = 100


class SideData(VerbData):
    """An answer of a comparison; its recipe is null before the vote."""

    recipe: str | None
    answer: str
    status: str


class ArenaComparisonData(VerbData):
    """Two answers to one question, and the vote on them."""

    id: int
    question: str
    left: SideData
    right: SideData
    vote: str | None
    created: Timestamp


class ArenaListData(VerbData):
    """The newest comparisons of a knowledge base."""

    bouts: list[ArenaComparisonData]


class ArenaSummaryData(VerbData):
    """The votes on two recipes, and the share that prefers the first."""

    first: str
    second: str
    votes: int
    questions: int
    wins: int
    losses: int
    ties: int
    both_bad: int
    rate: float
    interval: tuple[float, float]
    decided: bool


class ArenaSummariesData(VerbData):
    """The votes by pair of recipes."""

    summaries: list[ArenaSummaryData]


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
        return Output(ArenaListData(bouts=rows), text)
    if args.action == "summary":
        summaries = base.conversations.arena.summaries()
        data = ArenaSummariesData(summaries=[_summary(base, summary) for summary in summaries])
        lines = map(_line_of, data.summaries, summaries)
        return Output(data, "\n".join(lines) or "No vote yet.")
    bout = inputs.number(args.value[0], "a pair of answers", "arena KB list shows them.")
    if args.action == "vote":
        base.conversations.arena.vote(bout, args.value[1])
    return _shown(base, base.conversations.arena.get(bout))


def _ask(args: argparse.Namespace) -> Output:
    base, recipe = targets.ready(args)
    other = recipe.with_fields(dict(inputs.assignment(text) for text in args.against))
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
    for name, side in (("left", row.left), ("right", row.right)):
        recipe = f" ({side.recipe})" if side.recipe else ""
        lines += ["", f"{name}{recipe}:", side.answer]
    vote = f"vote: {bout.vote}" if bout.vote else "no vote yet: left, right, tie or 'both bad'"
    return Output(row, "\n".join([*lines, "", vote]))


def _row(base: KnowledgeBase, bout: ArenaComparison, *, reveal: bool) -> ArenaComparisonData:
    def side(answer_side: Side) -> SideData:
        name = base.runs.recipe_name(answer_side.recipe) if reveal else None
        answer = answer_side.answer
        return SideData(recipe=name, answer=answer["text"], status=answer["status"])

    return ArenaComparisonData(
        id=bout.id,
        question=bout.question,
        left=side(bout.left),
        right=side(bout.right),
        vote=bout.vote or None,
        created=bout.created,
    )


def _line(bout: ArenaComparison) -> str:
    return f"{bout.id:5}  {bout.vote or '-':8}  {snippet(bout.question, 100)}"


def _summary(base: KnowledgeBase, summary: ArenaSummary) -> ArenaSummaryData:
    first, second = map(base.runs.recipe_name, (summary.first, summary.second))
    return ArenaSummaryData.of({**asdict(summary), "first": first, "second": second})


def _line_of(row: ArenaSummaryData, summary: ArenaSummary) -> str:
    verdict = "decided" if row.decided else "not decided"
    return f"{row.first} against {row.second}: {summary.share}, {verdict}; {summary.tally}"
