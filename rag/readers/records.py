"""JSON, JSON Lines, YAML and TOML: short records are the rows of a table, others paragraphs.

The cells of Jupyter notebooks are Markdown, their code in fences with what it printed.
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from typing import Any

from rag.errors import UnreadableDocument
from rag.input_rules import why_not_json
from rag.readers.characters import lines_of
from rag.readers.content import Composer, Content, Source, damaged
from rag.readers.markdown import code_fence
from rag.readers.tables import grid
from rag.readers.text import load, markdown, read_code

_TITLES = ("title", "name", "heading")
_BODIES = ("text", "content", "body")
_TICK_EVERY = 1000
_FIELDS = range(2, 33)  # of a record that is a row
_LONGEST_VALUE = 250  # characters in such a field
_DEEPEST = 2  # dots in the name of a setting beside tables
_MOST_GROWTH = 10  # values by characters, as aliases repeat them
_COMMENT = re.compile(r"(?:^[ \t]*+|(?<=[ \t]))#+[ \t]*+(.*)$", re.MULTILINE)
"""A comment; also what looks like one in a quoted value, which is then named in vain."""


def read_json(source: Source) -> Content:
    """A list (also one under a single key) gives a row or paragraph per item, an object a line per
    value, and a table for each list of short records.

    Raises UnreadableDocument (``damaged``) with the line of the first fault.
    """
    text, metadata = load(source)
    value = parse_json(text) if text.strip() else []
    composer = Composer()
    if _tables(value):
        _add_tables(composer, value)
        return composer.content(**metadata)
    if isinstance(value, dict) and len(value) == 1:
        only = next(iter(value.values()))
        value = only if isinstance(only, list) else value
    records = value if isinstance(value, list) else [value]
    return _compose(iter(records), len(records), metadata, source)


def read_yaml(source: Source) -> Content:
    """Lists of short records as tables, anything else as code, as it is with its comments."""
    import yaml

    text, metadata = load(source)
    # Scalars stay words as they are written: 9.50 and no. Aliases could grow without bounds.
    budget = iter(range(_MOST_GROWTH * len(text)))

    def value_of(node: yaml.Node) -> object:
        next(budget)
        if isinstance(node, yaml.SequenceNode):
            return [value_of(inner) for inner in node.value]
        if not isinstance(node, yaml.MappingNode):
            return node.value
        pairs = [(str(key.value), value_of(inner)) for key, inner in node.value]
        merged = [one for key, inner in pairs if key == "<<" for one in _inside(inner)]
        layers = [*(one for one in reversed(merged) if isinstance(one, dict)), dict(pairs)]
        return {key: inner for layer in layers for key, inner in layer.items() if key != "<<"}

    try:
        node = yaml.compose(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
        value = None if node is None else value_of(node)
    except (yaml.YAMLError, RecursionError, StopIteration):
        value = None
    return _settings(value, text, metadata, source)


def read_toml(source: Source) -> Content:
    """Lists of short records as tables, anything else as code, as it is with its comments."""
    text, metadata = load(source)
    try:
        value = tomllib.loads(text, parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError):
        value = {}
    return _settings(value, text, metadata, source)


def _settings(value: object, text: str, metadata: dict[str, str], source: Source) -> Content:
    tables, composer = _tables(value), Composer()
    fields = value.items() if isinstance(value, dict) else ()
    rest = {key: one for key, one in fields if key not in tables}
    if not tables or any(
        name.count(".") > _DEEPEST or "[" in name for name, _ in _leaves(rest, "")
    ):
        return read_code(source)
    above, comments = text.lstrip()[:1] == "#", _COMMENT.findall(text)
    top = list(itertools.takewhile(_COMMENT.match, text.strip().split("\n"))) if above else []
    composer.block("\n".join(_COMMENT.sub(r"\1", line) for line in top))
    for comment in comments[len(top) :]:
        composer.leave_out("comment", comment)
    _add_tables(composer, value)
    return composer.content(**metadata)


def _inside(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def read_jsonl(source: Source) -> Content:
    """One record per line. Raises UnreadableDocument (``damaged``) with the line of the fault."""
    text, metadata = load(source)
    rows = enumerate(lines_of(text))
    records = (parse_json(row.strip(), number) for number, row in rows if row.strip())
    return _compose(records, text.count("\n") + 1, metadata, source)


def parse_json(text: str, lines_before: int = 0) -> object:
    """A value in JSON. Raises UnreadableDocument (``damaged``) with the line of the fault."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise damaged(
            f"line {lines_before + error.lineno} is not JSON ({error.msg})",
            "Correct the line, or save the file as .txt to read it as it is.",
        ) from error
    except (RecursionError, ValueError) as error:  # too deep; a number of too many digits
        raise UnreadableDocument(
            f"The file cannot be read as JSON: {why_not_json(error)}.",
            "Save the file as .txt to read it as it is.",
            reason="damaged",
        ) from error


def _compose(
    records: Iterator[object], total: int, metadata: dict[str, str], source: Source
) -> Content:
    composer, done = Composer(), 0
    while part := list(itertools.islice(records, _TICK_EVERY)):
        source.tick(done, total)
        for is_row, run in itertools.groupby(part, _is_row):
            _add_run(composer, list(run), is_row=is_row)
        done += len(part)
    source.tick(total, total)
    return composer.content(**metadata)


def _tables(value: object) -> dict[str, list[object]]:
    """The lists of short records in an object by their keys, or the list itself under ""."""
    lists = value if isinstance(value, dict) else {"": value}
    return {
        key: one
        for key, one in lists.items()
        if isinstance(one, list) and len(one) > 1 and all(map(_is_row, one))
    }


