"""A conversation as a file to keep or hand on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rag.answering.markup import CodeBlock, code_blocks
from rag.storage.conversations import Conversation, StoredCitation, Turn
from rag.types import page_name

_THUMBS = {1: "up", -1: "down"}
_LIVE = re.compile(
    r"(?<![`\\])(`+)(?!`)[^\r]*?[^`\r]\1(?!`)|`+|<(?=[a-z/!?])|!(?=\[)", re.IGNORECASE
)
"""Code in a line, a mark of code that ends in no line, and what HTML and pictures begin with."""
_INERT = {"`": "&#96;", "<": "&lt;", "!": "&#33;"}


def as_data(conversation: Conversation, turns: Sequence[Turn]) -> dict[str, Any]:
    """Return a conversation as plain data: its turns with citations and feedback."""
    return {
        "id": conversation.id,
        "name": conversation.name,
        "created": conversation.created.isoformat(),
        "settings": dict(conversation.settings or {}),
        "turns": [turn_data(turn) for turn in turns],
    }


def json_text(conversation: Conversation, turns: Sequence[Turn]) -> str:
    """The same as a file."""
    return json.dumps(as_data(conversation, turns), ensure_ascii=False, indent=2) + "\n"


def markdown(conversation: Conversation, turns: Sequence[Turn]) -> str:
    """Questions as headings, answers as they came, and below each its numbered sources.

    Whatever the author: nothing in it is HTML, or a picture that loads where the file is opened.
    """
    title = conversation.name or (turns[0].question if turns else f"Conversation {conversation.id}")
    parts = [f"# {_one_line(title)}", f"Started on {conversation.created:%Y-%m-%d %H:%M} UTC."]
    for turn in turns:
        parts += _described(turn)
    return "\n\n".join(parts) + "\n"


def turn_data(turn: Turn) -> dict[str, Any]:
    """Return a turn as plain data."""
    return {
        "id": turn.id,
        "question": turn.question,
        "rewritten": turn.rewritten,
        "answer": turn.answer,
        "status": turn.status,
        "state": turn.state,
        "mode": turn.mode,
        "note": turn.note,
        "recipe": turn.recipe.hash,
        "also": list(turn.also),
        "versions": list(turn.versions),
        "seconds": turn.seconds,
        "feedback": {
            "thumb": _THUMBS.get(turn.thumb),
            "reason": turn.reason,
            "correction": turn.correction,
        },
        "citations": [_citation(citation) for citation in turn.citations],
    }


def _citation(citation: StoredCitation) -> dict[str, Any]:
    return {
        "n": citation.n,
        "knowledge_base": citation.base,
        "document": citation.document,
        "page": citation.page,
        "start": citation.start,
        "end": citation.end,
        "quote": citation.quote,
        "answers": citation.answers,
        "text": citation.text,
        "relevance": citation.relevance,
        "url": citation.url,
    }


def _described(turn: Turn) -> Iterator[str]:
    yield f"## {_one_line(turn.question)}"
    if turn.rewritten:
        yield f"Understood as: {_one_line(turn.rewritten)}"
    yield _harmless(turn.answer) or "There is no answer."
    sources = [f"- [{citation.n}] {_source(citation)}" for citation in turn.citations]
    if sources:
        yield "\n".join(sources)
    details = [turn.mode, turn.state or turn.status, turn.note, f"recipe {turn.recipe.hash}"]
    yield f"({', '.join(_one_line(detail) for detail in details if detail)})"
    if turn.thumb:
        feedback = [f"thumb {_THUMBS[turn.thumb]}", turn.reason, _one_line(turn.correction)]
        yield f"Feedback: {', '.join(detail for detail in feedback if detail)}"


def _source(citation: StoredCitation) -> str:
    page = page_name(citation.document, citation.page, before=", ", label=citation.page_label)
    quote = _one_line(citation.quote)
    return f"{_one_line(citation.document)}{page}" + (f": “{quote}”" if quote else "")


def _one_line(text: str) -> str:
    return _inert(" ".join(text.split()))


def _harmless(text: str) -> str:
    return "\n".join(
        block.markdown if isinstance(block, CodeBlock) else _inert(block)
        for block in code_blocks(text)
    )


def _inert(line: str) -> str:
    def entity(match: re.Match[str]) -> str:
        return match[0] if match[1] else _INERT[match[0][0]] * len(match[0])

    return _LIVE.sub(entity, line)
