"""Files of other tools, read as the results that a system returned.

A file is JSONL, a JSON array, CSV or Parquet with one retrieval a row, or a TREC run. Its form is
recognised by its first row, or named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from rag.errors import InvalidFile, InvalidInput
from rag.evaluation.formats.fields import ReadingNotes
from rag.evaluation.formats.question_files import decoded
from rag.experiments.systems.formats import shapes, tables
from rag.experiments.systems.formats.tables import Returned, Row, rows_of

Form = Literal["trec", "ragas", "deepeval", "langfuse", "langsmith", "phoenix", "paths"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, slots=True)
class ReturnedFile:
    """The retrievals of a file.

    ``skipped`` describes bad rows that were left out. ``warnings`` describe what may surprise.
    ``complete`` is set where the file says that its system was asked every question.
    """

    form: Form
    retrievals: tuple[Returned, ...]
    skipped: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    complete: bool = False


def read_returned(
    name: str,
    content: bytes,
    form: Form | None = None,
    paths: shapes.Paths | None = None,
    *,
    skip_bad: bool = False,
) -> ReturnedFile:
    """Read the retrievals of a file.

    ``paths`` are JMESPath expressions for rows of any other shape; they imply the form "paths".
    Rows that are no retrievals, such as spans of models among traces, are left out. Raises
    InvalidFile, which names all bad rows, unless ``skip_bad``.
    """
    if form is not None and form not in FORMS:
        raise InvalidInput(f"No form of files is called {form!r}.", f"Use {', '.join(FORMS)}.")
    notes = ReadingNotes(skip_bad=skip_bad)
    if form == "trec" or (form is None and paths is None and tables.is_run(content)):
        rankings, warnings = tables.read_run(name, decoded(name, content), notes)
        notes.check()
        complete = tables.is_complete(content)
        return _file(name, "trec", rankings, notes, warnings, complete=complete)
    rows = list(rows_of(name, content, notes, any_shape=paths is not None))
    if not rows:
        notes.check()
    form = "paths" if paths else form or _recognised(name, rows)
    shape = shapes.of_paths(paths) if paths else _shape(form)
    retrievals = list(_retrievals(rows, shape, notes))
    notes.check()
    requests = shapes.requests_of(rows)
    # Number the retrievals of a trace in the order in which they began
    order = sorted(range(len(retrievals)), key=lambda place: (retrievals[place][0], place))
    begun, numbered = Counter[str](), dict[int, Returned]()
    for place in order:
        item = retrievals[place][1]
        request = requests.get(item.trace, "")
        numbered[place] = (
            replace(item, hop=begun[item.trace], request=request) if item.trace else item
        )
        begun[item.trace] += 1
    return _file(name, form, [numbered[place] for place in range(len(retrievals))], notes)


def _shape(form: Form) -> shapes.Shape:
    if form not in shapes.SHAPES:
        raise InvalidInput(
            "The form “paths” needs the paths of the question and of its texts.",
            "Give them as JMESPath expressions.",
        )
    return shapes.SHAPES[form]


def _recognised(name: str, rows: Sequence[Row]) -> Form:
    for form in FORMS:
        if form in shapes.SHAPES and any(shapes.fits(form, row.values) for row in rows[:100]):
            return form
    first = ", ".join(list(rows[0].values)[:8]) if rows else "none"
    raise InvalidFile(
        f"{name} has no form that is recognised. Its first fields are: {first}.",
        f"Name its form ({', '.join(FORMS)}), or the paths of the question and of its texts.",
    )


def _retrievals(
    rows: Sequence[Row], shape: shapes.Shape, notes: ReadingNotes
) -> Iterator[tuple[str, Returned]]:
    """Generate retrievals with the time at which they began, "" where none is stated."""
    for row in rows:
        with notes.line():
            if retrieval := shape(row):
                yield retrieval


def _file(
    name: str,
    form: Form,
    retrievals: Sequence[Returned],
    notes: ReadingNotes,
    warnings: Sequence[str] = (),
    *,
    complete: bool = False,
) -> ReturnedFile:
    if not retrievals and not complete:
        raise InvalidFile(f"{name} has no retrieval.", "Each needs a question and its results.")
    return ReturnedFile(form, tuple(retrievals), notes.skipped, tuple(warnings), complete)
