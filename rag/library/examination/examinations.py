"""The examination of a knowledge base, and what people decided about its findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from rag.errors import InvalidInput, NotFound
from rag.input_rules import storable
from rag.library.documents.passage_edits import PassageEdits
from rag.library.examination.examining import by_kind, examine
from rag.library.examination.findings import (
    DEPTH,
    DocumentFinding,
    FindingPlace,
    RunReach,
    hubs,
    unanswered,
    unreached,
)
from rag.operation import ALL, operation
from rag.results import Run
from rag.services.caches import SizedCache
from rag.storage import (
    Connection,
    Database,
    bases,
    builds,
    documents,
    labels,
    passages,
    questions,
    runs,
)
from rag.storage.conversations import Scope, feedback
from rag.storage.quality import decisions as settlements
from rag.storage.quality.decisions import SettlementRow

SettlementDecision = Literal["keep", "both", "ignore"]
LONGEST_REASON = 500
MOST_QUESTIONS = 2000
"""Newest questions of chats that are looked at."""

_texts = SizedCache[list[DocumentFinding]](20_000)


@dataclass(frozen=True, slots=True)
class Examination:
    """Open findings, and the settled ones with their decisions."""

    documents: int
    open: tuple[DocumentFinding, ...]
    settled: tuple[tuple[DocumentFinding, SettlementRow], ...]


class Examinations:
    """The examinations of the documents of one knowledge base."""

    def __init__(self, database: Database, scope: Scope, edits: PassageEdits) -> None:
        self._database = database
        self._scope = scope
        self._base_id = scope.base_id
        self._edits = edits

    @operation("viewer")
    def examine(self) -> Examination:
        """Examine all documents, and what questions reach of them.

        A settled finding is open again when one of its texts changes. Of the questions of chats,
        the visitor's own ones are looked at.
        """
        with self._database.read() as connection:
            count = documents.count(connection, self._base_id)
            decisions = settlements.settlements(connection, self._base_id)
        findings = self._findings()
        return Examination(
            count,
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

        ``keep`` needs the id or name of the document that is right: the other editions or copies
        are excluded from passages. ``both`` needs a reason. Raises NotFound, InvalidInput.
        """
        finding = self._finding(finding_id)
        reason = " ".join(storable(reason).split())
        if decision not in get_args(SettlementDecision):
            raise InvalidInput(f"No decision is called {decision!r}.", "Use keep, both or ignore.")
        if len(reason) > LONGEST_REASON:
            raise InvalidInput(
                f"A reason has at most {LONGEST_REASON} characters.", "Shorten the reason."
            )
        if decision == "both" and not reason:
            raise InvalidInput("A reason is missing.", "Say why both are right.")
        kept = _kept(finding, document) if decision == "keep" else None
        name = "" if kept is None else kept.document
        if self._settled(finding.id) not in (None, (decision, name, reason)):
            raise InvalidInput("This finding is settled already.", "Reopen it first.")
        if kept is not None:
            for place in finding.places:
                span = self._visible(place)
                done = any(
                    stored.kind == "exclude" and stored.start <= span[0] and stored.end >= span[1]
                    for stored in self._edits.passage_edits(place.document_id)
                )
                if place.document_id != kept.document_id and not done:
                    self._edits.edit_passages(place.document_id, "exclude", span)
        try:
            self._database.execute(
                settlements.settle, self._base_id, finding.id, decision, name, reason
            )
        except InvalidInput:  # somebody was quicker, and may keep the other document
            earlier = self._settled(finding.id)
            if kept is not None and (earlier is None or earlier[:2] != ("keep", name)):
                self._include_others(finding, name)
            raise

    @operation("editor", audit="documents", audited_arguments=ALL)
    def reopen(self, finding_id: str) -> None:
        """Undo a decision, and remove the exclusions of text that came with it.

        Raises NotFound.
        """
        settled = self._database.fetch(settlements.settlements, self._base_id).get(finding_id)
        if settled is None:
            raise NotFound("This finding is not settled.", "Examine the documents again.")
        if settled.decision == "keep":
            for finding in self._findings():
                if finding.id == finding_id:
                    self._include_others(finding, settled.document)
        self._database.execute(settlements.reopen_finding, self._base_id, finding_id)

    def _settled(self, finding_id: str) -> tuple[str, str, str] | None:
        """Return the decision about a finding, the document that is kept, and the reason."""
        row = self._database.fetch(settlements.settlements, self._base_id).get(finding_id)
        return None if row is None else (row.decision, row.document, row.reason)

    def _include_others(self, finding: DocumentFinding, kept: str) -> None:
        for place in finding.places:
            for stored in self._edits.passage_edits(place.document_id):
                same = stored.kind == "exclude" and (stored.start, stored.end)
                if place.document != kept and same == self._visible(place):
                    self._edits.remove_edit(stored.id)

    def _visible(self, place: FindingPlace) -> tuple[int, int]:
        """Return the span of a place without white space at its ends, as edits have it."""
        with self._database.read() as connection:
            where = place.document_id, place.start, place.end
            words = documents.stretch(connection, self._base_id, *where)
        start = place.start + len(words) - len(words.lstrip())
        return start, start + len(words.strip())

    def _finding(self, finding_id: str) -> DocumentFinding:
        for finding in self._findings():
            if finding.id == finding_id:
                return finding
        raise NotFound("No finding has this id.", "Examine the documents again.")

    def _findings(self) -> list[DocumentFinding]:
        with self._database.read() as connection:
            findings = [*self._of_texts(connection), *self._of_questions(connection)]
        return sorted(findings, key=by_kind)

    def _of_texts(self, connection: Connection) -> Sequence[DocumentFinding]:
        """Return the findings of the texts alone, which are dear, and stay while the texts stay."""
        base_id = self._base_id
        ids = documents.ids_by_name(connection, base_id)
        version = bases.version(connection, base_id)

        def read() -> list[DocumentFinding]:
            return examine([documents.get(connection, base_id, ids[name]) for name in sorted(ids)])

        key = str(connection.engine.url), base_id, version, *sorted(ids.items())
        return _texts.get(key, read)

    def _of_questions(self, connection: Connection) -> Iterator[DocumentFinding]:
        base_id = self._base_id
        rows = documents.list_documents(connection, base_id)
        newest = (_reach(connection, base_id, run) for run in _newest(connection, base_id))
        measured = [reach for reach in newest if reach.in_documents]
        if measured:
            labelled = labels.labelled_documents(connection, base_id)
            yield from unreached(rows, measured, labelled)
            yield from hubs(measured[0], {row.id: row.name for row in rows})
        asked = feedback.chat_questions(connection, self._scope, MOST_QUESTIONS)
        yield from unanswered(asked, questions.unanswerable(connection, base_id))


