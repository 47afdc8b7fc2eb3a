"""The examination of a knowledge base, and what people decided about its findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from rag.documents.passage_edits import PassageEdits
from rag.errors import InvalidInput, NotFound
from rag.examination.examining import examine
from rag.examination.findings import DocumentFinding, FindingPlace
from rag.input_rules import storable
from rag.operation import ALL, operation
from rag.storage import Database, documents
from rag.storage.quality import settlements
from rag.storage.quality.settlements import SettlementRow
from rag.types import Document

SettlementDecision = Literal["keep", "both", "ignore"]
LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class Examination:
    """Open findings, and the settled ones with their decisions."""

    documents: int
    open: tuple[DocumentFinding, ...]
    settled: tuple[tuple[DocumentFinding, SettlementRow], ...]


class Examinations:
    """Examines the documents of one knowledge base."""

    def __init__(self, database: Database, base_id: int, edits: PassageEdits) -> None:
        self._database = database
        self._base_id = base_id
        self._edits = edits

    @operation("viewer")
    def examine(self) -> Examination:
        """Examine all documents. A settled finding is open again when one of its texts changes."""
        texts = self._documents()
        with self._database.read() as connection:
            decisions = settlements.by_finding(connection, self._base_id)
        findings = examine(texts)
        return Examination(
            len(texts),
            tuple(finding for finding in findings if finding.id not in decisions),
            tuple(
                (finding, decisions[finding.id]) for finding in findings if finding.id in decisions
            ),
        )

    @operation("editor", audit="documents", audited_arguments=ALL)
    def settle(
        self, finding_id: str, decision: SettlementDecision, document: str = "", reason: str = ""
    ) -> None:
        """Settle a finding.

        ``keep`` needs the id or name of the document that is right: the contradicting words of the
        other one, or the whole of another edition or copy, are excluded from passages. ``both``
        needs a reason. Raises NotFound, InvalidInput.
        """
        finding = self._finding(finding_id)
        reason = " ".join(storable(reason).split())
        if decision not in get_args(SettlementDecision):
            raise InvalidInput(f"No decision is called {decision!r}.", "Use keep, both or ignore.")
        if len(reason) > LONGEST_REASON:
            raise InvalidInput(f"A reason has at most {LONGEST_REASON} characters.")
        if decision == "both" and not reason:
            raise InvalidInput("A reason is missing.", "Say why both are right.")
        kept = _kept(finding, document) if decision == "keep" else None
        if kept is not None:
            self._exclude_others(finding, kept)
        with self._database.write() as connection:
            name = "" if kept is None else kept.document
            settlements.settle(connection, self._base_id, finding.id, decision, name, reason)

    @operation("editor", audit="documents", audited_arguments=ALL)
    def reopen(self, finding_id: str) -> None:
        """Undo a decision. Excluded text stays excluded until its edit is removed.

        Raises NotFound.
        """
        with self._database.write() as connection:
            if not settlements.reopen(connection, self._base_id, finding_id):
                raise NotFound("This finding is not settled.", "Examine the documents again.")

    def _exclude_others(self, finding: DocumentFinding, kept: FindingPlace) -> None:
        for place in finding.places:
            edits = [stored.edit for stored in self._edits.of(place.document_id)]
            span = place.start, place.end
            done = any(
                edit.kind == "exclude" and edit.start <= span[0] and edit.end >= span[1]
                for edit in edits
            )
            if place != kept and not done:
                self._edits.add(place.document_id, "exclude", span)

    def _finding(self, finding_id: str) -> DocumentFinding:
        for finding in examine(self._documents()):
            if finding.id == finding_id:
                return finding
        raise NotFound("No finding has this id.", "Examine the documents again.")

    def _documents(self) -> Sequence[Document]:
        with self._database.read() as connection:
            rows = documents.list_documents(connection, self._base_id)
            return [documents.get(connection, self._base_id, row.id) for row in rows]


def _kept(finding: DocumentFinding, document: str) -> FindingPlace:
    places = [place for place in finding.places if document in (place.document_id, place.document)]
    if len(finding.places) < 2 or len(places) != 1:
        names = ", ".join(place.document for place in finding.places)
        raise InvalidInput("The document to keep is missing.", f"Choose one of: {names}.")
    return places[0]
