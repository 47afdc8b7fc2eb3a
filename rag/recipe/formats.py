"""The stored form of a recipe: its version, and the fields that versions added and removed.

A recipe is stored with all its fields and with ``format``, the version of that form. Homes, bundles
and files of an older format keep their meaning and their hashes: a hash does not cover an added
field at the value that older recipes mean, and it covers what a recipe says in a removed field.

To change a default, change it in ``rag/recipe/parts.py``: stored recipes name the field. To add a
field, raise ``FORMAT`` and mark the field with ``Since``. To remove a field, delete it from the
parts, raise ``FORMAT`` unless this release raised it already, and add the field to ``REMOVED``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FORMAT = 2
"""The format that this version writes. Recipes stored without a format have format 0."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A field that this version does not have.

    At ``off``, the value that every recipe means now, a stored recipe loses nothing. ``instead`` is
    a sentence about what does its work. ``hashed`` is set for a field that hashes covered at every
    value: the hashes of new recipes cover it at ``off``.
    """

    off: Any
    instead: str = ""
    hashed: bool = False


REMOVED: dict[str, Removed] = {
    "search.abbreviations": Removed(
        off=False, instead="Use search.expansions, or add the long form to a passage."
    ),
    "search.learned_fusion": Removed(off=None, instead="Use search.fusion saturation."),
}
"""The fields that were removed, by dotted name."""


def fields_of(part: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a table by dotted name that belong to a part, by the name of the field."""
    return {
        field: entry
        for name, entry in table.items()
        for owner, _, field in [name.partition(".")]
        if owner == part
    }
