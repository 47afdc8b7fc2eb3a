"""Language models as judges: rubrics with a version, replies that are checked, and their spread.

Requests to a model for a grade; a reply that is none is sent back once.

The prompts of judges are text files with a version in their name: a new wording is a new file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

from rag.answering.asking.prompt import Wording, digest
from rag.answering.asking.sourcing import objects
from rag.errors import ProviderMisbehaved
from rag.fences import fenced, mark
from rag.protocols import ChatModel, DecisionModel
from rag.types import Message, Usage

_PROMPTS = Path(__file__).with_name("prompts")


@dataclass(frozen=True)
class Rubric:
    """``name`` with its version (``relevance-1``), the highest grade that it knows, and the prompt.

    A prompt that people wrote is named by its digest (``relevance-1a2b3c4d``).
    """

    name: str
    highest: int
    text: str


def _shipped(name: str, highest: int) -> Rubric:
    text = (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()
    return Rubric(name, highest, text)


RUBRICS: Mapping[str, Rubric] = MappingProxyType(
    {
        "groundedness": _shipped("groundedness-1", 1),
        "correctness": _shipped("correctness-1", 2),
        "preference": _shipped("preference-1", 2),
    }
)
"""The rubrics of answers, by what is judged."""


def passage_rubric(wording: Wording, *, decides: bool = False) -> Rubric:
    """The rubric of passages, in the words of a knowledge base; for a decision model a question."""
    kind, prompt = ("decision", "decision") if decides else ("relevance", "judge")
    text = wording.text(prompt)
    return Rubric(f"{kind}-{digest(text) if prompt in wording.edited else 1}", 3, text)


MAX_TOKENS = 300
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_LONGEST_REASON = 500
UNCALIBRATED = 0.5
"""The stated probability from which a passage is relevant, unless labels say otherwise."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A grade of a rubric with its reason; ``usage`` was spent on it, as far as it was reported.

    ``model`` is the version that the server says it answered with, "" where it does not.
    ``stated`` is the probability that a decision model states, None of a grade in words.
    """

    grade: int
    reason: str
    rubric: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    stated: float | None = None


class NoGrade(ProviderMisbehaved):
    """The judge replied, and gave no grade; ``usage`` was spent all the same."""

    def __init__(self, message: str, hint: str, usage: Usage) -> None:
        super().__init__(message, hint)
        self.usage = usage


def ask(rubric: Rubric, chat: ChatModel, parts: Mapping[str, str]) -> Judgement:
    """Ask a model to grade texts by name (``question``, ``passage``), at temperature 0.

    The texts are data: each stands between delimiters that it cannot predict. Raises NoGrade if the
    second reply is no grade either, and ProviderError.
    """
    messages = [Message("system", rubric.text), Message("user", _between_marks(rubric, parts))]
    spent = Usage()
    for _ in range(2):
        reply, usage, model = _reply(chat, messages)
        spent += usage
        graded = _grade(reply, rubric.highest)
        if graded is not None:
            return Judgement(graded[0], graded[1], rubric.name, spent, model)
        again = (
            f'That is no grade. Reply with {{"reason": "...", "grade": N}}, N being a whole number '
            f"from 0 to {rubric.highest}, and nothing else."
        )
        messages += [Message("assistant", reply), Message("user", again)]
    raise NoGrade(
        f"The judge gave no grade in two tries: {reply[:80]!r}.", "Try a larger model.", spent
    )


def decide(rubric: Rubric, model: DecisionModel, parts: Mapping[str, str]) -> Judgement:
    """Ask a decision model the question of a rubric: the highest grade from 0.5, else 0.

    Raises ProviderError.
    """
    stated = model.decide(rubric.text, _between_marks(rubric, parts))
    grade = rubric.highest if stated.value >= UNCALIBRATED else 0
    return Judgement(grade, "", rubric.name, stated.usage, stated.model, stated.value)


@dataclass(frozen=True, slots=True)
class Preferred:
    """The preference for the first of two answers, from -1 to 1, and its token usage."""

    vote: float
    usage: Usage = field(default_factory=Usage)


def prefer(chat: ChatModel, question: str, first: str, second: str, passages: str) -> Preferred:
    """Ask a judge which of two answers it prefers, in both orders.

    A judge that decides by position contradicts itself, which results in 0. Raises the same errors
    as ``ask``.
    """
    votes, spent = [], Usage()
    for one, other, sign in ((first, second, 1), (second, first, -1)):
        parts = {"question": question, "passages": passages, "first": one, "second": other}
        try:
            judgement = ask(RUBRICS["preference"], chat, parts)
        except NoGrade as error:
            raise NoGrade(error.message, error.hint, spent + error.usage) from error
        votes.append(sign * {0: 0, 1: 1, 2: -1}[judgement.grade])
        spent += judgement.usage
    return Preferred(fmean(votes), spent)


def _between_marks(rubric: Rubric, parts: Mapping[str, str]) -> str:
    fence = mark(rubric.name, *parts.values())
    sections = (f"{name}:\n{fenced(f'passage-{fence}', text)}" for name, text in parts.items())
    return "\n\n".join(sections)


def _reply(chat: ChatModel, messages: list[Message]) -> tuple[str, Usage, str]:
    text, usage, model = "", Usage(), ""
    for delta in chat.stream(messages, temperature=0.0, max_tokens=MAX_TOKENS):
        text += delta.text
        usage, model = delta.usage or usage, delta.model or model
    return text, usage, model


def _grade(reply: str, highest: int) -> tuple[int, str] | None:
    """Grade and reason of the first JSON object in a reply that has a valid one."""
    for answer in objects(_THOUGHTS.sub("", reply)):
        grade = answer.get("grade")
        if isinstance(grade, int) and not isinstance(grade, bool) and 0 <= grade <= highest:
            return grade, " ".join(str(answer.get("reason") or "").split())[:_LONGEST_REASON]
    return None
