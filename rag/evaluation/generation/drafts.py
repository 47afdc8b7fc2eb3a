"""Questions made for someone to accept or reject: what they are, and how they are checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from rag.evaluation.generation.lexical_leakage import Rarity
from rag.types import Chunk, Evidence

ModelKind = Literal["factual", "paraphrase", "two-passage", "unanswerable"]
OfflineKind = Literal["cloze", "keywords", "heading"]
Kind = ModelKind | OfflineKind

MODEL_KINDS: tuple[ModelKind, ...] = get_args(ModelKind)
"""What a language model is asked for."""
OFFLINE_KINDS: tuple[OfflineKind, ...] = get_args(OfflineKind)
"""What is cut from the text without a model: not questions in earnest, but honest test queries."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question with the words that answer it. ``leak`` is the share of its rare words in them.

    An unanswerable one has no evidence; its leak is that to the passage it was made from. ``model``
    is the version that wrote it, "" where the server does not say it.
    """

    text: str
    kind: Kind
    evidence: tuple[Evidence, ...]
    leak: float
    model: str = ""

    @property
    def answerable(self) -> bool:
        """Whether it has evidence."""
        return bool(self.evidence)


def draft(
    kind: Kind,
    text: str,
    passages: Sequence[Chunk],
    spans: Sequence[tuple[int, int]],
    rarity: Rarity,
) -> Draft:
    """A draft from passages; ``spans`` are offsets of the evidence within each of them."""
    evidence = [
        Evidence(
            passage.document_id,
            passage.start + start,
            passage.start + end,
            1,
            passage.text[start:end],
        )
        for passage, (start, end) in zip(passages, spans, strict=False)
    ]
    leak = rarity.leak(text, [passage.text for passage in passages])
    return Draft(text, kind, tuple(evidence), leak)