def _add_tables(composer: Composer, value: object) -> None:
    """Add the lists of short records in a value as tables, below what else it has."""
    tables = _tables(value)
    if isinstance(value, dict):
        _add(composer, {key: one for key, one in value.items() if key not in tables})
    for key, records in tables.items():
        composer.block(key)
        _add_run(composer, records, is_row=True, title=key)


def _is_row(record: object) -> bool:
    if not isinstance(record, dict) or _first(record, _BODIES):
        return False
    leaves = list(itertools.islice(_leaves(record, ""), _FIELDS.stop))
    return len(leaves) in _FIELDS and all(
        len(words) <= _LONGEST_VALUE and "\n" not in words for _, words in leaves
    )


def _add_run(
    composer: Composer, records: Sequence[object], *, is_row: bool, title: str = ""
) -> None:
    """Add records, several short ones as a table with a column for each name of a field."""
    rows = [dict(_leaves(record, "")) for record in records] if is_row else []
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(rows) < 2 or len(names) not in _FIELDS:
        for record in records:
            _add(composer, record)
        return
    cells = ([row.get(name, "") for name in names] for row in rows)
    composer.table(grid([names, *cells], 1), "\n" if title else "\n\n", title)


def _add(composer: Composer, record: object) -> None:
    """A title becomes a heading; the body follows, then a line for each other field.

    ``_id`` is how a database names the record.
    """
    if not isinstance(record, dict):
        composer.block("\n".join(_flatten(record, "")))
        return
    title, body = _first(record, _TITLES), _first(record, _BODIES)
    if title:
        composer.heading(1, unescape(record[title]))
    if body:
        composer.block(unescape(record[body]), "\n" if title else "\n\n")
    told = {title, body, "_id"}
    rest = {key: value for key, value in record.items() if key not in told}
    composer.block("\n".join(_flatten(rest, "")), "\n" if title or body else "\n\n")


def _first(record: dict[str, object], names: tuple[str, ...]) -> str | None:
    """The first of ``names``, in any case, under which a text stands."""
    values = {
        key.casefold(): key
        for key, value in record.items()
        if isinstance(value, str) and value.strip()
    }
    return next((values[name] for name in names if name in values), None)


def _flatten(value: object, path: str) -> Iterator[str]:
    """``path.to.key: value`` per leaf."""
    for name, words in _leaves(value, path):
        yield f"{name}: {words}" if name else words


def _leaves(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Each path with its value; a list of plain values is one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value, start=1):
            yield from _leaves(item, f"{path}[{number}]")
    else:
        words = ", ".join(map(_plain, value)) if isinstance(value, list) else _plain(value)
        if words:
            yield path, words


def _plain(value: object) -> str:
    if value is None:
        return ""
    return (
        unescape(value)
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, default=str)
    )


_OBJECT = re.compile(r"\[?(?:<[^<>]*>[\s,]*+)++\]?")
"""What stands in place of what a browser shows."""


def read_notebook(source: Source) -> Content:
    """Markdown cells as they are, code and its outputs that are text as blocks of code.

    Left out, and counted: pictures, other outputs without a text, and errors.
    """
    text, metadata = load(source)
    if not text.strip():
        return Content("")
    cells = _cells(parse_json(text))
    if cells is None:
        raise damaged("a notebook has a list of cells, which is missing")
    composer = Composer()
    for number, cell in enumerate(cells, 1):
        _add_cell(composer, cell, f"cell {number}")
    written = composer.content()
    content = markdown(written.text, metadata)
    return replace(content, left_out=(*content.left_out, *written.left_out))


def _cells(notebook: object) -> list[Mapping[str, Any]] | None:
    """The cells of a notebook, in an old one those of its sheets; None if it is no notebook."""
    if not isinstance(notebook, dict):
        return None
    sheets = notebook.get("worksheets")
    parts = [notebook, *(sheets if isinstance(sheets, list) else ())]
    named = [part.get("cells") for part in parts if isinstance(part, dict)]
    listed = [cells for cells in named if isinstance(cells, list)]
    return [cell for part in listed for cell in part if isinstance(cell, dict)] if listed else None


def _add_cell(composer: Composer, cell: Mapping[str, Any], place: str) -> None:
    """Write a cell and its outputs."""
    written = _joined(cell.get("source") or cell.get("input"))
    composer.leave_out("picture", place, len(cell.get("attachments") or ()))
    if cell.get("cell_type") != "code":
        level = cell.get("level") if cell.get("cell_type") == "heading" else 0
        composer.block(f"{'#' * level} {written}" if isinstance(level, int) and level else written)
        return
    composer.block(_code(written))
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        data = output.get("data") or output if isinstance(output, dict) else {}
        text = _joined(data.get("text") or data.get("text/plain"))
        is_picture = any(
            kind.startswith(("image/", "png", "jpeg", "svg")) for kind in map(str, data)
        )
        composer.leave_out("picture", place, int(is_picture))
        if "ename" in data:
            composer.leave_out("error_output", place)
        elif text.strip() and not _OBJECT.fullmatch(text.strip()):
            composer.block(_code(text))
        elif not is_picture:
            composer.leave_out("output", place)


def _code(text: str) -> str:
    fence, code = code_fence(text), text.strip("\n")
    return f"{fence}\n{code}\n{fence}" if code.strip() else ""


def _joined(lines: object) -> str:
    """A text, which may be a list of its lines, with or without the signs that end them."""
    if isinstance(lines, list):
        return "\n".join(str(line).removesuffix("\n") for line in lines)
    return str(lines or "")
