"""The documents that a run searched: their hash, and those with edits of people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from rag.results import EDITED, EDITS, Run
from rag.storage import Connection, documents, passage_edits

DocumentChange = Literal["left out", "put back", "edited"]


@dataclass(frozen=True, slots=True)
class EditedDocument:
    """A document with edits of its passages: all of its text is ``left_out`` of search, or not."""

    name: str
    digest: str
    left_out: bool


@dataclass(frozen=True, slots=True)
class SearchedDocuments:
    """The documents of a run: the hash of their ids, and those with edits by id."""

    hash: str
    edited: Mapping[str, EditedDocument]

    @classmethod
    def of(cls, run: Run) -> SearchedDocuments | None:
        """Return the documents of a run; None for a run of an earlier version with edits."""
        if EDITS not in run.environment:
            return cls(run.documents_hash, {})
        if EDITED not in run.environment:
            return None
        stored = json.loads(run.environment[EDITED])
        edited = {key: EditedDocument(**values) for key, values in stored["edited"].items()}
        return cls(stored["hash"], edited)

    def changes(self, before: SearchedDocuments) -> Iterator[tuple[str, str, DocumentChange]]:
        """Yield the id and name of each document whose edits differ, with what was done."""
        for key in sorted({*self.edited, *before.edited}):
            now, then = self.edited.get(key), before.edited.get(key)
            shown = now or then
            if now == then or shown is None:
                continue
            is_out, was_out = (one is not None and one.left_out for one in (now, then))
            change: DocumentChange = "edited"
            if is_out != was_out:
                change = "left out" if is_out else "put back"
            yield key, shown.name, change


def documents_hash(ids: Iterable[str], edits: str = "") -> str:
    """SHA-256 of sorted document ids: tells whether two runs searched the same documents.

    ``edits`` is the digest of what people decided about passages; it counts where there is one.
    """
    lines = [*sorted(ids), *([f"edits {edits}"] if edits else [])]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def documents_hash_now(connection: Connection, base_id: int) -> str:
    """Return the ``documents_hash`` of the documents that a base holds."""
    edits = passage_edits.digest(connection, base_id)
    return documents_hash(documents.ids_by_name(connection, base_id).values(), edits)


def edits_environment(connection: Connection, base_id: int, ids: Collection[str]) -> dict[str, str]:
    """Return what the environment of a run of these documents says about edits of passages."""
    edits = passage_edits.digest(connection, base_id)
    if not edits:
        return {}
    digests = passage_edits.digest_by_document(connection, base_id)
    names = documents.names(connection, base_id, sorted(digests))
    left_out = documents.left_out(connection, base_id)
    edited = {
        key: asdict(EditedDocument(names[key], digests[key], key in left_out))
        for key in sorted(names)
    }
    return {EDITS: edits, EDITED: json.dumps({"hash": documents_hash(ids), "edited": edited})}
