"""A conversation as a file to keep or hand on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rag.answering.markup import CodeBlock, code_blocks
from rag.storage.conversations import Conversation, StoredCitation, Turn

_THUMBS = {1: "up", -1: "down"}
_LIVE = re.compile(
    r"(?<![`\\])(`+)(?!`)[^\r]*?[^`\r]\1(?!`)|`+|<(?=[a-z/!?])|!(?=\[)", re.IGNORECASE
)
"""Code in a line, a mark of code that ends in no line, and what HTML and pictures begin with."""
_INERT = {"`": "&#96;", "<": "&lt;", "!": "&#33;"}


def as_data(found: Conversation, asked: Sequence[Turn]) -> dict[str, Any]:
    """Return a conversation as plain data: its turns with citations and feedback."""
    return {
        "id": found.id,
        "name": found.name,
        "created": found.created.isoformat(),
        "settings": dict(found.settings or {}),
        "turns": [turn_data(turn) for turn in asked],
    }


def json_text(found: Conversation, asked: Sequence[Turn]) -> str:
    """The same as a file."""
    return json.dumps(as_data(found, asked), ensure_ascii=False, indent=2) + "\n"


def markdown(found: Conversation, asked: Sequence[Turn]) -> str:
    """Questions as headings, answers as they came, and below each its numbered sources.

    Whoever wrote them: nothing in it is HTML, or a picture that loads where the file is opened.
    """
    title = found.name or (asked[0].question if asked else f"Conversation {found.id}")
    parts = [f"# {_one_line(title)}", f"Asked since {found.created:%Y-%m-%d %H:%M} UTC."]
    for turn in asked:
        parts += _told(turn)
    return "\n\n".join(parts) + "\n"


def turn_data(turn: Turn) -> dict[str, Any]:
    """Return a turn as plain data."""
    return {
        "id": turn.id,
        "question": turn.question,
        "rewritten": turn.rewritten,
        "answer": turn.answer,
        "status": turn.status,
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
        "text": citation.text,
        "relevance": citation.relevance,
        "url": citation.url,
    }


def _told(turn: Turn) -> Iterator[str]:
    yield f"## {_one_line(turn.question)}"
    if turn.rewritten:
        yield f"Understood as: {_one_line(turn.rewritten)}"
    yield _harmless(turn.answer) or "No answer came."
    sources = [f"- [{each.n}] {_source(each)}" for each in turn.citations]
    if sources:
        yield "\n".join(sources)
    made = [turn.mode, turn.status, turn.note, f"recipe {turn.recipe.hash}"]
    yield f"({', '.join(_one_line(each) for each in made if each)})"
    if turn.thumb:
        given = [f"thumb {_THUMBS[turn.thumb]}", turn.reason, _one_line(turn.correction)]
        yield f"Feedback: {', '.join(each for each in given if each)}"


def _source(citation: StoredCitation) -> str:
    page = f", page {citation.page}" if citation.page is not None else ""
    quote = _one_line(citation.quote)
    return f"{_one_line(citation.document)}{page}" + (f": “{quote}”" if quote else "")


def _one_line(text: str) -> str:
    return _inert(" ".join(text.split()))


def _harmless(text: str) -> str:
    return "\n".join(
        each.markdown if isinstance(each, CodeBlock) else _inert(each) for each in code_blocks(text)
    )


def _inert(line: str) -> str:
    def entity(found: re.Match[str]) -> str:
        return found[0] if found[1] else _INERT[found[0][0]] * len(found[0])

    return _LIVE.sub(entity, line)
