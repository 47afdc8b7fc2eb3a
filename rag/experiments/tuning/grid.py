"""A grid of recipes: values by field, laid around a recipe."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.errors import InvalidFile, InvalidInput, InvalidRecipe
from rag.providers.table import changed_recipe
from rag.recipe import Recipe

MOST_RECIPES = 1_000_000
_LONGEST = 8192  # a chunk_size that every overlap fits
_SELECTING = ("search.threshold", "search.top_k", "search.refuse")
_EXAMPLE = 'Write it like {"search.dense_weight": [0.4, 0.6], "search.threshold": [null, 0.2]}.'

Changes = Mapping[str, Any]
"""Values by dotted field name."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Recipes that differ from ``base`` in some fields, and in the dense weight that another
    embedder brings, as in any request.

    ``builds``, ``rankings`` and ``selections`` are the combinations of the fields that need another
    index, that order the passages, and that cut the ordered list. Recipe number
    ``(build * len(rankings) + ranking) * len(selections) + selection`` has the three together.
    ``skipped`` are combinations of index fields that do not fit together: an overlap as long as the
    passages. ``repeated`` are those that would build what one before them builds: documents that
    are not cut have no size.
    """

    base: Recipe
    builds: tuple[Changes, ...]
    rankings: tuple[Changes, ...]
    selections: tuple[Changes, ...]
    skipped: tuple[Changes, ...] = ()
    repeated: tuple[Changes, ...] = ()

    @classmethod
    def parse(cls, data: Any, base: Recipe) -> Grid:
        """A grid from plain data: lists of values by field name; equal values count once.

        Raises InvalidFile for data of another shape, InvalidRecipe for a field or value that
        recipes do not have, InvalidInput for more than a million recipes.
        """
        if not isinstance(data, Mapping):
            raise InvalidFile("A grid is a JSON object of field name to list of values.", _EXAMPLE)
        fields = {name: _values(name, values, base) for name, values in data.items()}
        number = math.prod(len(values) for values in fields.values())
        if number > MOST_RECIPES:
            raise InvalidInput(
                f"The grid has {number:,} recipes; a sweep takes up to {MOST_RECIPES:,}.",
                "Give fewer values, or sweep some fields first and the others around the best.",
            )
        indexing = [name for name in fields if name.startswith("index.")]
        selecting = [name for name in fields if name in _SELECTING]
        ranking = [name for name in fields if name not in (*indexing, *selecting)]
        builds, rankings, selections = (
            _combinations(names, fields) for names in (indexing, ranking, selecting)
        )
        fitting, skipped = _checked(builds, base)
        first, repeated = _once(fitting, base)
        return cls(base, first, rankings, selections, skipped, repeated)

    def __len__(self) -> int:
        """Number of recipes."""
        return len(self.builds) * len(self.rankings) * len(self.selections)

    def changes(self, number: int) -> dict[str, Any]:
        """The fields of the grid with the values that one recipe has."""
        ranked, selection = divmod(number, len(self.selections))
        build, ranking = divmod(ranked, len(self.rankings))
        return {**self.builds[build], **self.rankings[ranking], **self.selections[selection]}

    def recipe(self, number: int) -> Recipe:
        """One recipe, as a request that names these fields has it."""
        return changed_recipe(self.base, fields=self.changes(number))

    def indexes(self) -> Iterator[Recipe]:
        """One recipe for every build that the grid needs."""
        return (changed_recipe(self.base, fields=changes) for changes in self.builds)


def _values(name: str, values: Any, base: Recipe) -> list[Any]:
    """The values of a field as recipes hold them."""
    if name.startswith("answer."):
        raise InvalidRecipe(
            f"{name} cannot be swept: it does not change the results of a search.",
            "Sweep fields of search and index.",
        )
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise InvalidRecipe(f"The grid has no list of values for {name!r}.", _EXAMPLE)
    if name.startswith("index."):  # overlap and size fit or not together, see _checked
        return _distinct(list(values))
    return _distinct([base.with_fields({name: value}).fields()[name] for value in values])


def _distinct(values: Sequence[Any]) -> list[Any]:
    return [value for at, value in enumerate(values) if value not in values[:at]]


def _checked(
    builds: Sequence[Changes], base: Recipe
) -> tuple[tuple[Changes, ...], tuple[Changes, ...]]:
    """Separate the values that fit, as recipes have them, from those that do not.

    Raises InvalidRecipe for a wrong value, or when nothing fits.
    """
    fitting, skipped = [], []
    for changes in builds:
        try:
            fields = base.with_fields(changes).fields()
        except InvalidRecipe:
            base.with_fields({**changes, "index.chunk_overlap": 0})
            base.with_fields({**changes, "index.chunk_size": _LONGEST})
            skipped.append(changes)
        else:
            fitting.append({name: fields[name] for name in changes})
    if not fitting:
        base.with_fields(skipped[0])
    return tuple(fitting), tuple(skipped)


def _once(
    builds: Sequence[Changes], base: Recipe
) -> tuple[tuple[Changes, ...], tuple[Changes, ...]]:
    """The first of those that build the same, and the others."""
    first, repeated = dict[tuple[str, ...], Changes](), list[Changes]()
    for changes in builds:
        index = base.with_fields(changes).index
        same = index.cut, index.embedder, index.analyzer, index.vector_index
        if first.setdefault(same, changes) is not changes:
            repeated.append(changes)
    return tuple(first.values()), tuple(repeated)


def _combinations(names: Sequence[str], fields: Mapping[str, list[Any]]) -> tuple[Changes, ...]:
    products = itertools.product(*(fields[name] for name in names))
    return tuple(dict(zip(names, values, strict=True)) for values in products)
