"""Moving a knowledge base to another embedding model: costs, gains and losses, and mixed vectors.

A migration has no downtime: the index of the new model is built beside the one that answers, both
are measured, and saving the recipe switches between two complete indexes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rag.chunking.estimates import tokens
from rag.documents.stores.vector_check import VectorCheck, check_index
from rag.documents.throughput import Throughput
from rag.errors import InvalidInput
from rag.evaluation.report.words import counted
from rag.operation import operation
from rag.providers.embedder_defaults import with_embedder_weight
from rag.recipe import IndexRecipe, Recipe
from rag.runs.evaluator import Evaluator, new_run_id
from rag.runs.history import LEADING, RunComparison, RunHistory
from rag.runs.quality.spending import money
from rag.search.snapshot import take_snapshot
from rag.services import Services
from rag.storage import bases, builds, passages, runs
from rag.types import Cost, ProgressCallback, percent

SAMPLE = 100
"""Vectors that a check embeds again."""
_FLOAT_BYTES = 4
MEASURED, SWITCHED, COMPARED = 2, 3, 4
"""Steps of the plan that are done when both indexes are measured, when the recipe is saved, and
when the rankings are compared."""

StepState = Literal["done", "next", "later"]


@dataclass(frozen=True, slots=True)
class MigrationCost:
    """Work of a migration.

    ``passages`` counts those of the new index, ``to_embed`` those whose vectors are not cached.
    ``tokens`` is an estimate over these. ``seconds`` is None for a remote model that was never
    measured, ``price`` where no price is known. The bytes are those of the vectors alone.
    """

    passages: int
    to_embed: int
    tokens: int
    seconds: float | None
    price: Cost | None
    bytes_before: int
    bytes_after: int

    @property
    def work(self) -> str:
        """The passages to embed with tokens, time and money, in one sentence."""
        time = "unknown time" if self.seconds is None else f"about {self.seconds:,.0f} s"
        price = f", {money(self.price.amount, self.price.currency)}" if self.price else ""
        return (
            f"{self.to_embed:,} of {counted(self.passages, 'passage')} to embed, "
            f"about {self.tokens:,} tokens, {time}{price}."
        )

    @property
    def size(self) -> str:
        """The bytes of the vectors before and after, in one sentence."""
        return (
            f"Vectors: {self.bytes_before / 1e6:,.1f} MB now, {self.bytes_after / 1e6:,.1f} MB "
            "then."
        )


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """A step of the plan."""

    title: str
    state: StepState


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """A migration from the saved recipe to one with another embedder."""

    before: Recipe
    after: Recipe
    cost: MigrationCost
    check: VectorCheck
    steps: tuple[MigrationStep, ...]

    @property
    def check_sentence(self) -> str:
        """The result of the check of the vectors that answer now, in words."""
        check, embedder = self.check, self.before.index.embedder
        if not check.sampled:
            return "No vectors are stored yet, so there is nothing to check."
        low, high = check.share
        if not check.foreign:
            return (
                f"All {check.sampled:,} sampled vectors are of {embedder} "
                f"(at most {percent(high, 1)} of the index are not)."
            )
        return (
            f"{len(check.foreign):,} of {check.sampled:,} sampled vectors are not of {embedder}: "
            f"{percent(low, 1)} to {percent(high, 1)} of the index. Build the index again."
        )

    def advised(self, verdict: str) -> MigrationPlan:
        """Return the plan without its switch, where the verdict is that the new model is worse."""
        if verdict != "worse" or self.steps[MEASURED].state != "next":
            return self
        embedder = self.after.index.embedder
        kept = MigrationStep(f"Keep the saved recipe: {embedder} is worse here.", "next")
        deleted = MigrationStep(f"Delete the index for {embedder}.", "later")
        return replace(self, steps=(*self.steps[:MEASURED], kept, deleted))


class EmbedderMigration:
    """Plans and measures a move of a knowledge base to another embedding model."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id

    @operation("editor", models="none")
    def target(self, embedder: str) -> Recipe:
        """Return the saved recipe with another embedder and the weight that suits it.

        It has no learned fusion: one is learned on the scores of an embedder.

        Raises InvalidRecipe for an unknown embedder, InvalidInput for the present one.
        """
        with self._services.database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe
        if embedder == saved.index.embedder:
            raise InvalidInput(
                f"This knowledge base uses {embedder} already.", "Name another embedder."
            )
        changes = {"index.embedder": embedder}
        recipe = with_embedder_weight(saved, saved.with_fields(changes))
        self._services.models.require(recipe.index)
        return recipe

    @operation("editor")
    def cost(self, recipe: Recipe) -> MigrationCost:
        """Estimate the work of a recipe from ``target``. Raises InvalidRecipe, ProviderError."""
        with self._services.database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe
        return self._cost(saved.index, recipe.index)

    @operation("editor", audit="evaluation")
    def plan(self, recipe: Recipe, sample: int = SAMPLE) -> MigrationPlan:
        """Estimate the costs of a recipe from ``target``, and check the vectors that answer now.

        The check embeds ``sample`` texts again. A vector with a cosine below ``SAME_MODEL`` is of
        another model, another version of the model, or another text. Raises InvalidInput for a
        sample below 1, InvalidRecipe, ProviderError.
        """
        with self._services.database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe
            lacking = builds.missing(connection, self._base_id, recipe.index.hash)
            measured = [
                {
                    run.question_set
                    for run in runs.list_runs(connection, self._base_id)
                    if run.recipe == one
                }
                for one in (saved, recipe)
            ]
        return MigrationPlan(
            saved,
            recipe,
            self._cost(saved.index, recipe.index),
            self._check(saved, sample),
            steps_after(
                recipe, 0 if lacking else 1 if measured[0].isdisjoint(measured[1]) else MEASURED
            ),
        )

    def _check(self, recipe: Recipe, sample: int) -> VectorCheck:
        """Embed a random sample of the texts of an index again and compare the vectors."""
        if sample < 1:
            raise InvalidInput("A check needs at least one vector.", "Use 100, for example.")
        snapshot = take_snapshot(self._services, self._base_id, recipe)
        return check_index(self._services, snapshot, sample)

    @operation("editor", audit="evaluation")
    def measure(
        self,
        set_name: str,
        recipe: Recipe,
        on_progress: ProgressCallback = lambda _done, _total: None,
        metric: str = LEADING,
    ) -> RunComparison:
        """Evaluate the saved recipe and a recipe from ``target``, keep both runs and compare them.

        Raises NotFound for an unknown set, InvalidInput for one without labels, or while the index
        of a recipe lacks documents.
        """
        with self._services.database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe
        ids = new_run_id(), new_run_id()
        measure_both(self._services, self._base_id, set_name, (saved, recipe), ids, on_progress)
        history = RunHistory(self._services.database, self._base_id)
        return history.compare([ids[1]], ids[0], metric)[0]

    def _cost(self, before: IndexRecipe, after: IndexRecipe) -> MigrationCost:
        models = self._services.models
        old, new = models.embedder(before.embedder), models.embedder(after.embedder)
        to_embed, characters, amount = 0, 0, 0
        with self._services.database.read() as connection:
            stored = builds.passages_of(connection, self._base_id, before.cut)
            # Where nothing is chunked for the new index yet, the present chunks are the estimate.
            cut = after.cut
            if not (count := builds.passages_of(connection, self._base_id, cut)):
                cut, count = before.cut, stored
            cut_id = builds.cut_id(connection, self._base_id, cut)
            for text in passages.unembedded_texts(connection, cut_id, new.id):
                to_embed += 1
                characters += len(text)
                amount += tokens(text)
        return MigrationCost(
            passages=count,
            to_embed=to_embed,
            tokens=amount,
            seconds=Throughput(self._services).seconds(after.embedder, characters, 0),
            price=models.embedding_cost(after.embedder, amount),
            bytes_before=stored * old.dimension * _FLOAT_BYTES,
            bytes_after=count * new.dimension * _FLOAT_BYTES,
        )


