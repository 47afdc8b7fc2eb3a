"""Other words for a question by a language model: complete, reworded, or answered on trial."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from rag.errors import ProviderMisbehaved
from rag.fences import fenced
from rag.protocols import ChatModel
from rag.retrieval.replies import prompt, reply
from rag.types import Message

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
