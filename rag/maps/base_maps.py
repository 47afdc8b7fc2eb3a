"""The maps of one knowledge base: what is drawn, and the job that draws it."""

from __future__ import annotations

from collections.abc import Sequence

from rag.errors import InvalidInput
from rag.jobs import Job, JobRow, Jobs, Reporter, StoredIndexRecipe
from rag.maps.maps import MapFiles, Maps, PassageMap, Placed, PlacedQuestions
from rag.maps.projections import Method, methods, project
from rag.operation import operation
from rag.recipe import IndexRecipe
from rag.services import Services


class Draw(Job[None]):
    """The drawing of the map of a build."""

    kind = "map"
    recipe: StoredIndexRecipe
    method: Method


class BaseMaps:
    """The maps of one knowledge base."""

    def __init__(self, maps: Maps, jobs: Jobs, base_id: int) -> None:
        self._maps = maps
        self._jobs = jobs
        self._base_id = base_id

    @property
    @operation("viewer")
    def methods(self) -> tuple[Method, ...]:
        """The projection methods that are available here."""
        return methods()

    @operation("viewer")
    def current(self, recipe: IndexRecipe, method: Method = "pca") -> PassageMap | None:
        """The map of a build, or None while none was drawn."""
        return self._maps.current(self._base_id, recipe, method)

    @operation("viewer")
    def place(self, recipe: IndexRecipe, passage_map: PassageMap, question: str) -> Placed:
        """Return the position of a question on a map. Raises ProviderError."""
        return self._maps.place(self._base_id, recipe, passage_map, question)

    @operation("viewer")
    def place_questions(
        self, recipe: IndexRecipe, passage_map: PassageMap, questions: Sequence[str]
    ) -> PlacedQuestions:
        """Return the positions of questions on a map. Raises ProviderError."""
        return self._maps.place_questions(self._base_id, recipe, passage_map, questions)

    @operation("viewer")
    def drawing(self, recipe: IndexRecipe, method: Method = "pca") -> JobRow | None:
        """The job that draws this map now, if any does."""
        job = self._jobs.latest(self._base_id, Draw, index=recipe.hash, method=method)
        return job if job is not None and job.active else None

    @operation("editor")
    def draw(self, recipe: IndexRecipe, method: Method = "pca") -> int:
        """Queue the drawing of a map; return the job, also where one is at it already.

        Raises InvalidInput for a method that is not installed.
        """
        if method not in methods():
            raise InvalidInput(
                "UMAP is not installed.", "Run: pip install -r requirements-umap.txt"
            )
        job = Draw(recipe=recipe, method=method, about={"index": recipe.hash, "method": method})
        return self._jobs.submit_once(self._base_id, f"Drawing the {method.upper()} map", job)


def draw_map(services: Services, files: MapFiles, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "map"; taken up again, it starts over, and the former map stays."""
    request = Draw.of(job)
    reporter.report(0, 0, "reading vectors")
    index = services.indexes.current(job.base_id, request.recipe).embedded
    keys = index.passages
    drawn = project(request.method, keys, index.dense.vectors, reporter.report)
    files.save(job.base_id, request.recipe.hash, drawn)
    return f"{len(keys):,} passages drawn"
