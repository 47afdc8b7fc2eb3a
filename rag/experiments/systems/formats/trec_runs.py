"""TREC run files as retrievals: ids of documents, without texts."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from urllib.parse import unquote

from rag.errors import InvalidFile
from rag.evaluation.formats.fields import ReadingNotes, check_storable, lines
from rag.evaluation.formats.trec import COMPLETE
from rag.experiments.systems.returned import Returned, ReturnedText

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_LINE = re.compile(rf"\s*(\S+)\s+\S+\s+(\S+)\s+(-?\d+)\s+({_NUMBER})\s+\S+\s*")
_LOOKED_AT = 4096  # bytes

_Line = tuple[str, int, float]


def is_run(content: bytes) -> bool:
    """Whether the first line of a file is one of a TREC run."""
    first = content[:_LOOKED_AT].decode("utf-8-sig", "replace").lstrip().partition("\n")[0]
    return _LINE.fullmatch(first) is not None


def is_complete(content: bytes) -> bool:
    """Whether a run file says that its missing questions were asked, without results."""
    return any(line.startswith(COMPLETE.encode()) for line in content.splitlines())


def read_run(name: str, content: str, notes: ReadingNotes) -> tuple[list[Returned], list[str]]:
    """Read rankings in the order that trec_eval evaluates, and warnings.

    trec_eval sorts by score, equal ones by id in descending order, and ignores ranks. The names of
    questions and documents are those of the file, with %20 read as a space.
    """
    rankings: dict[str, list[_Line]] = {}
    for number, line in lines(content):
        if line.startswith(COMPLETE):
            continue
        with notes.line():
            question, item = _parsed(f"{name}, line {number}", line)
            rankings.setdefault(question, []).append(item)
    otherwise = [question for question, items in rankings.items() if not _by_rank(items)]
    warnings = [_disagreement(otherwise, len(rankings))] if otherwise else []
    return [
        Returned("", _texts(items), question_id=question) for question, items in rankings.items()
    ], warnings


def _parsed(place: str, line: str) -> tuple[str, _Line]:
    check_storable(line, place)
    match = _LINE.fullmatch(line)
    if match is None or not math.isfinite(float(match[4])):
        raise InvalidFile(
            f"{place}: expected question, Q0, document, rank, score and the name of the run.",
            'Like "q1 Q0 handbook.pdf 1 0.73 bm25".',
        )
    return unquote(match[1]), (unquote(match[2]), int(match[3][:12]), float(match[4]))


def _sorted(items: Sequence[_Line]) -> list[_Line]:
    return sorted(sorted(items, reverse=True), key=lambda item: -item[2])


def _by_rank(items: Sequence[_Line]) -> bool:
    """Whether ranks order these lines as their scores do."""
    ranks = [rank for _, rank, _ in _sorted(items)]
    return all(first < second for first, second in itertools.pairwise(ranks))


def _texts(items: Sequence[_Line]) -> tuple[ReturnedText, ...]:
    return tuple(ReturnedText("", score, id=name, title=name) for name, _, score in _sorted(items))


def _disagreement(questions: Sequence[str], number: int) -> str:
    return (
        f"The ranks of {len(questions):,} of {number:,} questions disagree with their scores, "
        f"first those of {questions[0][:60]}. The order is that of the scores, as in trec_eval."
    )
