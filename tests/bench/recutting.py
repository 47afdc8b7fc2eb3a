"""Cutting a corpus again, and reading it again: how many texts are embedded that were known.

``python -m rag bench --only recutting`` runs it.
"""

from __future__ import annotations

import io
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rag import Recipe, Settings, Upload, Workspace
from rag.protocols import Embedder, InputType
from rag.services import Models
from rag.types import Vectors

DOCUMENTS, PARAGRAPHS = 40, 60


def measure(
    _folder: Path, *, documents: int = DOCUMENTS, paragraphs: int = PARAGRAPHS
) -> dict[str, float]:
    """Texts embedded twice (0 is right), and seconds of a second build relative to the first."""
    seen: dict[str, int] = {}
    plain = Models.embedder

    def counting(models: Models, name: str) -> Embedder:
        return _Counting(plain(models, name), seen)

    Models.embedder = counting
    try:
        with tempfile.TemporaryDirectory() as home:
            first, second = _build_twice(Path(home), _Corpus(documents, paragraphs))
    finally:
        Models.embedder = plain
    return {
        "texts_embedded": float(len(seen)),
        "texts_embedded_twice": float(sum(count > 1 for count in seen.values())),
        "second_build_relative_to_first": second / first,
    }


def _build_twice(home: Path, corpus: _Corpus) -> tuple[float, float]:
    """Seconds to build one cut, then the same cut with another analyzer and vector index."""
    recipe = Recipe().with_fields({"index.embedder": "wordllama", "index.chunk_size": 100})
    workspace = Workspace(Settings.from_env({}, home=home))
    base = workspace.create("bench", recipe)
    started = time.perf_counter()
    _read(workspace, base.documents.add_files(corpus.uploads("first edition")))
    first = time.perf_counter() - started
    started = time.perf_counter()
    again = recipe.with_fields({"index.analyzer": "german", "index.vector_index": "hnsw"})
    _read(workspace, base.documents.build(again.index))
    second = time.perf_counter() - started
    _read(workspace, base.documents.build(recipe.with_fields({"index.chunker": "sentence"}).index))
    _read(workspace, base.documents.add_files(corpus.uploads("second edition")))
    workspace.close()
    return first, second


def _read(workspace: Workspace, job: int) -> None:
    done = workspace.jobs.run(job)
    if done.status != "done":
        raise RuntimeError(done.message)


@dataclass(frozen=True)
class _Corpus:
    documents: int
    paragraphs: int

    def uploads(self, edition: str) -> list[Upload]:
        """An edition differs from another in one paragraph of each document."""
        return [
            Upload(f"d{place}.txt", io.BytesIO(f"{edition}\n\n{self._text(place)}".encode()))
            for place in range(self.documents)
        ]

    def _text(self, place: int) -> str:
        return "\n\n".join(
            f"Paragraph {number} of document {place} tells how part {place * 100 + number} is "
            "fitted. " * 4
            for number in range(self.paragraphs)
        )


class _Counting:
    def __init__(self, inner: Embedder, seen: dict[str, int]) -> None:
        self._inner = inner
        self._seen = seen
        self.id, self.dimension, self.tokenizer = inner.id, inner.dimension, inner.tokenizer

    def embed(self, texts: list[str], input_type: InputType) -> Vectors:
        for text in texts if input_type == "document" else ():
            self._seen[text] = self._seen.get(text, 0) + 1
        return self._inner.embed(texts, input_type)
