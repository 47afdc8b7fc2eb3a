"""The tours of a knowledge base: owners compose them, and everybody who may ask reads them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import TypeAdapter

from rag.conversations.tours.stops import LONGEST_NOTE, LONGEST_TOUR_TITLE, AnswerBasis, TourStop
from rag.errors import InvalidInput, NotFound
from rag.input_rules import find_fault, mend
from rag.library.documents.stored import documents_hash_now
from rag.operation import ALL, operation
from rag.recipe import Recipe
from rag.storage import Connection, Database, bases, documents
from rag.storage.access import links
from rag.storage.access.links import TourRow
from rag.storage.rows import in_utc

MOST_STOPS = 50
MOST_TOURS = 100

_STOPS = TypeAdapter(tuple[TourStop, ...])


@dataclass(frozen=True, slots=True)
class Tour:
    """A tour with its stops in order; ``changed`` is when it was last saved."""

    id: int
    title: str
    stops: tuple[TourStop, ...]
    changed: datetime


class Tours:
    """The tours of one knowledge base.

    ``only`` is the one tour that is there for the guests of its link, or None for all tours.
    """

    def __init__(self, database: Database, base_id: int, only: int | None = None) -> None:
        self._database = database
        self._base_id = base_id
        self._only = only

    @operation("guest")
    def list_tours(self) -> list[Tour]:
        """List all tours, the one changed last first."""
        rows = self._database.fetch(links.list_tours, self._base_id)
        return [_tour(row) for row in rows if self._only in (None, row.id)]

    @operation("guest")
    def get(self, tour_id: int) -> Tour:
        """Return one tour. Raises NotFound."""
        if self._only not in (None, tour_id):
            _required(None)
        row = self._database.fetch(links.tour_by_id, self._base_id, tour_id)
        return _tour(_required(row))

    @operation("viewer")
    def basis(
        self, question: str, answered: datetime, recipe: Recipe, cited: Collection[str] = ()
    ) -> AnswerBasis:
        """Return what an answer of a recipe rests on; ``cited`` has the ids of its documents.

        That is the documents as they are now, or nothing known if some are newer than the answer,
        or if one that it cites was deleted.
        """
        with self._database.read() as connection:
            newest = documents.newest(connection, self._base_id)
            stored = documents.names(connection, self._base_id, list(cited))
        unchanged = (newest is None or newest <= in_utc(answered)) and stored.keys() >= set(cited)
        now = self._database.fetch(documents_hash_now, self._base_id) if unchanged else ""
        return AnswerBasis(question, answered, now, recipe.hash)

    @operation("guest")
    def changes(self, basis: AnswerBasis) -> tuple[Literal["documents", "recipe"], ...]:
        """Name what changed since an answer; empty if it would be the same."""
        documents_now = self._database.fetch(documents_hash_now, self._base_id)
        recipe_now = self._database.fetch(bases.by_id, self._base_id).recipe.hash
        changed = list[Literal["documents", "recipe"]]()
        if documents_now != basis.documents:
            changed.append("documents")
        if recipe_now != basis.recipe:
            changed.append("recipe")
        return tuple(changed)

    @operation("owner", audit="sharing", audited_arguments=1)
    def create(self, title: str, stops: Sequence[TourStop] = ()) -> int:
        """Create a tour, with its first stops if there are any; return its id.

        Raises InvalidInput.
        """
        title = _checked_title(title)
        with self._database.write() as connection:
            if len(links.list_tours(connection, self._base_id)) >= MOST_TOURS:
                raise InvalidInput(
                    f"A knowledge base has at most {MOST_TOURS} tours.", "Delete one first."
                )
            tour_id = links.create_tour(connection, self._base_id, title, [])
            if stops:
                self._save(connection, tour_id, title, stops)
            return tour_id

    @operation("owner", audit="sharing")
    def add(self, tour_id: int, stops: Sequence[TourStop]) -> Tour:
        """Append stops to a tour. Raises NotFound, InvalidInput."""
        with self._database.write() as connection:
            tour = _tour(_required(links.tour_by_id(connection, self._base_id, tour_id, lock=True)))
            together = (*tour.stops, *stops)
            return self._save(connection, tour.id, tour.title, together)

    @operation("owner", audit="sharing")
    def save(self, tour: Tour, title: str, stops: Sequence[TourStop]) -> Tour:
        """Replace the title and the stops of a tour as it was read.

        Raises NotFound, and InvalidInput if the tour was changed since it was read.
        """
        with self._database.write() as connection:
            row = _required(links.tour_by_id(connection, self._base_id, tour.id, lock=True))
            if row.changed != tour.changed:
                raise InvalidInput(
                    "The tour was changed elsewhere.", "Load the tour again, and repeat your edit."
                )
            return self._save(connection, tour.id, _checked_title(title), stops)

    @operation("owner", audit="sharing", audited_arguments=ALL)
    def delete(self, tour_id: int) -> None:
        """Delete a tour; links to it then show no tour. Raises NotFound."""
        with self._database.write() as connection:
            if not links.delete_tour(connection, self._base_id, tour_id):
                _required(None)
            links.forget_tour(connection, self._base_id, tour_id)

    def _save(
        self, connection: Connection, tour_id: int, title: str, stops: Sequence[TourStop]
    ) -> Tour:
        if len(stops) > MOST_STOPS:
            raise InvalidInput(
                f"A tour has at most {MOST_STOPS} stops.", "Remove some, or start another tour."
            )
        notes = [stop.note for stop in stops]
        if fault := find_fault(notes):
            raise InvalidInput(f"{fault}.", "Remove it from the note.")
        if any(len(note) > LONGEST_NOTE for note in notes):
            raise InvalidInput(f"A note has at most {LONGEST_NOTE:,} characters.")
        data = [mend(_STOPS.dump_python((stop,), mode="json")[0]) for stop in stops]
        if not links.replace_tour(connection, self._base_id, tour_id, title, data):
            _required(None)
        return _tour(_required(links.tour_by_id(connection, self._base_id, tour_id)))


def _tour(row: TourRow) -> Tour:
    return Tour(row.id, row.title, _STOPS.validate_python(row.stops), row.changed)


def _required(row: TourRow | None) -> TourRow:
    if row is None:
        raise NotFound(
            "The tour is not in this knowledge base.", "Check the address. The tour may be deleted."
        )
    return row


def _checked_title(title: str) -> str:
    title = " ".join(title.split())
    if not title or len(title) > LONGEST_TOUR_TITLE or not title.isprintable():
        raise InvalidInput(
            f"The title of a tour has 1 to {LONGEST_TOUR_TITLE} printable characters."
        )
    return title
