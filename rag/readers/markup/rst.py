"""A file of reStructuredText as Markdown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from docutils.core import publish_doctree
from docutils.parsers.rst import Parser

from rag.readers.content import Content, Source
from rag.readers.markup.rst_directives import register_unknown, tolerant_inliner
from rag.readers.markup.rst_writer import Writer
from rag.readers.text import load

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "doctitle_xform": False,  # the first section stays a section
    "docinfo_xform": False,
    "syntax_highlight": "none",
    "line_length_limit": sys.maxsize,
    "report_level": 5,  # more than any message has
    "halt_level": 5,
}
_TICK_EVERY = 200


def read_rst(source: Source) -> Content:
    """The text with headings, lists, tables and code as Markdown writes them.

    A file that docutils cannot parse is plain text.
    """
    text, encoding = load(source)
    lines = text.count("\n") + 1
    document = _parsed(text, _watched(source, lines))
    content = (
        Content(text, metadata={"encoding": encoding})
        if document is None
        else Writer().write(document, encoding=encoding)
    )
    source.tick(lines, lines)
    return content


def _parsed(text: str, tick: Callable[[int], None]) -> Any:
    """The tree of docutils; None where the text breaks it."""
    register_unknown(text)
    parser = Parser(inliner=tolerant_inliner(tick))
    try:
        return publish_doctree(text, parser=parser, settings_overrides=_SETTINGS)
    except MemoryError:
        raise
    except Exception:  # such as too deep nesting: text without its structure is better than none
        return None


def _watched(source: Source, lines: int) -> Callable[[int], None]:
    calls, last = 0, 0

    def tick(number: int) -> None:
        nonlocal calls, last
        calls, last = calls + 1, max(last, min(number or 0, lines))
        if calls % _TICK_EVERY == 0:
            source.tick(last, lines)

    return tick
