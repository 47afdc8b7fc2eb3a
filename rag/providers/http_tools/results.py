"""The results in the answer of a tool. Whatever they say is data."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jmespath

from rag.errors import ProviderMisbehaved
from rag.providers.http_tools.definition import HttpTool

LONGEST_TEXT = 8_000  # characters of one result
LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class ToolResult:
    """``url`` is http or https or ""; ``score`` is the service's own, None where it gives none."""

    text: str
    title: str
    url: str
    score: float | None


def parse_results(tool: HttpTool, data: bytes) -> tuple[list[ToolResult], int]:
    """The first ``tool.most`` results, in the service's order, and how many had no text.

    What comes twice counts once.

    Raises ProviderMisbehaved for what is not JSON, or has nothing where the results should be.
    """
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _misbehaved(tool, "did not answer with JSON") from error
    values = _at(tool, tool.results or "@", answer)
    if isinstance(values, Mapping) and tool.results:
        values = [values]
    if not isinstance(values, list):
        where = f"at “{tool.results}”" if tool.results else "at its top"
        has = f"It has: {', '.join(map(str, answer))[:200]}." if isinstance(answer, dict) else ""
        raise _misbehaved(tool, f"answered without a list of results {where}", has)
    results = [_result(tool, item) for item in values[: tool.most]]
    with_text = [result for result in results if result.text]
    if results and not with_text:
        raise _misbehaved(tool, f"answered results that have no text at “{tool.text}”")
    distinct: dict[tuple[str, str, str], ToolResult] = {}
    for result in with_text:
        distinct.setdefault((result.url, result.title, result.text), result)
    return list(distinct.values()), len(results) - len(with_text)


def _result(tool: HttpTool, item: Any) -> ToolResult:
    url = _words(_at(tool, tool.link, item)).strip() if tool.link else ""
    title = " ".join(_words(_at(tool, tool.title, item)).split()) if tool.title else ""
    return ToolResult(
        text=_words(_at(tool, tool.text, item)).strip()[:LONGEST_TEXT],
        title=title[:LONGEST_TITLE],
        url=url if url.lower().startswith(("http://", "https://")) and len(url) <= 2000 else "",
        score=number_of(_at(tool, tool.score, item)) if tool.score else None,
    )


def _at(tool: HttpTool, path: str, data: Any) -> Any:
    try:
        return jmespath.search(path, data)
    except (jmespath.exceptions.JMESPathError, RecursionError) as error:
        raise _misbehaved(tool, f"answered what “{path}” cannot be applied to") from error


def _words(value: Any) -> str:
    """Text of a string, of a number, or of a list of strings; else ""."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_words, value)))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).replace("\0", "").encode("utf-8", "replace").decode()


def number_of(value: Any) -> float | None:
    """Return a finite number, also from its text; else None."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None


def _misbehaved(tool: HttpTool, what: str, more: str = "") -> ProviderMisbehaved:
    hint = "Test the tool, and compare its paths with the answer."
    return ProviderMisbehaved(f"The tool {tool.name} {what}.", f"{more} {hint}".strip())
