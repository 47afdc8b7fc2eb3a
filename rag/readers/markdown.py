"""Headings of Markdown, after the block rules of CommonMark (https://spec.commonmark.org/0.31.2/).

Only what decides about headings is followed: ATX and setext headings, fenced and indented code,
HTML comments, and YAML front matter (not CommonMark, but common).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.readers.characters import LINE
from rag.readers.scripts import lowered, raised
from rag.types import Heading

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_NOT_PARAGRAPH = re.compile(r" {0,3}(?:>|[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|<[!/?a-zA-Z]|\|)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|$)")
_FIELDS = re.compile(
    r"---[ \t]*\n(?:(?:[\w\"'][\w .\"'-]{0,40}:|[ \t#\]}-])[^\n]*\n){1,60}?"
    r"(?:---|\.\.\.)[ \t]*(?:\n+|\Z)"
)
"""Front matter: each line is a field, or belongs to one. Two rules around a text are none."""
_TITLE = re.compile(r"^title:[ \t]*([^\n]*)", re.MULTILINE | re.IGNORECASE)
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"(?: #.*)?|'((?:[^']|'')*)'(?: #.*)?")
_BLOCK_SIGNS = (">", "|", "&", "*", "!", "[", "{", '"', "'")
_COMMENT_END = "-->"
_SIGNS = re.compile(
    r"^ {0,3}#{1,6} \S|^(?:```|~~~)|\[[^\[\]\n]+\]\([^()\s]+[()]|^\|?[ :]*-{3,}[ :]*\|",
    re.MULTILINE,
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()]|\([^()]*\))*+\)")
_MARKS = re.compile(r"\*+|`+")
_TICKS = re.compile(r"`+")
_ENTITY = re.compile(r"(?<!\\)&(?:#\w{1,7}|[A-Za-z][A-Za-z0-9]{1,31});")
_ATTRIBUTES = re.compile(
    r"(?<![ \t])[ \t]*+\{(?:#|: ?[#.][A-Za-z])[^{}]*\}\Z"
    r"|(?<![= \t])[ \t]++\{(?:-|\.[A-Za-z][\w-]{2,30}(?:[ \t]++[^{}]*)?)\}\Z"
)
"""Attributes at the end of a line, as of Pandoc: an anchor or a class comes first.

A class has a blank before it and the name of one: braces as in "Sets {.}" or "f{.x}" are words.
"""
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")

_MARKED = re.compile(
    r"^ {0,3}(?P<fence>`{3,}+|~{3,}+)[^\n]*+\n(?:.*?^ {0,3}(?P=fence)|.*)"
    r"|(?<!`)(?P<ticks>`++)[^`\n]++(?P=ticks)"
    r"|(?P<blank>^|(?<=\s))?"
    r"(?P<struck>(?<![~\\])~~(?=[^\s~])[^~\n]++(?<!\s)~~(?!~)"
    r"|<(?P<tag>s|del|strike)>[^<\n]*+</(?P=tag)>)(?P<after>[ \t]?)"
    r"|<(?P<script>sup|sub)>(?P<figure>[^<\n]*)</(?P=script)>",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
"""Code, which stays as it is, and what is struck, raised or lowered."""


def code_fence(code: str) -> str:
    """A fence that no line of the code can close."""
    return "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(code))])


def without_struck(text: str) -> tuple[str, list[int]]:
    """Return Markdown without its struck passages, with figures raised, and where they stood."""
    struck = list[int]()

    def seen(mark: re.Match[str]) -> str:
        if mark["struck"] is not None:
            struck.append(mark.start())
            return mark["after"] if mark["blank"] is None else ""
        if mark["figure"] is not None:
            return (raised if mark["script"].lower() == "sup" else lowered)(mark["figure"])
        return mark.group()

    return _MARKED.sub(seen, text), struck


def headings(text: str) -> tuple[Heading, ...]:
    """ATX and setext headings of ``text`` by offset; ``start`` is where their line begins."""
    return tuple(_Scanner(text).run())


def looks_like_markdown(text: str) -> bool:
    """Whether pasted text is Markdown: a heading, a fence, a link, or a table rule."""
    return _SIGNS.search(text) is not None


def front_matter_length(text: str) -> int:
    """The length of the fields before a text, which site generators read and do not show."""
    fields = _FIELDS.match(text)
    return fields.end() if fields else 0


def front_matter_title(text: str) -> str:
    """The title in the front matter, "" for none or for one that is more than a line of words."""
    field = _TITLE.search(text, 0, front_matter_length(text))
    value = field[1].strip() if field else ""
    quoted = _QUOTED.fullmatch(value)
    if quoted:
        plain = (quoted[1] or "").replace('\\"', '"') or (quoted[2] or "").replace("''", "'")
        return plain_title(plain)
    bare = value.partition(" #")[0].rstrip()
    is_title = bare not in ("~", "null") and not bare.startswith(_BLOCK_SIGNS)
    return plain_title(bare) if is_title else ""


def plain_title(markup: str) -> str:
    """A heading's words without link targets, emphasis, code marks and ``{#anchors .classes}``.

    Entities become their characters, but not in a heading that has code.
    """
    words = _without_marks(_LINK.sub(r"\1", without_attributes(markup.rstrip())))
    if "`" not in markup:
        words = _ENTITY.sub(lambda entity: html.unescape(entity.group()), words)
    return " ".join(_ESCAPED.sub(r"\1", words).split())


def without_attributes(line: str) -> str:
    """A heading or line without ``{#anchor}``, ``{.class}`` or ``{-}`` at its end."""
    return _ATTRIBUTES.sub("", line.rstrip()) if line.rstrip().endswith("}") else line


def _without_marks(markup: str) -> str:
    """Remove pairs of equal runs of stars or backticks, and keep the text between them.

    The function searches once per run for the next equal run. Regular expressions would search
    again from every position.
    """
    runs = [match.span() for match in _MARKS.finditer(markup)]
    ends = dict[str, list[tuple[int, int]]]()  # by run, the last first
    for start, end in reversed(runs):
        if start and not markup[start - 1].isspace():
            ends.setdefault(markup[start:end], []).append((start, end))
    parts, done = list[str](), 0
    for start, end in runs:
        later = ends.get(markup[start:end], [])
        while later and later[-1][0] <= end:
            later.pop()
        if start >= done and later and not markup[end].isspace():
            close, after = later.pop()
            parts += [markup[done:start], markup[end:close]]
            done = after
    return "".join([*parts, markup[done:]])


def _without_closing(title: str) -> str:
    """A title without the signs that may close it, if white space stands before them."""
    words = title.strip(" \t")
    bare = words.rstrip("#")
    return words if bare and not bare.endswith((" ", "\t")) else bare


@dataclass
class _Scanner:
    """A walk through the lines; ``fence``, ``comment`` and ``paragraph`` are the open block, if
    any.

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
            heading = self._heading(line, match.start())
            if heading:
                self.paragraph, self.lazy = None, False
                yield heading
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
            title = plain_title(_without_closing(line[atx.end() :]))
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
