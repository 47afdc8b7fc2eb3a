"""The vectors that come with the sample are those that its passages would get."""

import numpy as np
import pytest

from rag import Recipe
from rag.protocols import Embedder, InputType
from rag.services.services import Models
from rag.storage.vectors import text_hash
from rag.types import Vectors
from rag.workspace.workspace import SAMPLE_VECTORS
from tests.workspaces import workspace_at


@pytest.mark.slow
def test_the_sample_loads_without_embedding_a_passage(home, monkeypatch):
    plain = Models.embedder
    embedded: list[str] = []

    class Watched:
        def __init__(self, inner: Embedder) -> None:
            self.inner = inner
            self.id, self.dimension, self.tokenizer = inner.id, inner.dimension, inner.tokenizer

        def embed(self, texts: list[str], input_type: InputType) -> Vectors:
            embedded.extend(texts)
            return self.inner.embed(texts, input_type)

    monkeypatch.setattr(Models, "embedder", lambda models, name: Watched(plain(models, name)))
    workspace = workspace_at(home)
    base, job = workspace.start_demo()
    assert workspace.jobs.run(job).status == "done"
    assert {item.status for item in workspace.jobs.items(job)} == {"added"}
    assert embedded == []
    shipped = _shipped()
    passages = [
        chunk
        for info in base.documents.documents(Recipe().index)
        for chunk in base.documents.chunks(info.id, Recipe().index)
    ]
    chosen = passages[:: len(passages) // 5]
    again = plain(Models(workspace.settings), "minilm").embed(
        [chunk.indexed_text for chunk in chosen], "document"
    )
    for chunk, row in zip(chosen, again, strict=True):
        assert shipped[text_hash(chunk.indexed_text)] == pytest.approx(row, abs=1e-5)


def _shipped() -> dict[bytes, np.ndarray]:
    with np.load(SAMPLE_VECTORS) as file:
        return {key.tobytes(): row for key, row in zip(file["hashes"], file["rows"], strict=True)}
