"""Lines of question files and data sets, and what the fields in them may hold."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rag.errors import InvalidFile
from rag.input_rules import find_fault, why_not_json

_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")
_LARGEST = 2**31 - 1  # what every database stores as an integer


_LIKELY = {
    "quote": "passage text snippet evidence context excerpt span words",
    "grade": "relevance rel score label rating judgement judgment",
    "document": "doc file source filename docid docno corpusid documentid url",
    "answer": "expectedanswer groundtruth reference gold",
    "tags": "topic category labels tag",
    "page": "pages pagenumber",
    "answerable": "isanswerable hasanswer beantwortbar",
}
_MEANT = {word: field for field, words in _LIKELY.items() for word in words.split()}


def likely_field(name: str, fields: Collection[str]) -> str:
    """The field that a name of another one probably means, of those that are free; "" for none."""
    word = "".join(letter for letter in name.casefold() if letter.isalnum())
    meant = _MEANT.get(word, "")
    if meant in fields:
        return meant
    return next(iter(difflib.get_close_matches(word, fields, 1, 0.7)), "")


def guesses(names: Sequence[str], fields: Collection[str]) -> str:
    """Return a sentence that suggests a field for each unknown name; "" if no field is similar."""
    pairs = [(name, likely_field(name, fields)) for name in names]
    sentences = [f"{_shown(name)} looks like {_shown(field)}" for name, field in pairs if field]
    return f"{', '.join(sentences)}. " if sentences else ""


class ReadingNotes:
    """Problems and unused columns collected while a file is read; ``skip_bad`` skips bad lines.

    ``skipped`` describes the problem of each bad line. ``unused`` names the columns that contain no
    known field.
    """

    def __init__(self, *, skip_bad: bool = False) -> None:
        self.unused: tuple[str, ...] = ()
        self._skip_bad = skip_bad
        self._problems: list[InvalidFile] = []

    @contextmanager
    def line(self) -> Iterator[None]:
        """Read one line: what is wrong with it is kept for ``check``."""
        try:
            yield
        except InvalidFile as problem:
            self._problems.append(problem)

    @property
    def skipped(self) -> tuple[str, ...]:
        return tuple(problem.message for problem in self._problems)

    def check(self) -> None:
        """Raise InvalidFile with all bad lines, unless they are to be left out."""
        if self._skip_bad or not self._problems:
            return
        if len(self._problems) == 1:
            raise self._problems[0]
        listed = "\n".join(f"- {problem}" for problem in self.skipped)
        hints = dict.fromkeys(problem.hint for problem in self._problems if problem.hint)
        raise InvalidFile(
            f"{len(self._problems)} lines cannot be read, and nothing was imported:\n{listed}\n",
            " ".join([*hints, "Correct them, or skip them."]),
        )


class GradesOnce:
    """The grades that a file has read so far: of what is graded twice, both grades must agree."""

    def __init__(self) -> None:
        self._grades: dict[tuple[Hashable, ...], tuple[int, str]] = {}

    def check(self, place: str, grade: int, document: str, *what: Hashable) -> None:
        """Raise InvalidFile where an earlier place grades ``what`` of a document otherwise."""
        earlier, where = self._grades.setdefault((document, *what), (grade, place))
        if earlier != grade:
            raise InvalidFile(
                f"{place}: {_shown(document)} has the grade {grade} here and {earlier} in {where}.",
                "Keep one of the two grades.",
            )


def check_keys(row: Mapping[str, Any], known_keys: Collection[str], place: str) -> None:
    """Raise InvalidFile for a key that means nothing here: it would be lost without a word."""
    unknown = [key for key in row if key not in known_keys]
    if unknown:
        listed = ", ".join(map(_shown, unknown))
        free = [key for key in known_keys if key not in row]
        raise InvalidFile(
            f"{place}: unknown {'key' if len(unknown) == 1 else 'keys'} {listed}.",
            f"{guesses(unknown, free)}Known keys are: {', '.join(known_keys)}.",
        )


def check_storable(value: Any, place: str) -> None:
    """Raise InvalidFile for text or a number that no door takes in."""
    if fault := find_fault(value):
        raise InvalidFile(f"{place}: {fault}.", "Correct it, or remove the line.")


def lines(content: str) -> Iterator[tuple[int, str]]:
    """(number, line) of every line with something on it.

    Only a line feed ends one: U+2028, U+2029 and U+0085, which ``str.splitlines`` splits at too,
    may stand inside a JSON string or a name.
    """
    for number, line in enumerate(content.removeprefix("\ufeff").split("\n"), start=1):
        if line.strip():
            yield number, line.removesuffix("\r")


def json_rows(
    content: str, notes: ReadingNotes, file: str = ""
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(place, object) of JSON lines, empty ones aside; bad ones go to ``notes``.

    The place is "Line 3", or "FILE, line 3" where a file is named.
    """
    for number, line in lines(content):
        place = f"{file}, line {number}" if file else f"Line {number}"
        row = None
        with notes.line():
            row = _object(place, line)
        if row is not None:
            yield place, row


def _object(place: str, line: str) -> Mapping[str, Any]:
    try:
        row = json_value(line)
    except ValueError as error:
        raise InvalidFile(
            f"{place} is not JSON: {error}.", "Write one JSON object a line."
        ) from error
    if not isinstance(row, dict):
        raise InvalidFile(f"{place} is not a JSON object.", 'Like {"text": "…"}.')
    check_storable(row, place)
    return row


def json_value(text: str | bytes) -> Any:
    """A JSON value. Raises ValueError."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(error.msg) from error
    except (RecursionError, ValueError) as error:
        raise ValueError(why_not_json(error)) from error


def whole_number(value: Any) -> int:
    """A whole number, given as one or as its digits. Raises ValueError."""
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST:
        raise ValueError(f"{_shown(value)} is not a whole number of usual size")
    return value


def truth(value: Any) -> bool:
    """A boolean, or a word for one (true, yes, 1, false, no, 0). Raises ValueError."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in _TRUTHS:
        raise ValueError(f"{_shown(value)} is neither true nor false")
    return _TRUTHS[word]


def span(start: Any, end: Any) -> tuple[int, int] | tuple[None, None]:
    """Offsets of the first character and of the one behind the last; both or none.

    Raises ValueError unless 0 <= start < end.
    """
    if start in (None, "") and end in (None, ""):
        return None, None
    if start in (None, "") or end in (None, ""):
        raise ValueError("start and end go together")
    first, last = whole_number(start), whole_number(end)
    if not 0 <= first < last:
        raise ValueError(f"a span from {first} to {last} is empty")
    return first, last


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else type(value).__name__
    if isinstance(value, float):
        text = f"{value:g}"
    return f"“{text[:40]}”"
