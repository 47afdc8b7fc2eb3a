"""Question sets and runs in the formats of others: BEIR, and trec_eval's qrels and run files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import Literal

from rag.errors import InvalidFile
from rag.evaluation.formats import beir, trec
from rag.evaluation.formats import question_files as files
from rag.evaluation.formats.fields import ReadingNotes
from rag.evaluation.formats.question_tables import QuestionTable
from rag.evaluation.relevance import (
    best_grades,
    judged_by_document,
    judged_passages,
    misleading_chunks,
    relevant_chunks,
)
from rag.library.questions.packed import QuestionFile, questions_in, table_in
from rag.library.questions.reanchoring import Anchors
from rag.library.questions.sets import Existing, QuestionSets, StoredQuestions
from rag.operation import ALL, SERVER, operation
from rag.storage import Connection, builds, documents, passages, runs
from rag.storage import questions as rows
from rag.types import LOST, MISLEADING, Document, Question

TextForm = Literal["jsonl", "csv", "qrels"]

_NONE: Mapping[str, str] = MappingProxyType({})
_JUDGEMENT = re.compile(rb"\s*\S+\s+\S+\s+\S+\s+-?\d+\s*")
_LOOKED_AT = 4096  # bytes
_LONGEST_SHOWN = 80  # characters of a quote


@dataclass(frozen=True, slots=True)
class Imported:
    """The number of imported questions (or judgements), and the skipped parts of the file.

    ``skipped`` describes the problem of each bad line. ``unused`` names the columns of a table that
    contain no known field. ``replaced`` is the version of the set with the replaced questions,
    which are kept (see ``QuestionSets.restore_version``); None if no question was replaced.
    ``repeated`` describes each quote that its document has in several places: its label is on one.
    ``unlabelled`` is the number of questions that count as answerable and have no label.
    """

    number: int
    skipped: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    replaced: int | None = None
    repeated: tuple[str, ...] = ()
    unlabelled: int = 0


class Exchange(StoredQuestions):
    """Imports and exports of one knowledge base."""

    def _sets(self) -> QuestionSets:
        """Return the sets without a guard, which has asked for what is done to them already."""
        return QuestionSets(self._database, self._base_id)

    @operation("labeller", audit="labels", audited_arguments=2)
    def import_file(
        self,
        set_name: str,
        file_name: str,
        content: str | bytes,
        split: str | None = None,
        columns: Mapping[str, str] = _NONE,
        *,
        ignored_columns: Collection[str] = (),
        skip_bad: bool = False,
        existing: Existing = "replace",
    ) -> Imported:
        """Create a question set from a file, or do with one of that name what ``existing`` says.

        "replace" keeps what was there as a version of the set, "add" leaves it as it is and adds to
        it, "refuse" raises AlreadyExists (see ``QuestionSets.save``). The file's name tells its
        form: ``.csv``, ``.tsv`` and ``.xlsx`` are tables, ``columns`` naming those whose header is
        another word, and other columns must be ignored or empty; ``.txt`` is a list with a question
        a line, ``.zip`` BEIR, all else JSONL. ``.qrels``, and ``.txt`` in their form, are TREC
        judgements for a set that is there. Bad lines are left out with ``skip_bad``; else nothing
        is imported. Raises InvalidFile, which names all bad lines, UnreadableDocument, and NotFound
        for judgements without a set.
        """
        packed = content.encode() if isinstance(content, str) else content
        if self.holds_judgements(file_name, packed):
            notes = ReadingNotes(skip_bad=skip_bad)
            judgements = trec.read_qrels(file_name, files.decoded(file_name, packed), notes)
            return Imported(self._sets().add_judgements(set_name, judgements), notes.skipped)
        parsed = questions_in(
            file_name, packed, split, columns, ignored=ignored_columns, skip_bad=skip_bad
        )
        return self._save(set_name, parsed, existing)

    @operation("viewer")
    def holds_judgements(self, file_name: str, content: bytes) -> bool:
        """Whether a file is TREC judgements: by its name, or a list by its first line."""
        name = file_name.lower()
        first = content[:_LOOKED_AT].lstrip().partition(b"\n")[0]
        listed = not first or _JUDGEMENT.fullmatch(first) is not None
        return name.endswith(".qrels") or (name.endswith(".txt") and listed)

    @operation("viewer")
    def table(self, file_name: str, content: bytes) -> QuestionTable | None:
        """The columns and first rows of a table of questions; None for files of other forms.

        Raises InvalidFile, UnreadableDocument.
        """
        return table_in(file_name, content)

    @operation(SERVER)
    def import_folder(
        self,
        set_name: str,
        folder: Path,
        split: str | None = None,
        *,
        skip_bad: bool = False,
        existing: Existing = "replace",
    ) -> Imported:
        """Create a question set from a BEIR folder; ``existing`` as in ``import_file``.

        ``split`` names the qrels; None takes ``test``, or the only ones. Bad lines are left out
        with ``skip_bad``. Raises InvalidFile.
        """
        notes = ReadingNotes(skip_bad=skip_bad)
        questions = beir.read_questions(folder, split, notes)
        return self._save(set_name, QuestionFile(tuple(questions), notes.skipped), existing)

    def _save(self, set_name: str, parsed: QuestionFile, existing: Existing) -> Imported:
        if not parsed.questions:
            raise InvalidFile("The file has no question with a judgement.", "Nothing is imported.")
        replaced = self._sets().save(set_name, parsed.questions, existing)
        return Imported(
            len(parsed.questions),
            parsed.skipped,
            parsed.unused,
            replaced,
            self._repeated(parsed),
            sum(item.answerable and not item.labels for item in parsed.questions),
        )

    def _repeated(self, parsed: QuestionFile) -> tuple[str, ...]:
        with self._database.read() as connection:
            anchors = Anchors(connection, self._base_id)
            places = (
                (item.id, label, anchors.occurrences(label))
                for item in parsed.questions
                for label in item.labels
            )
            return tuple(
                f"{question}: “{shorten(label.quote, _LONGEST_SHOWN, placeholder='…')}” is in "
                f"{count} places of {label.document}. The label is on one of them. Add more words, "
                "or the page."
                for question, label, count in places
                if count > 1
            )

    @operation("viewer", audit="export", audited_arguments=ALL)
    def export_text(self, set_name: str, form: TextForm) -> str:
        """A question set as the text of a file, which ``import_file`` reads back.

        ``qrels`` has judgements by document only. Raises NotFound.
        """
        questions = self._sets().export(set_name)
        if form == "qrels":
            return trec.write_qrels({item.id: beir.document_grades(item) for item in questions})
        return (files.to_csv if form == "csv" else files.to_jsonl)(questions)

    @operation("viewer", audit="export", audited_arguments=ALL)
    def export_beir(
        self, set_name: str, *, split: str = "test", with_documents: bool = False
    ) -> bytes:
        """A question set, with documents if wanted, as a zip in BEIR's layout. Raises NotFound."""
        questions = self._sets().export(set_name)
        with self._database.read() as connection:
            documents = self._documents(connection) if with_documents else ()
            return beir.write_zip(questions, split, documents)

    def _documents(self, connection: Connection) -> Iterator[Document]:
        for row in documents.list_documents(connection, self._base_id):
            yield documents.get(connection, self._base_id, row.id)

    @operation("viewer", audit="export", audited_arguments=ALL)
    def export_run(self, run_id: str) -> str:
        """The rankings of a run as a TREC run file. Raises NotFound."""
        with self._database.read() as connection:
            run = runs.get(connection, self._base_id, run_id)
            results = runs.results(connection, run.id)
            ids = {key for item in results for key, _, _ in item.ranking}
            names = documents.names(connection, self._base_id, sorted(ids))  # passages have none
        rankings = {
            item.question_id: [(names.get(key, key), score) for key, score, _ in item.ranking]
            for item in results
        }
        return trec.write_run(rankings, f"touchstone-{run.source_hash}")

    @operation("viewer", audit="export", audited_arguments=ALL)
    def export_run_qrels(self, run_id: str) -> str:
        """The present labels in the ids that a run ranks: documents by name, or passages by id.

        With ``export_run`` this lets any tool repeat the figures. Raises NotFound.
        """
        with self._database.read() as connection:
            run = runs.get(connection, self._base_id, run_id)
            question_set = rows.get_question_set(connection, self._base_id, run.question_set)
            ranked = {item.question_id for item in runs.results(connection, run.id)}
            usable = rows.usable(connection, self._base_id, question_set.id)
            questions = [item for item in usable if item.id in ranked]
            judged = {evidence.document_id for item in questions for evidence in item.evidence}
            names = documents.names(connection, self._base_id, sorted(judged))
            cut_id = builds.cut_id(connection, self._base_id, run.cut)
            spans = passages.spans(connection, self._base_id, cut_id, sorted(judged))
        return trec.write_qrels({item.id: _grades(item, names, spans) for item in questions})


def _grades(
    question: Question,
    names: Mapping[str, str],
    spans: Mapping[str, Sequence[tuple[int, int, int]]],
) -> dict[str, int]:
    if judged_by_document(question):
        return {
            names.get(key, key.removeprefix(LOST)): grade
            for key, grade in best_grades(question).items()
        }
    document_ids = {evidence.document_id for evidence in question.evidence}
    cut = [(key, name, a, b) for name in document_ids for key, a, b in spans.get(name, ())]
    judged = dict.fromkeys(sorted(judged_passages(question, cut)), 0)
    misleading = dict.fromkeys(misleading_chunks(question.evidence, cut), MISLEADING)
    grades = judged | misleading | relevant_chunks(question.evidence, cut)
    lost = {
        f"{evidence.document_id}:{evidence.start}": evidence.grade
        for evidence in question.evidence
        if evidence.lost
    }
    return {f"{key:016x}": grade for key, grade in grades.items()} | lost
