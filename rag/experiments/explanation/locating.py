"""Search for the passages that contain a text exactly, contain it nearly, or are nearest to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.evaluation.anchoring import Haystack
from rag.types import Chunk

Match = Literal["exact", "similar", "nearest", "document"]
MOST = 5


@dataclass(frozen=True, slots=True)
class Located:
    """A passage that was looked for, and how it was found.

    ``exact`` and ``similar`` hold the words, or part of them; ``nearest`` does not, and
    ``document`` is of the document that was asked for.
    """

    key: int
    match: Match


def locate_passages(
    text: str, documents: Mapping[str, str], passages: Mapping[str, Sequence[Chunk]]
) -> list[Located]:
    """Passages that hold ``text``: those that its words in a document reach into.

    ``documents`` are texts by document id, ``passages`` theirs by document id. Documents with the
    very words (white space aside) go before those with similar ones; the passage that holds most
    of them comes first. Empty where no document has them.
    """
    for match, similar in (("exact", False), ("similar", True)):
        holding = [
            passage
            for name, whole in documents.items()
            for passage in _holding(text, whole, passages.get(name, ()), similar=similar)
        ]
        if holding:
            holding.sort(key=lambda passage: (-passage[0], passage[1]))
            kind: Match = "similar" if match == "similar" else "exact"
            return [Located(key, kind) for _, key in holding[:MOST]]
    return []


def _holding(
    text: str, whole: str, chunks: Sequence[Chunk], *, similar: bool
) -> list[tuple[int, int]]:
    """(characters of the text that it holds, key) of passages."""
    span = Haystack(whole).find(text, similar=similar)
    if span is None:
        return []
    start, end = span
    shared = [(min(end, chunk.end) - max(start, chunk.start), chunk.key) for chunk in chunks]
    return [(length, key) for length, key in shared if length > 0]
