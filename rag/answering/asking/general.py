"""General knowledge in an answer that rests on passages: marked even if the model forgot it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.answering.asking.prompt import GENERAL
from rag.answering.citations import mentions
from rag.types import Span

_PARAGRAPHS = re.compile(r"(\n\s*\n)")
_STATEMENT = re.compile(rf"[*_>\s]*{re.escape(GENERAL[:-1])}\b[*_]*:?[*_]*\s*", re.IGNORECASE)
_LEADS_ON = re.compile(r"\s*#{1,6}\s|.*:[*_\s]*$", re.DOTALL)


def marked_general(text: str) -> tuple[str, int]:
    """A text whose paragraphs without a citation begin with ``GENERAL``, and how many lacked it.

    Headings, and what leads on with a colon, are left alone. So is code.
    """
    pieces, added = list[str](), 0
    for piece, fenced in _pieces(text):
        if not _PARAGRAPHS.fullmatch(piece) and not fenced and _states(piece):
            piece = f"{GENERAL} {piece.lstrip()}"
            added += 1
        pieces.append(piece)
    return "".join(pieces), added


def general_statement(paragraph: str) -> str | None:
    """Return the statement of a paragraph that is marked as general knowledge, or None."""
    match = _STATEMENT.match(paragraph)
    return paragraph[match.end() :] if match else None


def general_spans(text: str) -> list[Span]:
    """Return the spans of the paragraphs that are marked as general knowledge."""
    spans, at = list[Span](), 0
    for piece in _PARAGRAPHS.split(text):
        if general_statement(piece) is not None:
            spans.append((at, at + len(piece)))
        at += len(piece)
    return spans


def all_general(text: str) -> bool:
    """Whether every paragraph of a text says so."""
    paragraphs = [piece for piece in _PARAGRAPHS.split(text) if piece.strip()]
    return bool(paragraphs) and None not in map(general_statement, paragraphs)


def _states(paragraph: str) -> bool:
    return (
        bool(paragraph.strip())
        and general_statement(paragraph) is None
        and not mentions(paragraph)
        and not _LEADS_ON.match(paragraph)
    )


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Paragraphs and what parts them, each with whether a fence of code is open there."""
    fenced = False
    for piece in _PARAGRAPHS.split(text):
        ticks = piece.count("```")
        yield piece, fenced or ticks > 0
        fenced ^= ticks % 2 == 1
