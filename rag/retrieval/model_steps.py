"""Steps of a retrieval by a language model, whose short replies are not trusted.

A question gets other words: complete, reworded, or answered on trial. Passages get another order.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import numpy as np

from rag.errors import ProviderMisbehaved, ProviderUnavailable
from rag.fences import fenced
from rag.protocols import ChatModel
from rag.types import Message, Scores

LONGEST_SECONDS = 30.0
"""A whole reply, however slowly it drips: somebody waits for the search behind it."""
LONGEST_REPLY = 8_000
"""Characters; what a model says beyond is not read."""

_PROMPTS = Path(__file__).with_name("prompts")
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)


def reply(
    chat: ChatModel,
    messages: Sequence[Message],
    max_tokens: int,
    seconds: float | None = None,
) -> str:
    """Return the model's reply without its thoughts.

    The reply may take ``seconds``, by default ``LONGEST_SECONDS``. Raises ProviderError.
    """
    seconds = LONGEST_SECONDS if seconds is None else seconds
    stream = chat.stream(messages, temperature=0.0, max_tokens=max_tokens)
    text, end = "", time.monotonic() + seconds
    try:
        for delta in stream:
            text += delta.text
            if len(text) >= LONGEST_REPLY:
                break
            if time.monotonic() > end:
                raise ProviderUnavailable(
                    f"The language model did not finish its reply within {seconds:g} s.",
                    "The server may be overloaded. Try again, or choose a faster model.",
                )
    finally:
        if isinstance(stream, Generator):
            stream.close()
    return _THOUGHTS.sub("", text[:LONGEST_REPLY]).strip()


def prompt(name: str, **values: object) -> str:
    """A prompt file with its places filled in."""
    template = (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()
    return re.sub(r"\{(\w+)\}", lambda place: str(values[place.group(1)]), template)


LONGEST_QUESTION = 400
"""Characters of a wording; a longer one is an essay, not a question."""
LONGEST_PASSAGE = 2_000
LONGEST_TURN = 800
"""Characters of an earlier turn that the model is shown."""
MOST_TURNS = 6
MOST_TOKENS = 400

_MARKS = " \t\r\n*_#\"'`“”„‘’«»"
_BULLET = re.compile(r"^\s*(?:[-*•–]\s+|\(?\d{1,2}[.):]\s*)")
_LABEL = re.compile(
    r"^(?:(?:the )?(?:rewritten|complete|standalone|rephrased|follow-up)[\w -]*+|question"
    r"|(?:wording|query|variant|version|passage|paragraph)(?: \d{1,2})?)\s*:\s*",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"^(?:i['’]?m sorry|sorry\b|as an? (?:ai|language)"
    r"|i (?:can(?:not|['’]t)|do(?: not|n['’]t) have))",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


def contextualise(question: str, history: Sequence[Message], chat: ChatModel) -> str:
    """A follow-up ``question`` as it stands by itself, from the conversation before it.

    Raises ProviderError, also where the reply is no such question.
    """
    turns = [
        fenced("turn", message.content[:LONGEST_TURN], f'by="{message.role}"')
        for message in history[-MOST_TURNS:]
    ]
    content = "\n".join([*turns, f"Follow-up question: {question}"])
    text = reply(
        chat, [Message("system", prompt("rewrite")), Message("user", content)], MOST_TOKENS
    )
    context = " ".join([question, *(message.content for message in history)])
    for line in _lines(text):
        if len(line) <= LONGEST_QUESTION and _shares_letters(line, context):
            return line
    raise _nonsense("no question that has to do with the conversation")


def expand(question: str, count: int, chat: ChatModel) -> list[str]:
    """At most ``count`` other wordings, none twice. Raises ProviderError, also for none at all."""
    messages = [
        Message("system", prompt("expand", count=count)),
        Message("user", fenced("question", question)),
    ]
    text = reply(chat, messages, MOST_TOKENS)
    wordings: dict[str, str] = {}
    for line in _lines(text):
        if len(line) <= LONGEST_QUESTION and not line.endswith(":"):
            wordings.setdefault(_bare(line), line)
    wordings.pop(_bare(question), None)
    if not wordings:
        raise _nonsense("no other wording")
    return list(wordings.values())[:count]


def hypothetical_passage(question: str, chat: ChatModel) -> str:
    """A passage that might answer the question, on one line.

    Gao et al., "Precise Zero-Shot Dense Retrieval without Relevance Labels", ACL 2023 (HyDE).
    Raises ProviderError, also where the reply is no passage.
    """
    messages = [
        Message("system", prompt("hyde")),
        Message("user", fenced("question", question)),
    ]
    text = " ".join(_lines(reply(chat, messages, MOST_TOKENS)))
    if len(_WORD.findall(text)) < 2 or _bare(text) == _bare(question):
        raise _nonsense("no passage")
    return text[:LONGEST_PASSAGE]


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a reply without numbers, labels, quotes and refusals."""
    for line in _as_list(text) or text.splitlines():
        clean = _LABEL.sub("", _BULLET.sub("", line).strip(_MARKS)).strip(_MARKS)
        clean = "".join(sign for sign in " ".join(clean.split()) if sign.isprintable())
        if _WORD.search(clean) and not _REFUSAL.match(clean):
            yield clean


