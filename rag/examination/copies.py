"""Documents that say the same: editions of one document, and copies under other names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from rag.answering.assessing.editions import are_editions
from rag.examination.claims import stems_of, subject_of
from rag.types import Document

EDITION = 0.3
"""Documents with names of editions that share less of their words (Jaccard) are a series."""
COPY = 0.6
"""Of the shorter document, the share of its runs of words that a copy has too."""
RUN = 6
MOST_SHARING = 100
"""What more documents have alike is boilerplate, and does not make copies."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Resemblance:
    """Two documents by position, and how much of them is the same, from 0 to 1."""

    kind: Literal["edition", "copy"]
    one: int
    other: int
    share: float


def resemblances(documents: Sequence[Document]) -> Iterator[Resemblance]:
    """Yield editions and copies. Sister documents, whose names have other codes, are neither."""
    words = [stems_of(document.text) for document in documents]
    runs = [_runs(document.text) for document in documents]
    codes = [subject_of(document.name) for document in documents]
    near = _sharing(runs)
    for one, other in combinations(range(len(documents)), 2):
        if are_editions(documents[one].name, documents[other].name):
            either = len(words[one] | words[other])
            share = len(words[one] & words[other]) / either if either else 0.0
            if share >= EDITION:
                yield Resemblance("edition", one, other, share)
            continue
        if codes[one] != codes[other] and codes[one] and codes[other]:
            continue
        fewest = min(len(runs[one]), len(runs[other]))
        same = near[one, other] / fewest if fewest else 0.0
        if same >= COPY:
            yield Resemblance("copy", one, other, same)


def _sharing(runs: Sequence[frozenset[int]]) -> Counter[tuple[int, int]]:
    """Count the runs of words that pairs of documents share."""
    having = defaultdict[int, list[int]](list)
    for position, own in enumerate(runs):
        for run in own:
            having[run].append(position)
    telling = (places for places in having.values() if len(places) <= MOST_SHARING)
    return Counter(pair for places in telling for pair in combinations(places, 2))


def _runs(text: str) -> frozenset[int]:
    words = _WORD.findall(text.casefold())
    return frozenset(hash(tuple(words[at : at + RUN])) for at in range(len(words) - RUN + 1))
