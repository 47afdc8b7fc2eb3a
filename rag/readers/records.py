"""JSON and JSON Lines: a record is a paragraph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape

from rag.errors import UnreadableDocument
from rag.input_rules import why_not_json
from rag.readers.characters import lines_of
from rag.readers.content import Composer, Content, Source
from rag.readers.text import load

_TITLES = ("title", "name", "heading")
_BODIES = ("text", "content", "body")
_TICK_EVERY = 1000


def read_json(source: Source) -> Content:
    """A list (also one under a single key) gives a paragraph per item, an object a line per value.

    Raises UnreadableDocument (``damaged``) with the line of the first fault.
    """
    text, metadata = load(source)
    value = parse_json(text) if text.strip() else []
    if isinstance(value, dict) and len(value) == 1:
        only = next(iter(value.values()))
        value = only if isinstance(only, list) else value
    records = value if isinstance(value, list) else [value]
    return _compose(iter(records), len(records), metadata, source)


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
        raise UnreadableDocument(
            f"The file is damaged: line {lines_before + error.lineno} is not JSON ({error.msg}).",
            "Correct the line, or save the file as .txt to read it as it is.",
            reason="damaged",
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
    composer = Composer()
    for done, record in enumerate(records):
        if done % _TICK_EVERY == 0:
            source.tick(done, total)
        _add(composer, record)
    source.tick(total, total)
    return composer.content(**metadata)


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
    """``path.to.key: value`` per leaf; a list of plain values is one line."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value, start=1):
            yield from _flatten(item, f"{path}[{number}]")
    else:
        words = ", ".join(map(_plain, value)) if isinstance(value, list) else _plain(value)
        if words:
            yield f"{path}: {words}" if path else words


def _plain(value: object) -> str:
    if value is None:
        return ""
    return unescape(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
