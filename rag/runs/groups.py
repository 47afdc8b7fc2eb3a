"""Which questions of a run rise and fall together, by what their set says today."""

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
