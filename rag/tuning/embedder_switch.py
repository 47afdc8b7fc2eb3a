"""The end of a migration to another embedder: parity after the switch, and the previous index."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rag.errors import InvalidInput, NotFound
from rag.operation import ALL, operation
from rag.recipe import Recipe
from rag.runs.evaluator import Evaluator
from rag.runs.parity import Parity, RunParity
from rag.services import Services
from rag.storage import Connection, bases, builds, runs
from rag.storage.rows import in_utc
from rag.types import ProgressCallback

KEEP_DAYS = 14
"""Days for which the previous index is a way back."""


@dataclass(frozen=True, slots=True)
class PreviousIndex:
    """The index of the embedder before the present one, and the moment of the switch."""

    build_hash: str
    embedder: str
    switched: datetime

    def kept_until(self, days: int) -> datetime:
        """The moment from which on it may be removed."""
        return self.switched + timedelta(days=days)


class EmbedderSwitch:
    """Switches to another embedder, checks that, and removes the previous index."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id

    @operation("editor", audit="recipe")
    def switch(self, recipe: Recipe, instead_of: Recipe) -> None:
        """Save a recipe; the one before stays a version, as a way back.

        Raises InvalidInput if that is no longer ``instead_of``, or documents lack the index.
        """
        self._services.models.require(recipe.index)
        with self._services.database.write() as connection:
            save_switched(connection, self._base_id, recipe, instead_of)

    @operation("editor", audit="evaluation", audited_arguments=ALL)
    def verify(
        self,
        set_name: str,
        on_progress: ProgressCallback = lambda _done, _total: None,
        run_id: str | None = None,
    ) -> RunParity:
        """Evaluate the saved recipe again, and compare the rankings with its newest run before.

        With a ``run_id`` the run is stored once, however often that is tried. Raises NotFound for
        an unknown set, or where the recipe was not measured before the switch.
        """
        with self._services.database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe
            before = next(
                (
                    run.id
                    for run in runs.list_runs(connection, self._base_id)
                    if run.recipe == saved and run.question_set == set_name and run.id != run_id
                ),
                None,
            )
        if before is None:
            raise NotFound(
                f"The saved recipe has no run on {set_name!r} to compare with.",
                "Measure it before you switch.",
            )
        evaluator = Evaluator(self._services, self._base_id)
        after = evaluator.evaluate(set_name, saved, on_progress=on_progress, run_id=run_id).run.id
        return Parity(self._services.database, self._base_id).between(after, before)

    @operation("viewer", models="none")
    def previous(self) -> PreviousIndex | None:
        """The index of the embedder before the present one; None if there is none any more."""
        with self._services.database.read() as connection:
            saved = bases.saved_recipes(connection, self._base_id)
            stored = {row.hash for row in builds.list_builds(connection, self._base_id)}
        if not saved:
            return None
        switched, present = saved[0]
        for moment, recipe in saved:
            if recipe.index.embedder != present.index.embedder:
                index = recipe.index
                if index.hash not in stored:
                    return None
                return PreviousIndex(index.hash, index.embedder, in_utc(switched))
            switched = moment
        return None

    @operation("editor", audit="documents", audited_arguments=ALL)
    def remove_previous(self, keep_days: int = KEEP_DAYS) -> PreviousIndex:
        """Delete the previous index, at least ``keep_days`` days after the switch.

        Raises NotFound without one, InvalidInput if it is too early.
        """
        previous = self.previous()
        if previous is None:
            raise NotFound(
                "There is no index of a previous embedder.", "There is nothing to remove."
            )
        until = previous.kept_until(max(keep_days, 0))
        if datetime.now(UTC) < until:
            raise InvalidInput(
                f"The index of {previous.embedder} is kept until {until:%Y-%m-%d %H:%M} UTC, as a "
                "way back.",
                "Try again later, or keep it for fewer days.",
            )
        with self._services.database.write() as connection:
            if bases.by_id(connection, self._base_id).recipe.index.hash == previous.build_hash:
                raise InvalidInput(
                    "This index answers the questions now.", "Someone switched back: keep it."
                )
            builds.remove(connection, self._base_id, previous.build_hash)
        self._services.forget_build(self._base_id, previous.build_hash)
        return previous


def save_switched(connection: Connection, base_id: int, recipe: Recipe, instead_of: Recipe) -> None:
    """Save a recipe, with the one before as a version.

    Raises InvalidInput if that is no longer ``instead_of``, or documents lack the index.
    """
    if builds.missing(connection, base_id, recipe.index.hash):
        raise InvalidInput(
            f"The index for {recipe.index.embedder} lacks documents.", "Build it first."
        )
    # The recipe that a base began with is no version yet.
    if not bases.save_recipe(connection, base_id, instead_of, instead_of):
        raise InvalidInput("Another recipe was saved meanwhile.", "Plan the migration again.")
    bases.save_recipe(connection, base_id, recipe)
