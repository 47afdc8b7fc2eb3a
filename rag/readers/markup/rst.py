"""A file of reStructuredText as the web page that docutils makes of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.parsers.rst import Parser

from rag.readers.content import Content, Source
from rag.readers.html.reader import body_content
from rag.readers.markup.rst_directives import (
    labelled,
    left_out,
    refused_words,
    register_unknown,
    salvaged,
    tolerant_inliner,
)
from rag.readers.text import load
from rag.types import Omission

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "doctitle_xform": False,  # the first section stays a section
    "docinfo_xform": False,
    "sectsubtitle_xform": False,
    "syntax_highlight": "none",
    "line_length_limit": sys.maxsize,
    "report_level": 5,  # more than any message has
    "halt_level": 5,
    "output_encoding": "unicode",
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "math_output": "LaTeX",
    "initial_header_level": 1,
}
_TICK_EVERY = 200


def read_rst(source: Source) -> Content:
    """The text with headings, lists, tables and code. One that docutils cannot parse is plain."""
    text, metadata = load(source)
    lines = text.count("\n") + 1
    page = _page(text, _watched(source, lines))
    source.tick(lines, lines)
    content = body_content(page, metadata, tags_tell=True)
    if not content.text:  # nothing but comments and settings
        content = Content(text, metadata=metadata)
    arguments: dict[str, list[str]] = {}
    for kind, argument in left_out(text):
        arguments.setdefault(kind, []).append(argument)
    omissions = (Omission(kind, len(own), own[0]) for kind, own in arguments.items())
    return replace(content, left_out=(*content.left_out, *omissions))


def _page(text: str, tick: Callable[[int], None]) -> str:
    """The HTML of docutils; "" where the text breaks it."""
    register_unknown(text)
    parser = Parser(inliner=tolerant_inliner(tick))
    try:
        document = publish_doctree(text, parser=parser, settings_overrides=_SETTINGS)
        _mend(document)
        return str(publish_from_doctree(document, writer="html5", settings_overrides=_SETTINGS))
    except MemoryError:
        raise
    except Exception:  # such as too deep nesting: text without its structure is better than none
        return ""


def _mend(document: Any) -> None:
    """Put words in place of what docutils refused, of images, and of the looks of labels."""
    for node in list(document.findall(nodes.problematic)):
        _replace(node, nodes.Text(refused_words(node.astext())))
    for message in list(document.findall(nodes.system_message)):
        _replace(message, *(nodes.paragraph("", line) for line in salvaged(message)))
    for topic in list(document.findall(nodes.topic)):
        if "contents" in topic["classes"]:
            _replace(topic)
    for image in list(document.findall(nodes.image)):
        _replace(image, nodes.inline("", image.get("alt", "")))
    for reference in list(document.findall(nodes.footnote_reference)):
        _replace(reference, nodes.Text(f"[^{reference.astext()}]"))
    for field in list(document.findall(nodes.field)):
        if not field[-1].astext().strip():  # ":orphan:" is for the program that makes the pages
            field.parent.remove(field)
    for block in list(document.findall(nodes.Element)):
        if isinstance(block, nodes.footnote | nodes.Admonition):
            heads = nodes.label | nodes.title
            label = next((child.astext() for child in block if isinstance(child, heads)), "")
            words = [child for child in block if not isinstance(child, heads)]
            is_note = isinstance(block, nodes.footnote)
            label = f"[^{label}]" if is_note else label or block.tagname.capitalize()
            _replace(block, labelled(nodes.container("", *words), label))


def _replace(node: Any, *others: Any) -> None:
    """Put others in the place of a node, which takes its ids with it: nothing leads here."""
    at = node.parent.index(node)
    node.parent[at : at + 1] = others


def _watched(source: Source, lines: int) -> Callable[[int], None]:
    calls, last = 0, 0

    def tick(number: int) -> None:
        nonlocal calls, last
        calls, last = calls + 1, max(last, min(number or 0, lines))
        if calls % _TICK_EVERY == 0:
            source.tick(last, lines)

    return tick
