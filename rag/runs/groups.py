"""Which questions of a run rise and fall together, or are held out, by their set of today."""

from __future__ import annotations

from rag.errors import NotFound
from rag.questions.groups import groups_of
from rag.storage import Connection, questions


def groups_of_set(connection: Connection, base_id: int, set_name: str) -> dict[str, str]:
    """Groups by question id; none where the set is gone, as nothing tells them then."""
    try:
        found = questions.named(connection, base_id, set_name)
    except NotFound:
        return {}
    return groups_of(questions.usable(connection, base_id, found.id))


def split_of_set(connection: Connection, base_id: int, set_name: str) -> tuple[int, float] | None:
    """Seed and share of the split of a set; None where the set is gone."""
    try:
        found = questions.named(connection, base_id, set_name)
    except NotFound:
        return None
    return found.split_seed, found.split_share