def measure_both(
    services: Services,
    base_id: int,
    set_name: str,
    recipes: tuple[Recipe, Recipe],
    run_ids: Sequence[str],
    on_progress: ProgressCallback,
) -> None:
    """Evaluate two recipes on the same questions; runs that are stored are left alone."""
    evaluator = Evaluator(services, base_id)
    for number, (recipe, run_id) in enumerate(zip(recipes, run_ids, strict=True)):

        def both(done: int, total: int, number: int = number) -> None:
            on_progress(number * total + done, 2 * total)

        with services.database.read() as connection:
            stored = runs.run_exists(connection, run_id)
        if not stored:
            evaluator.evaluate(set_name, recipe, on_progress=both, run_id=run_id)


def steps_after(recipe: Recipe, done: int) -> tuple[MigrationStep, ...]:
    """The plan with its first ``done`` steps taken."""
    titles = (
        f"Build the index for {recipe.index.embedder}. The present index continues to answer.",
        "Measure both indexes on the same questions and read what is lost.",
        "Save the new recipe. Both indexes are complete, so answers switch at once.",
        "Compare the rankings of the saved recipe with those of the measured run.",
        "Delete the old index when you no longer need a way back.",
    )
    return tuple(
        MigrationStep(title, "done" if place < done else "next" if place == done else "later")
        for place, title in enumerate(titles)
    )
