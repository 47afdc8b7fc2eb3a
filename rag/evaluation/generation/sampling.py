"""Picking passages to make questions from: seeded, spread over all documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest

from rag.evaluation.judging import Spans

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
