"""A table of metrics by chunking and embedding: one row for every recipe of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.errors import InvalidInput
from rag.experiments.runs.evaluator import DEFAULT_CUTOFFS, Evaluator
from rag.experiments.tuning.grid import Grid
from rag.experiments.tuning.sweeper import WeightedProgress
from rag.operation import operation
from rag.recipe import IndexRecipe, Recipe
from rag.search.snapshot import take_snapshot
from rag.services.services import Services
from rag.storage import builds, passages
from rag.types import ProgressCallback

MOST_ROWS = 200
_COUNTED = 20_000  # passages whose tokens are counted, about


@dataclass(frozen=True, slots=True)
class BuildFigures:
    """A recipe of a grid, by ordinary evaluation. ``changes`` are its fields in the grid.

    ``passages`` counts those of its cut; ``mean_tokens`` is their mean length in tokens of the
    embedder, of a part of them where there are very many.
    """

    recipe: Recipe
    changes: Mapping[str, Any]
    passages: int
    mean_tokens: float
    metrics: Mapping[str, float]


class BuildTable:
    """A table of recipes whose index differs; their builds must be there."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id
        self._evaluator = Evaluator(services, base_id)

    @operation("viewer")
    def rows(
        self,
        set_name: str,
        grid: Grid,
        cutoffs: Sequence[int] = DEFAULT_CUTOFFS,
        on_progress: ProgressCallback = lambda _done, _total: None,
        *,
        by_tokens: bool = False,
    ) -> list[BuildFigures]:
        """One row a recipe, in grid order; no run is kept.

        ``on_progress`` is called with the whole, in searches of a question.

        Has the metrics of retrieved text too (``by_tokens``: in tokens besides).
        ``Library.build_several`` makes the builds before.
        Raises NotFound, InvalidInput for a grid of more than 200 recipes.
        """
        if len(grid) > MOST_ROWS:
            raise InvalidInput(
                f"The table has up to {MOST_ROWS} rows, and the grid has {len(grid):,} recipes.",
                "Give fewer values, or sweep the fields of search around one index.",
            )
        _, questions = self._evaluator.questions(set_name)
        figures: list[BuildFigures] = []
        by_build = len(grid) // len(grid.builds)
        effort = WeightedProgress(on_progress, (len(grid) + len(grid.builds)) * len(questions))
        for place, recipe in enumerate(grid.indexes()):
            with effort.part(len(questions)) as progress:
                index = self._services.indexes.complete(self._base_id, recipe.index)
                queries = self._evaluator.queries(questions, recipe.index, progress)
                count, tokens = self._passages(recipe.index)
            for number in range(place * by_build, (place + 1) * by_build):
                varied = grid.recipe(number)
                snapshot = take_snapshot(self._services, self._base_id, varied, index)
                with effort.part(len(questions)) as progress:
                    _, means = self._evaluator.measure(
                        questions, queries, snapshot, cutoffs, progress, by_tokens=by_tokens
                    )
                figures.append(BuildFigures(varied, grid.changes(number), count, tokens, means))
        return figures

    def _passages(self, recipe: IndexRecipe) -> tuple[int, float]:
        """Return the number of passages of a build and their mean length in tokens."""
        with self._services.database.read() as connection:
            count = builds.passages_of(connection, self._base_id, recipe.cut)
            cut_id = builds.cut_id(connection, self._base_id, recipe.cut)
            texts = passages.texts(connection, cut_id, stride=max(count // _COUNTED, 1))
            tokenizer = self._services.models.embedder(recipe.embedder).tokenizer
            lengths = [tokenizer.count(text) for text in texts]
        return count, sum(lengths) / max(len(lengths), 1)
