"""Passages embedded by the workers of a cluster, questions in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from rag import providers
from rag.cluster import tasks
from rag.cluster.cluster import Cluster
from rag.protocols import Embedder, InputType, Tokenizer
from rag.types import Vectors

_TEXTS_PER_TASK = 2  # pieces for each thread: one that is quick gets another


def spread(find: Callable[[str], Embedder], cluster: Cluster) -> Callable[[str], Embedder]:
    """``find``, whose embedders have passages embedded by workers.

    Only those whose model is on this computer, and so on theirs: services are asked by the process
    that has their keys.
    """

    def local_or_spread(name: str) -> Embedder:
        embedder = find(name)
        return SpreadEmbedder(name, embedder, cluster) if providers.is_local(name) else embedder

    return local_or_spread if cluster.there else find


class SpreadEmbedder:
    """An embedder of this computer, and the same one on the workers of a cluster.

    The vector of a text does not depend on those that are embedded with it, so it is the same
    wherever the text was sent.
    """

    def __init__(self, name: str, local: Embedder, cluster: Cluster) -> None:
        self._name = name
        self._local = local
        self._cluster = cluster

    @property
    def id(self) -> str:
        """The id of the local embedder; workers must have the same embedder."""
        return self._local.id

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._local.dimension

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the local embedder: this process chunks the documents."""
        return self._local.tokenizer

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors, see ``Embedder``. Raises Cancelled too."""
        if input_type == "query" or not texts or not self._cluster.there:
            return self._local.embed(texts, input_type)
        pieces = even_pieces([len(text) for text in texts], _TEXTS_PER_TASK * self._cluster.breadth)
        sent = [
            self._cluster.submit(tasks.embed, self._name, self.id, [texts[row] for row in rows])
            for rows in pieces
        ]
        vectors = np.empty((len(texts), self.dimension), np.float32)
        remaining = list[int]()
        for rows, future in zip(pieces, sent, strict=True):
            part = self._cluster.result(future)
            if part is None:
                remaining += rows
            else:
                vectors[rows] = part
        if remaining:
            vectors[remaining] = self._local.embed([texts[row] for row in remaining], input_type)
        return vectors


def even_pieces(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Places of texts in at most so many pieces of about as much text, shortest texts first.

    Texts of one length stay together, because models embed those at once.
    """
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    before = accumulate((lengths[place] + 1 for place in order), initial=0)
    whole = sum(lengths) + len(lengths)
    pieces: dict[int, list[int]] = {}
    for place, passed in zip(order, before, strict=False):
        pieces.setdefault(passed * most // whole, []).append(place)
    return list(pieces.values())
