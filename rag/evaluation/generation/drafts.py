"""Drafts of questions to accept or reject, and the passages that they are made from.

Passages are picked by a seed, spread over all documents. A draft that shares rare words with its
passage makes retrieval easy; the check for it is lexical leakage.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from math import fsum, log
from typing import Literal, get_args

from rag.answering.words import content_words
from rag.evaluation.judging import Spans
from rag.types import Chunk, Evidence

LONG_ENOUGH = 120
"""Characters. Shorter passages are mostly titles; they are taken only where all are short."""


def sample(spans: Spans, number: int, seed: int) -> list[int]:
    """Keys of ``number`` passages (or all there are), one of every document before a second one.

    The same seed takes the same passages on every machine.
    """
    long = {name: _long(chunks) for name, chunks in spans.items()}
    if not any(long.values()):
        long = {name: [key for key, _, _ in chunks] for name, chunks in spans.items()}
    return list(islice(_in_turn(long, seed), number))


def _long(chunks: Sequence[tuple[int, int, int]]) -> list[int]:
    return [key for key, start, end in chunks if end - start >= LONG_ENOUGH]


def _in_turn(keys: Mapping[str, Sequence[int]], seed: int) -> Iterator[int]:
    documents = sorted(keys, key=lambda name: _place(seed, name))
    shuffled = [sorted(keys[name], key=lambda key: _place(seed, key)) for name in documents]
    for row in zip_longest(*shuffled):
        yield from (key for key in row if key is not None)


def _place(seed: int, item: object) -> bytes:
    return hashlib.sha256(f"{seed}\0{item}".encode()).digest()


class Rarity:
    """Rarity weights of the words in some texts, compared by rough stems.

    Stems ignore inflection. Weights are summed exactly because sets have no order: values are the
    same in every run.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._counts: Counter[str] = Counter()
        self._texts = 0
        for text in texts:
            self._counts.update(content_words(text))
            self._texts += 1

    def weight(self, stem: str) -> float:
        """log((n + 1) / df): next to nothing for a word of all n texts (df of them have it).

        A word that no text has counts as if half of one had it.
        """
        return log((self._texts + 1) / max(self._counts[stem], 0.5))

    def leak(self, question: str, passages: Iterable[str]) -> float:
        """The share, from 0 to 1, of a question's words that stand in its passages, by weight."""
        words = content_words(question)
        there = frozenset[str]().union(*map(content_words, passages))
        total = fsum(map(self.weight, words))
        return fsum(map(self.weight, words & there)) / total if total else 0.0

    def shared(self, one: str, other: str) -> float:
        """Return the lexical overlap of two texts: the sum of the weights of the words in both."""
        return fsum(map(self.weight, content_words(one) & content_words(other)))


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
