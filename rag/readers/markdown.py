"""Headings of Markdown, after the block rules of CommonMark (https://spec.commonmark.org/0.31.2/).

Only what decides about headings is followed: ATX and setext headings, fenced and indented code,
HTML comments, and YAML front matter (not CommonMark, but common).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.readers.characters import LINE
from rag.types import Heading

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_NOT_PARAGRAPH = re.compile(r" {0,3}(?:>|[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|<[!/?a-zA-Z]|\|)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|$)")
_COMMENT_END = "-->"


def headings(text: str) -> tuple[Heading, ...]:
    """ATX and setext headings of ``text`` by offset; ``start`` is where their line begins."""
    return tuple(_Scanner(text).run())


def looks_like_markdown(text: str) -> bool:
    """Whether pasted text is Markdown: a heading, a fence, a link, or a table rule."""
    signs = r"^ {0,3}#{1,6} \S|^(?:```|~~~)|\[[^\]\n]+\]\([^)\s]+\)|^\|?[ :]*-{3,}[ :]*\|"
    return re.search(signs, text, re.MULTILINE) is not None


def plain_title(markup: str) -> str:
    """A heading's words without link targets, emphasis, code marks and ``{#anchors}``."""
    words = re.sub(r"\s*\{#[^}]*\}\s*$", "", markup)
    words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", words)
    words = re.sub(r"(\*{1,3}|`+)(\S(?:.*?\S)?)\1", r"\2", words)
    words = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", words)
    return " ".join(words.split())


@dataclass
class _Scanner:
    """Walks the lines; ``fence``, ``comment`` and ``paragraph`` are the open block, if any.

    ``lazy`` says that a list item, quote or table is open, which takes in all lines up to a blank.
    """

    text: str
    fence: str = ""
    comment: bool = False
    paragraph: int | None = None
    lazy: bool = False

    def run(self) -> Iterator[Heading]:
        front = _FRONT_MATTER.match(self.text)
        for match in LINE.finditer(self.text, front.end() if front else 0):
            line = match.group().rstrip("\n")
            if self._inside_literal(line):
                self.paragraph = None
                continue
            found = self._heading(line, match.start())
            if found:
                self.paragraph, self.lazy = None, False
                yield found
            else:
                self._follow_paragraph(line, match.start())

    def _inside_literal(self, line: str) -> bool:
        if self.fence:
            closing = line.strip()
            if closing.startswith(self.fence) and not closing.strip(self.fence[0]):
                self.fence = ""
            return True
        if self.comment or line.lstrip().startswith("<!--"):
            self.comment = _COMMENT_END not in line
            return True
        opening = FENCE.match(line)
        self.fence = opening.group(1) if opening else ""
        return opening is not None

    def _heading(self, line: str, start: int) -> Heading | None:
        atx = _ATX.match(line)
        if atx:
            title = plain_title(atx.group(2) or "")
            return Heading(start, len(atx.group(1)), title) if title else None
        under = _SETEXT.match(line) if self.paragraph is not None else None
        if under and self.paragraph is not None:
            title = plain_title(self.text[self.paragraph : start])
            return Heading(self.paragraph, 1 if under.group(1)[0] == "=" else 2, title)
        return None

    def _follow_paragraph(self, line: str, start: int) -> None:
        blank = not line.strip() or _RULE.match(line) is not None or _ATX.match(line) is not None
        if blank or _NOT_PARAGRAPH.match(line):
            self.paragraph, self.lazy = None, not blank
        elif self.paragraph is None and not self.lazy and not line.startswith(("    ", "\t")):
            self.paragraph = start
