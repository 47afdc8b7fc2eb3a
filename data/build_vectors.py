"""Embeds the passages of the sample once, so that a first start need not.

    python data/build_vectors.py

writes ``data/sample-vectors.npz``: the default embedder's vectors of the sample's passages in the
default cut, by the hash of their text. Run it when the sample, a reader, the chunker, the default
context or the embedder changes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag import Recipe, Settings, Workspace, workspace
from rag.services.services import Services, export_vectors


def main() -> None:
    """Reads the sample into a home of its own and writes the vectors that it needed."""
    target = workspace.SAMPLE_VECTORS
    target.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.from_env({}, home=Path(folder))
        here = Workspace(settings)
        here.jobs.run(here.start_demo()[1])
        services = Services.start(settings)
        embedder = services.models.embedder(Recipe().index.embedder)
        number = export_vectors(services.database, embedder.id, target)
        here.close()
    print(f"{number} vectors, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
