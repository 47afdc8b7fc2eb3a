"""Jupyter notebooks: their cells as Markdown, code in fences, and what the code printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rag.readers.content import Composer, Content, Source
from rag.readers.failures import damaged
from rag.readers.markdown import code_fence
from rag.readers.records import parse_json
from rag.readers.text import load, markdown

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
        _add(composer, cell, f"cell {number}")
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


def _add(composer: Composer, cell: Mapping[str, Any], place: str) -> None:
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
