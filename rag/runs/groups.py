"""Which questions of a run rise and fall together, or are held out, by their set of today."""

from __future__ import annotations

import threading
from collections import OrderedDict

from rag.errors import NotFound
from rag.questions.groups import groups_of
from rag.storage import Connection, bases, questions

_MOST = 16  # sets whose groups are kept
_kept: OrderedDict[tuple[object, ...], dict[str, str]] = OrderedDict()
_lock = threading.Lock()


def groups_of_set(connection: Connection, base_id: int, set_name: str) -> dict[str, str]:
    """Groups by question id; none where the set is gone, as nothing tells them then.

    They are kept for each state of the questions and the documents.
    """
    try:
        found = questions.named(connection, base_id, set_name)
    except NotFound:
        return {}
    version = bases.version(connection, base_id)
    state = (str(connection.engine.url), base_id, version, found)
    with _lock:
        groups = _kept.get(state)
    if groups is None:
        groups = groups_of(questions.usable(connection, base_id, found.id))
    with _lock:
        _kept[state] = groups
        _kept.move_to_end(state)
        if len(_kept) > _MOST:
            _kept.popitem(last=False)
    return dict(groups)


def split_of_set(connection: Connection, base_id: int, set_name: str) -> tuple[int, float] | None:
    """Seed and share of the split of a set; None where the set is gone."""
    try:
        found = questions.named(connection, base_id, set_name)
    except NotFound:
        return None
    return found.split_seed, found.split_share
