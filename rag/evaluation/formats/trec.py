"""Judgements and rankings as trec_eval and its relatives read them: qrels and run files.

Cells end at white space there, so white space and percent signs of names are written as in URLs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

import numpy as np

from rag.errors import InvalidFile
from rag.evaluation.formats.fields import (
    GradesOnce,
    ReadingNotes,
    check_storable,
    lines,
    whole_number,
)
from rag.evaluation.formats.question_files import FileLabel

COMPLETE = "# Q0 complete 0 0"
"""The beginning of the line of a run file whose missing questions were asked, without results."""
_CELL = re.compile(r"[^ \t\v\f\r]+")  # as C knows white space: a no-break space is none
_UNSAFE = re.compile(r"[\s%]")


def read_qrels(
    name: str, content: str, notes: ReadingNotes | None = None
) -> dict[str, tuple[FileLabel, ...]]:
    """Labels of whole documents by question id.

    Lines are ``question iteration document grade``; names are as they stand in the file. Raises
    InvalidFile, naming all bad lines, unless ``notes`` skip them.
    """
    notes = notes or ReadingNotes()
    qrels: dict[str, dict[str, FileLabel]] = {}
    grades = GradesOnce()
    for number, line in lines(content):
        with notes.line():
            check_storable(line, place := f"{name}, line {number}")
            question, label = _judgement(place, line)
            grades.check(place, label.grade, label.document, question)
            qrels.setdefault(question, {})[label.document] = label
    notes.check()
    if not qrels:
        raise InvalidFile(f"{name} has no judgement.", 'Lines are like "q1 0 handbook.pdf 2".')
    return {question: tuple(labels.values()) for question, labels in qrels.items()}


def _judgement(place: str, line: str) -> tuple[str, FileLabel]:
    try:
        question, _iteration, document, grade = _CELL.findall(line)
        return question, FileLabel(document, grade=whole_number(grade))
    except ValueError as error:
        raise InvalidFile(
            f"{place}: expected question, 0, document and a whole number.",
            'Like "q1 0 handbook.pdf 2".',
        ) from error


def write_qrels(grades: Mapping[str, Mapping[str, int]]) -> str:
    """Grades by question and document (or passage) as the text of a qrels file."""
    return "".join(
        f"{cell(question)} 0 {cell(item)} {grade}\n"
        for question, judged in grades.items()
        for item, grade in judged.items()
    )


def write_run(rankings: Mapping[str, Sequence[tuple[str, float]]], tag: str) -> str:
    """Rankings, (id, score) best first by question, as the text of a run file.

    Other tools sort by score, some in single precision, and break ties in their own ways. Scores
    are written so that they strictly fall there: equal ones are set apart by the least step. A run
    file has no line for a question without results: where there is one, the line ``COMPLETE`` says
    that it was asked. Other tools read that line as a question that no judgement names.
    """
    complete = f"{COMPLETE} {cell(tag)}\n" if not all(rankings.values()) else ""
    return complete + "".join(
        f"{cell(question)} Q0 {cell(name)} {rank} {score:.9g} {cell(tag)}\n"
        for question, ranking in rankings.items()
        for rank, (name, score) in enumerate(_falling(ranking), start=1)
    )


def _falling(ranking: Iterable[tuple[str, float]]) -> Iterable[tuple[str, float]]:
    last = np.float32(np.inf)
    for name, score in ranking:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        yield name, float(last)


def cell(name: str) -> str:
    """A name without white space."""
    return _UNSAFE.sub(lambda match: quote(match.group()), name)
