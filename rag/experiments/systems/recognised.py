"""Results of tools that declare no form: where their lists, texts, titles and scores are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rag.experiments.systems.formats.shapes import LISTS, LONGEST_TEXT, TEXTS, TITLES
from rag.experiments.systems.returned import ReturnedText
from rag.input_rules import storable
from rag.providers.http_tools.results import number_of

_TITLES = (*TITLES, "path", "url")
_IDS = ("id", "chunk_id", "document_id", "path", "url")
_SCORES = ("score", "relevance_score")
_LONGEST_NAME = 500
_LINK = re.compile(r"\[([^\]\n]{1,300})\]\(([^)\s]{1,1000})\)")
_ITEM = re.compile(r"^(?:#{1,6} |\d{1,3}[.)] |[-*] (?=\[|\*\*)|---+\s*$)", re.MULTILINE)


def recognised(content: Any) -> list[ReturnedText]:
    """Return the results in the content of a tool, in their order; a text is one result."""
    if isinstance(content, list) and all(isinstance(part, str) for part in content):
        parts = [_parsed(part) for part in content]
        content = parts[0] if len(parts) == 1 else parts
    if isinstance(content, str):
        return _of_markdown(content)
    items = _list_in(content)
    if items is None:
        items = [content] if isinstance(content, dict) and _text(content) else []
    results = []
    for item in items:
        if isinstance(item, str):
            results += _of_markdown(item)
        elif isinstance(item, dict):
            results.append(_of_object(item))
    return results


def whole_text(content: Any) -> str:
    """Return the text of a document in the content of a tool."""
    if isinstance(content, list) and all(isinstance(part, str) for part in content):
        text = "\n".join(content)
        content = _parsed(text)
    if isinstance(content, dict) and isinstance(content.get("result"), str):
        content = content["result"]
    if isinstance(content, str):
        return storable(content).strip()
    return "\n".join(result.text for result in recognised(content))


def _parsed(text: str) -> Any:
    """JSON in a text, or the text."""
    with_brackets = text.lstrip()[:1] in ("{", "[")
    try:
        return json.loads(text) if with_brackets else text
    except (ValueError, RecursionError):
        return text


def _list_in(content: Any) -> list[Any] | None:
    """Return the list of results: the content itself, by a usual name, or the only list."""
    if isinstance(content, list):
        return content
    if not isinstance(content, dict):
        return None
    for name in LISTS:
        if isinstance(content.get(name), list):
            return list(content[name])
    lists = [value for value in content.values() if isinstance(value, list) and value]
    if len(lists) == 1:
        return list(lists[0])
    inner = [value for value in content.values() if isinstance(value, dict | str)]
    if len(inner) == 1:
        value = _parsed(inner[0]) if isinstance(inner[0], str) else inner[0]
        if isinstance(value, str):
            return [value]
        return _list_in(value)
    return None


def _of_object(item: Mapping[str, Any]) -> ReturnedText:
    inner = item.get("document") or item.get("metadata")
    if isinstance(inner, dict):
        item = {**inner, **item}
    scores = (number_of(item.get(name)) for name in _SCORES)
    return ReturnedText(
        text=_text(item)[:LONGEST_TEXT],
        score=next((score for score in scores if score is not None), None),
        id=_first(item, _IDS)[:_LONGEST_NAME],
        title=_first(item, _TITLES)[:_LONGEST_NAME],
    )


def _text(item: Mapping[str, Any]) -> str:
    """Return what has a usual name of a text, or the longest one that no other field is named by.

    The results of 13 public search tools have a text by it, and 11 by names alone.
    """
    rest = [
        value
        for name, value in item.items()
        if isinstance(value, str) and " " in value.strip() and name not in (*_TITLES, *_IDS)
    ]
    return _first(item, TEXTS) or storable(max(rest, key=len, default="")).strip()


def _first(item: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = item.get(name)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = "\n".join(value)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return storable(str(value)).strip()
    return ""


def _of_markdown(text: str) -> list[ReturnedText]:
    """Return the items of a Markdown list, or sections; the whole text where there are none."""
    marks = [(match.start(), _kind(match[0])) for match in _ITEM.finditer(text)]
    # Texts have headings and lists of their own: those of the results are like the first.
    starts = [start for start, kind in marks if kind == marks[0][1]]
    blocks = [text[start:end] for start, end in zip(starts, [*starts[1:], None], strict=False)]
    results = list(_of_blocks(blocks or [text]))
    return results or list(_of_blocks([text]))


def _kind(mark: str) -> str:
    """Return the kind of a mark that begins an item: its level or sign, whatever its number."""
    return "1" if mark[0].isdigit() else mark.strip()


def _of_blocks(blocks: list[str]) -> Iterator[ReturnedText]:
    for block in blocks:
        head, _, rest = block.strip().strip("-").strip().partition("\n")
        link = _LINK.search(block)
        title = link.group(1) if link else _ITEM.sub("", head, count=1).strip("*# ")
        text = storable(rest.strip() or ("" if link else head)).strip()
        if text or link:
            yield ReturnedText(
                text=text[:LONGEST_TEXT],
                id=link.group(2)[:_LONGEST_NAME] if link else "",
                title=storable(title)[:_LONGEST_NAME],
            )
