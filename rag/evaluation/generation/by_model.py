"""Questions written by a language model, each checked against the passages it was made from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag.answering.asking.sourcing import objects
from rag.errors import ProviderMisbehaved
from rag.evaluation.anchoring import Haystack
from rag.evaluation.generation.drafts import Draft, ModelKind, Rarity, draft
from rag.fences import fenced
from rag.protocols import ChatModel
from rag.types import Chunk, Message

TRIES = 3
PASSAGES: Mapping[ModelKind, int] = {"two-passage": 2}
"""How many passages a question is made from, where it is not one."""
MOST_SHARED = 0.5
"""The highest leak of a paraphrase: above it, words were kept that should have been changed."""
_QUOTES: Mapping[ModelKind, int] = {"two-passage": 2, "unanswerable": 0}
_LONGEST_QUESTION = 300
_SHORTEST_QUOTE = 8
_MAX_TOKENS = 400

_PROMPTS = Path(__file__).with_name("prompts")
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FIELD = re.compile(
    r"^[^\w{\n]*+(question|quotes?)[^\w:：]*+(\d*)[^\w:：]*+[:：]\s*+(.+)$",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS = " \t\r\n*\"'`“”„‘’«»…"
_POINTS_AT_PASSAGE = re.compile(
    r"\b(?:the|this|that|above|given|provided) (?:passages?|text|excerpt|document|quote)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The parsed reply of a model."""

    question: str
    quotes: tuple[str, ...]


class _Unusable(Exception):
    """The reason why a reply is unusable, in words for both the model and the user."""


def write_question(
    kind: ModelKind,
    passages: Sequence[Chunk],
    chat: ChatModel,
    rarity: Rarity,
    temperature: float = 0.0,
) -> Draft:
    """Ask a model for one question on ``passages`` and check it; unusable ones are sent back.

    Every quote must stand in its passage. Raises ProviderMisbehaved when no try was usable, and
    ProviderError.
    """
    messages = [
        Message("system", (_PROMPTS / "rules.txt").read_text(encoding="utf-8").strip()),
        Message("user", _request(kind, passages)),
    ]
    reason = ""
    for _ in range(TRIES):
        stream = chat.stream(messages, temperature=temperature, max_tokens=_MAX_TOKENS)
        text = model = ""
        for delta in stream:
            text, model = text + delta.text, delta.model or model
        try:
            return replace(_checked(kind, parse_reply(text), passages, rarity), model=model)
        except _Unusable as error:
            reason = str(error)
        again = f"That cannot be used: {reason}. Reply with a better JSON object and nothing else."
        messages += [Message("assistant", text), Message("user", again)]
    raise ProviderMisbehaved(
        f"The model wrote no usable question in {TRIES} tries: {reason}.",
        "Try a larger model, or write questions without a model.",
    )


def _request(kind: ModelKind, passages: Sequence[Chunk]) -> str:
    quoted = "\n".join(
        fenced("passage", passage.text, f'n="{number}"')
        for number, passage in enumerate(passages, start=1)
    )
    template = (_PROMPTS / f"{kind}.txt").read_text(encoding="utf-8").strip()
    return template.replace("{passages}", quoted, 1)


def parse_reply(text: str) -> Reply:
    """The question and quotes in a reply: a JSON object, also amid other words, or named lines.

    Thoughts between ``<think>`` marks are left out. What is missing is empty.
    """
    text = _THOUGHTS.sub("", text)
    for reply in objects(text):
        if isinstance(reply.get("question"), str):
            return Reply(_one_line(reply["question"]), tuple(_quotes(reply)))
    lines = [(name.lower(), value) for name, _, value in _FIELD.findall(text)]
    question = next((value for name, value in lines if name == "question"), "")
    quotes = (value for name, value in lines if name != "question")
    return Reply(_one_line(question).strip(_MARKS), tuple(quote.strip(_MARKS) for quote in quotes))


def _quotes(reply: Mapping[str, Any]) -> Iterator[str]:
    """Quotes under any of the names that models give them."""
    for name, value in reply.items():
        if name.lower().startswith("quote"):
            values = value if isinstance(value, list) else [value]
            yield from (str(quote).strip(_MARKS).removesuffix("...") for quote in values if quote)


def _checked(kind: ModelKind, reply: Reply, passages: Sequence[Chunk], rarity: Rarity) -> Draft:
    if not reply.question:
        raise _Unusable('there is no "question"')
    if len(reply.question) > _LONGEST_QUESTION:
        raise _Unusable("the question is too long")
    if _POINTS_AT_PASSAGE.search(reply.question):
        raise _Unusable("the question speaks of the passage, which its reader has not seen")
    spans = _spans(reply.quotes, passages[: _QUOTES.get(kind, 1)])
    proposal = draft(kind, reply.question, passages, spans, rarity)
    if kind == "paraphrase" and proposal.leak > MOST_SHARED:
        raise _Unusable("the question repeats the words of the passage")
    return proposal


def _spans(quotes: Sequence[str], passages: Sequence[Chunk]) -> list[tuple[int, int]]:
    """Return the span of a quote in each passage. Raises _Unusable if a passage has no quote."""
    spans = []
    for number, passage in enumerate(passages, start=1):
        text = Haystack(passage.text)
        matches = [text.find(quote, similar=False) for quote in quotes if _is_long(quote)]
        span = next(filter(None, matches), None)
        if span is None:
            which = f"passage {number}" if len(passages) > 1 else "the passage"
            raise _Unusable(f"no quote is copied word for word from {which}")
        spans.append(span)
    return spans


def _is_long(quote: str) -> bool:
    return len("".join(quote.split())) >= _SHORTEST_QUOTE


def _one_line(text: str) -> str:
    return " ".join(text.split())