def _newest(connection: Connection, base_id: int) -> list[Run]:
    """Return the newest run of each question set, the newest first.

    Other systems and recipes with a filter do not say what is reached here.
    """
    newest: dict[str, Run] = {}
    for run in runs.list_runs(connection, base_id):
        if run.recipe and not run.filter_digest:
            newest.setdefault(run.question_set, run)
    return list(newest.values())


def _reach(connection: Connection, base_id: int, run: Run) -> RunReach:
    results = runs.results(connection, run.id, DEPTH)
    rankings = [[(name, grade) for name, _, grade in result.ranking] for result in results]
    ids = {name for ranking in rankings for name, _ in ranking}
    stored = passages.passages_by_id(connection, base_id, run.cut, ids)
    cut = builds.cut_id(connection, base_id, run.cut)
    counts = {} if cut is None else passages.counts(connection, base_id, cut)
    texts = [result.text for result in results]
    return RunReach(run.created, texts, rankings, stored, counts, run.documents)


def _kept(finding: DocumentFinding, document: str) -> FindingPlace:
    places = [place for place in finding.places if document in (place.document_id, place.document)]
    if len(finding.places) < 2 or len(places) != 1:
        names = ", ".join(place.document for place in finding.places)
        raise InvalidInput("The document to keep is missing.", f"Choose one of: {names}.")
    return places[0]