def _as_list(text: str) -> list[str]:
    """The strings of a JSON list, where the reply is one (also within a code fence)."""
    start, end = text.find("["), text.rfind("]")
    try:
        listed = json.loads(text[start : end + 1], strict=False) if 0 <= start < end else []
    except ValueError:
        return []
    return [str(entry) for entry in listed if isinstance(entry, str)]


def _bare(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _shares_letters(text: str, context: str) -> bool:
    """Whether two texts have any three letters in a row in common (two, in scripts of few)."""
    length = 2 if any(ord(sign) > 0x2E80 for sign in text) else 3
    return bool(_runs(text, length) & _runs(context, length))


def _runs(text: str, length: int) -> set[str]:
    words = _WORD.findall(text.casefold())
    return {word[at : at + length] for word in words for at in range(len(word) - length + 1)}


def _nonsense(what: str) -> ProviderMisbehaved:
    return ProviderMisbehaved(
        f"The language model replied with {what}.", "Try a larger model, or switch the step off."
    )


_LONGEST_RANKED = 1_500
"""Characters of each passage that the model is shown."""

_BRACKETED = re.compile(r"\[(\d{1,3})\]")
_NUMBER = re.compile(r"\d{1,3}")


class Listwise:
    """A reranker of windows of passages from the end of the list to its start.

    Each window overlaps the one before by half, so that a good passage rises through all of them.
    Sun et al., "Is ChatGPT Good at Search? Investigating Large Language Models as Re-Ranking
    Agents", EMNLP 2023.
    """

    def __init__(self, chat: ChatModel, window: int) -> None:
        self._chat = chat
        self._window = max(window, 2)

    def scores(self, question: str, texts: Sequence[str]) -> Scores:
        """1 for the first, then less by equal steps; shape (len(texts),). Raises ProviderError."""
        order = list(range(len(texts)))
        if len(order) < 2:
            return np.ones(len(order))
        end = len(order)
        while True:
            start = max(end - self._window, 0)
            window = order[start:end]
            places = self._permutation(question, [texts[place] for place in window])
            order[start:end] = [window[place] for place in places]
            if start == 0:
                break
            end -= max(self._window // 2, 1)
        scores = np.empty(len(order))
        scores[order] = 1.0 - np.arange(len(order)) / len(order)
        return scores

    def _permutation(self, question: str, texts: Sequence[str]) -> list[int]:
        passages = [
            fenced("passage", text[:_LONGEST_RANKED], f'n="{number}"')
            for number, text in enumerate(texts, start=1)
        ]
        content = "\n\n".join([*passages, f"Question: {question}"])
        messages = [Message("system", prompt("rank")), Message("user", content)]
        text = reply(self._chat, messages, max_tokens=40 + 8 * len(texts))
        return parse_permutation(text, len(texts))


def parse_permutation(text: str, count: int) -> list[int]:
    """The order that a reply names, as places from 0.

    Numbers in brackets go before bare ones. Those out of range or named again are ignored, and
    what is missing follows in its given order. Raises ProviderMisbehaved when none is in range.
    """
    numbers = _BRACKETED.findall(text) or _NUMBER.findall(text)
    named = dict.fromkeys(int(number) - 1 for number in numbers)
    positions = [position for position in named if 0 <= position < count]
    if not positions:
        raise ProviderMisbehaved(
            "The language model named no passage in its order.",
            "Try a larger model, or another reranker.",
        )
    return positions + [position for position in range(count) if position not in named]
