"""Ranking of past interactions by their similarity to a question."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rag.types import Vectors

THUMB_UP = 0.05
"""What a thumb up adds to the cosine: it wins between interactions that are about as similar."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A past interaction by its turn: cosine of the questions, and what it is ordered by."""

    turn: int
    question: str
    similarity: float
    score: float


class Held(Protocol):
    """The properties of a past interaction that the ranking needs, besides its vector."""

    @property
    def turn(self) -> int: ...
    @property
    def question(self) -> str: ...
    @property
    def thumb(self) -> int: ...


def least_similarity(threshold: float) -> float:
    """The cosine from which two questions count as alike: half-way between threshold and 1.

    ``threshold`` is what a passage needs to be relevant to a question, which is less: cosines of
    models differ, and so does this, by embedder.
    """
    return (1 + threshold) / 2


def ranked(
    question: Vectors,
    vectors: Vectors,
    interactions: Sequence[Held],
    least: float = -1.0,
) -> list[Ranked]:
    """``interactions`` with ``vectors`` of shape (n, dimension), best first.

    The score is the cosine of the two questions, plus ``THUMB_UP`` with a thumb up; those below
    ``least`` by their cosine are left out. Equal scores: the newer one first.
    """
    if not interactions:
        return []
    cosines = (vectors @ question).astype(float)
    neighbours = [
        Ranked(
            interaction.turn,
            interaction.question,
            cosine,
            cosine + THUMB_UP * max(interaction.thumb, 0),
        )
        for interaction, cosine in zip(interactions, np.clip(cosines, -1, 1).tolist(), strict=True)
        if cosine >= least
    ]
    return sorted(neighbours, key=lambda neighbour: (-neighbour.score, -neighbour.turn))


def distinct(neighbours: Sequence[Ranked], without: Collection[str] = ()) -> Iterator[Ranked]:
    """Each question once, in its best place; none of ``without``. Case and blanks do not count."""
    seen = {_folded(text) for text in without}
    for neighbour in neighbours:
        if _folded(neighbour.question) not in seen:
            seen.add(_folded(neighbour.question))
            yield neighbour


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
