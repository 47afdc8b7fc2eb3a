"""The documents that a run searched: their hash, and those that are left out of search."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from rag.results import EDITS, LEFT_OUT, Run
from rag.storage import Connection, documents, passage_edits


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The documents that a run left out of search: their names by id.

    ``others`` is the hash of all documents with the other edits. Two runs with equal ``others``
    searched the same documents, except those that only one of them left out.
    """

    names: Mapping[str, str]
    others: str

    @classmethod
    def of(cls, run: Run) -> LeftOut | None:
        """Return what a run left out; None for an earlier version's run with edits."""
        if EDITS not in run.environment:
            return cls({}, run.documents_hash)
        if LEFT_OUT not in run.environment:
            return None
        return cls(**json.loads(run.environment[LEFT_OUT]))


def documents_hash(ids: Iterable[str], edits: str = "") -> str:
    """SHA-256 of sorted document ids: tells whether two runs searched the same documents.

    ``edits`` is the digest of what people decided about passages; it counts where there is one.
    """
    lines = [*sorted(ids), *([f"edits {edits}"] if edits else [])]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def edits_environment(connection: Connection, base_id: int, ids: Collection[str]) -> dict[str, str]:
    """Return what the environment of a run of these documents says about edits of passages."""
    edits = passage_edits.digest(connection, base_id)
    if not edits:
        return {}
    names = documents.left_out(connection, base_id)
    others = documents_hash(ids, passage_edits.digest(connection, base_id, included=names))
    left_out = {"names": dict(sorted(names.items())), "others": others}
    return {EDITS: edits, LEFT_OUT: json.dumps(left_out)}
