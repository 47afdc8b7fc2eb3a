"""Throughput of ingestion on this computer: measured seconds per unit of each step."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from rag import providers
from rag.errors import TouchstoneError
from rag.recipe import IndexRecipe
from rag.services.services import Services
from rag.settings import PROJECT

TYPICAL: Mapping[str, float] = MappingProxyType(
    {
        "fetching": 1.0,
        "reading pdf": 0.05,
        "reading": 1e-7,
        "cutting": 1e-6,
        "storing": 3e-7,
        "indexing": 5e-7,
    }
)
"""Seconds for an address, a page of a PDF, a byte of another file, and for each character of text:
what is expected where nothing was measured yet."""
UNKNOWN_EMBEDDING = 2e-5
"""Seconds for a character that is embedded by a model that was never measured."""

_TRIAL = PROJECT / "data" / "sample"
_TRIAL_CHARACTERS = 12_000
_TRIAL_SECONDS = 1.0  # a slow embedder does not get through all of them
_TRIAL_BATCH = 4


def embedding(embedder: str) -> str:
    """The name of the step that embeds."""
    return f"embedding {providers.vector_space(embedder)[0]}"


def work_for(*recipes: IndexRecipe) -> dict[str, str]:
    """The steps of storing a document in some builds, and whose pace each has."""
    paces: dict[str, str] = {}
    for number, recipe in enumerate(recipes):
        cutting, embeds = steps(number)
        pace = embedding(recipe.embedder)
        paces[cutting] = pace if recipe.chunker == "semantic" else "cutting"
        paces[embeds] = pace
    return paces | {"storing": "storing"}


def embedding_work(recipes: Sequence[IndexRecipe]) -> dict[str, dict[str, str]]:
    """The step of embedding for each build, by its hash, and whose pace it has."""
    return {
        recipe.hash: {steps(number)[1]: embedding(recipe.embedder)}
        for number, recipe in enumerate(recipes)
    }


def steps(number: int) -> tuple[str, str]:
    """Return the names of the chunking and embedding steps of a build; "build 2" is the second."""
    build = f", build {number + 1}" if number else ""
    return f"cutting{build}", f"embedding{build}"


class Throughput:
    """The paces of a home, kept in a file; what cannot be kept is measured again."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._file = services.settings.home / "paces.json"

    def rates(self) -> dict[str, float]:
        """Seconds per unit by step, as far as anything was measured, else what is typical."""
        return {**TYPICAL, **self._measured()}

    def keep(self, measured: Mapping[str, float]) -> None:
        """Remember what a job measured."""
        with contextlib.suppress(OSError):
            with tempfile.NamedTemporaryFile(
                "w", dir=self._file.parent, prefix=".paces-", delete=False
            ) as file:
                json.dump({**self._measured(), **measured}, file)
            Path(file.name).replace(self._file)

    def seconds(self, embedder: str, characters: float, pages: float) -> float | None:
        """Estimate the seconds from reading to indexing; ``pages`` counts pages of PDFs.

        Returns None for a remote model that no job has used yet.
        """
        if embedding(embedder) not in self._measured() and providers.is_local(embedder):
            self._try(embedder)
        paces = self.rates()
        if embedding(embedder) not in paces:
            return None
        per_character = ("cutting", embedding(embedder), "storing", "indexing")
        return pages * paces["reading pdf"] + characters * sum(
            paces[name] for name in per_character
        )

    def _try(self, embedder: str) -> None:
        """Measure an embedder on a piece of the sample, cut to usual passages."""
        with contextlib.suppress(TouchstoneError, OSError):
            texts = (path.read_text("utf-8") for path in sorted(_TRIAL.glob("*.md")))
            text = "".join(texts)[:_TRIAL_CHARACTERS]
            pieces = [text[start : start + 600] for start in range(0, len(text), 600)]
            model = self._services.models.embedder(embedder)
            model.embed(pieces[:1], "document")  # it is loaded on first use
            started, embedded, seconds = time.monotonic(), 0, 0.0
            for start in range(0, len(pieces), _TRIAL_BATCH):
                batch = pieces[start : start + _TRIAL_BATCH]
                model.embed(batch, "document")
                embedded += sum(map(len, batch))
                seconds = time.monotonic() - started
                if seconds >= _TRIAL_SECONDS:
                    break
            self.keep({embedding(embedder): seconds / embedded})

    def _measured(self) -> dict[str, float]:
        try:
            stored = json.loads(self._file.read_text())
            return {str(name): float(value) for name, value in stored.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}
