"""A corpus in memory: texts, hashed words, exact search."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rag import Chunk, Settings, providers, stores
from rag.lexical import LexicalIndex
from rag.retrieval import Corpus


def corpus(texts: Sequence[str], **more: Any) -> Corpus:
    """Passages with the keys 1, 2, 3 ... in the order of ``texts``."""
    embedder = providers.embedder("fake", Settings.from_env({}))
    numbered = dict(enumerate(texts, start=1))
    store = stores.empty("flat", embedder.dimension)
    keys = np.array(list(numbered), np.int64)
    chunks = {
        key: (Chunk(key, "d" * 64, 0, len(text), text, key - 1), "notes.txt")
        for key, text in numbered.items()
    }

    def lookup(wanted: Sequence[int]) -> Mapping[int, tuple[Chunk, str]]:
        return {key: chunks[key] for key in wanted if key in chunks}

    return Corpus(
        embedder=embedder,
        dense=store.added(keys, embedder.embed(list(texts), "document")),
        lexical=LexicalIndex.empty("english").added(list(numbered.items())),
        lookup=lookup,
        keys=keys,
        **more,
    )
