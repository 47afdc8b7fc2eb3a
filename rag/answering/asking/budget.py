"""One budget of tokens for all that a model is shown, and for what it may say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.answering.examples import most_for_examples
from rag.types import BudgetPart, Message

HISTORY_SHARE = 0.15
"""The most that the conversation may take; what it and the examples leave is the passages'."""
ANSWER_SHARE = 0.5
"""The most that is kept free for the answer."""
LONGEST_NAME = 60

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Material:
    """A piece of a prompt: its text as it stands there, and what it is called where left out."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Spending:
    """The allocation of a prompt budget: the number of items that fit, and the tokens of each part.

    ``history`` counts the most recent messages that fit.
    """

    history: int
    examples: int
    passages: int
    parts: tuple[BudgetPart, ...]

    @property
    def answer(self) -> int:
        """Tokens that are free for the answer."""
        return self.parts[-1].used

    @property
    def prompt(self) -> int:
        """Tokens of all but the answer."""
        return sum(part.used for part in self.parts[:-1])


def spend(
    total: int,
    answer: int,
    rules: str,
    history: Sequence[Material],
    examples: Sequence[Material],
    passages: Sequence[Material],
    count: Count,
) -> Spending:
    """Divides ``total`` tokens: rules and question, conversation, examples, passages, answer.

    ``answer`` tokens are kept free, at most half of all. Conversation (the newest turns first) and
    examples have shares of their own; passages, best first, have all that is left. The best
    passage is always kept, whole.
    """
    free = min(answer, int(total * ANSWER_SHARE))
    fixed = count(rules)
    room = max(total - free - fixed, 0)
    turns = _fitting(history[::-1], min(int(total * HISTORY_SHARE), room), count)
    example_fit = _fitting(examples, min(most_for_examples(total), room - turns.used), count)
    remaining = room - turns.used - example_fit.used
    passage_fit = _fitting(passages, remaining, count, at_least=1)
    parts = (
        BudgetPart("rules and question", fixed, fixed),
        BudgetPart("conversation", int(total * HISTORY_SHARE), turns.used, turns.names),
        BudgetPart("examples", most_for_examples(total), example_fit.used, example_fit.names),
        BudgetPart("passages", remaining, passage_fit.used, passage_fit.names),
        BudgetPart("answer", free, free),
    )
    return Spending(turns.kept, example_fit.kept, passage_fit.kept, parts)


def turns_of(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages by turn: each begins with what the user said."""
    turns = list[list[Message]]()
    for message in messages:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def label_of(text: str) -> str:
    """The beginning of a text, as a name for all of it."""
    words = " ".join(text.split())
    return words if len(words) <= LONGEST_NAME else f"{words[: LONGEST_NAME - 1].rstrip()}…"


@dataclass(frozen=True, slots=True)
class _Fit:
    kept: int
    used: int
    names: tuple[str, ...]


def _fitting(pieces: Sequence[Material], room: int, count: Count, at_least: int = 0) -> _Fit:
    used, included = 0, 0
    for piece in pieces:
        size = count(piece.text)
        if included >= at_least and used + size > room:
            break
        used, included = used + size, included + 1
    return _Fit(included, used, tuple(piece.name for piece in pieces[included:]))
