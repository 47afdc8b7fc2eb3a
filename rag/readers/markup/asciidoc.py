"""AsciiDoc, as the web page that it would be (https://docs.asciidoctor.org/asciidoc/latest)."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from html import escape

from rag.readers.content import Content, Source
from rag.readers.html.reader import body_content
from rag.readers.numbering import numeral
from rag.readers.text import load
from rag.types import Omission

_DIRECTIVE = re.compile(r"(ifdef|ifndef|ifeval|endif|include)::([^\[\]]*)\[(.*)\]\s*")
_ATTRIBUTE = re.compile(r":(!?)([\w-]+)(!?):(?:\s++(.*))?")
_REFERENCE = re.compile(r"(?<!\\)\{([\w-]+)\}")
_BUILT_IN = {"nbsp": "\u00a0", "empty": "", "blank": "", "sp": " ", "plus": "+", "asterisk": "*"}
_VERBATIM = re.compile(r"(-{4,}+|\.{4,}+|`{3,}+)\S*+\s*")
_COMMENT = re.compile(r"/{4,}\s*")
_SILENT = re.compile(r"(?:={4,}|\*{4,}|_{4,}|\+{4,}|--|'{3,}|<{3,}|\+|\[.*\]|toc::\[\])?\s*")
"""Frames of blocks, their attributes, and lines between them."""
_TITLE = re.compile(r"\.[^.\s].*")
_HEADING = re.compile(r"([=#]{1,6})\s+(\S.*)")
_ITEM = re.compile(r"\s*(\*{1,5}|-|\.{1,5}|\d{1,4}\.)\s+(?:\[([xX* ])\]\s+)?(\S.*)")
_TABLE = re.compile(r"\|===\s*")
_CELL = re.compile(r"(?:^|(?<=\s))(?:(\d*)(?:\.(\d+))?[+*])?[<^>.]{0,4}[adehlmsv]?(?<!\\)\|", re.M)
_COLUMNS = re.compile(r"cols\s*=\s*\"?([^\"\]]*)")
_TIMES = re.compile(r"\s*(\d{1,3})\*")
"""A column of a table that stands for several."""
_MOST_SPANNED = 64
_NOTE = re.compile(r"footnote:[\w-]{0,99}\[([^\]]{0,999})\]")
_STYLES = ("decimal", "lowerLetter", "lowerRoman", "upperLetter", "upperRoman")
_INLINE = (
    (
        re.compile(
            r"(?:link|xref|mailto|kbd|btn|pass|image|icon):{1,2}([^\s\[]{0,300})\[([^\],\[]{0,200})[^\]\[]{0,99}\]"
        ),
        r"\2",
    ),
    (re.compile(r"menu:([^\s\[]{1,99})\[([^\]]{0,99})\]"), r"\1 \2"),
    (re.compile(r"(https?://[^\s\[\]]{1,999})\[([^\]]{1,500}?)\^?\]"), r"\2 (\1)"),
    (re.compile(r"&lt;&lt;(?:[^,&]{0,200},\s*)?([^&]{0,200})&gt;&gt;|\[\[[^\]]{0,200}\]\]"), r"\1"),
    (re.compile(r"\[\.?line-through\](#{1,2})(.{1,500}?)\1"), r"<s>\2</s>"),
    (re.compile(r"\[[^\[\]]{0,99}\](#{1,2})(.{1,500}?)\1"), r"\2"),
    (re.compile(r"\^(\S{1,40}?)\^"), r"<sup>\1</sup>"),
    (re.compile(r"~(\S{1,40}?)~"), r"<sub>\1</sub>"),
    (re.compile(r"(?<!\w)(\*\*|__|##|``|[*_#`])(?=\S)(.{1,300}?)(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r" \+\n"), "<br>"),
)
"""Marks within lines, whose signs of HTML are escaped, and what is written for them."""


def read_adoc(source: Source) -> Content:
    """Headings, paragraphs, lists, tables, code; notes after their paragraph, attributes resolved.

    Left out, and counted: included files, passages whose condition does not hold, struck text.
    """
    text, metadata = load(source)
    places: dict[str, list[str]] = {"included_file": [], "conditional_passage": []}
    lines = deque(_shown(text, places))
    content = body_content("".join(_Page().blocks(lines)), metadata, tags_tell=True)
    omissions = (Omission(kind, len(at), at[0]) for kind, at in places.items() if at)
    return replace(content, left_out=(*content.left_out, *omissions))


def _shown(text: str, places: dict[str, list[str]]) -> Iterator[str]:
    """Lines whose conditions hold, without comments, with the values of attributes."""
    values, conditions, fence, comment = dict(_BUILT_IN), list[bool](), "", ""
    for line in text.split("\n"):
        is_shown = all(conditions)
        if directive := _DIRECTIVE.fullmatch(line):
            name, target, words = directive.groups()
            if name == "endif":
                del conditions[-1:]
            elif name == "include" and is_shown:
                places["included_file"].append(target)
            elif name != "include":
                holds = _holds(name, target, words, values)
                if is_shown and not holds:
                    places["conditional_passage"].append(target or words)
                if words and name != "ifeval":
                    yield from [words] if is_shown and holds else []
                else:
                    conditions.append(holds)
        elif not is_shown:
            continue
        elif comment or (not fence and _COMMENT.fullmatch(line)):
            comment = "" if comment == line.strip() else comment or line.strip()
        elif verbatim := _VERBATIM.fullmatch(line):
            fence = "" if fence == line.strip() else fence or verbatim[1]
            yield line
        elif fence:
            yield line
        elif attribute := _ATTRIBUTE.fullmatch(line):
            if attribute[1] or attribute[3]:
                values.pop(attribute[2].lower(), None)
            else:
                values[attribute[2].lower()] = _resolved(attribute[4] or "", values)
        elif not line.startswith("//"):
            yield _resolved(line, values)


def _resolved(line: str, values: dict[str, str]) -> str:
    return _REFERENCE.sub(lambda name: values.get(name[1].lower(), name.group()), line)


def _holds(name: str, target: str, words: str, values: dict[str, str]) -> bool:
    """Whether a condition holds; comparisons other than of equality are taken to hold."""
    if name == "ifeval":
        left, equal, right = _resolved(words, values).partition("==")
        return not equal or left.strip(" \"'") == right.strip(" \"'")
    named = [part.strip().lower() in values for part in re.split("[,+]", target)]
    return (all(named) if "+" in target else any(named)) == (name == "ifdef")


class _Page:
    """A writer of markup."""

    def __init__(self) -> None:
        self._notes, self._read = list[str](), 0
        self._counts = list[int]()

    def blocks(self, lines: deque[str]) -> Iterator[str]:
        """Yield the markup of each block, and of its notes."""
        attributes, title = "", ""
        while lines:
            line = lines.popleft()
            if _SILENT.fullmatch(line):
                attributes += line if line.startswith("[") else ""
                continue
            if _TITLE.fullmatch(line):
                title = line[1:]
                continue
            if title and not _TABLE.fullmatch(line):
                yield f"<p>{self._inline(title)}</p>"
            if verbatim := _VERBATIM.fullmatch(line):
                yield f"<pre>{escape(chr(10).join(_taken(lines, verbatim[1])))}</pre>"
            elif _TABLE.fullmatch(line):
                yield self._table(chr(10).join(_taken(lines, "|===")), attributes, title)
            elif heading := _HEADING.fullmatch(line):
                level = len(heading[1])
                yield f"<h{level}>{self._inline(heading[2])}</h{level}>"
            else:
                block = [line]
                while lines and not _begins_block(lines[0]):
                    block.append(lines.popleft())
                line = "\n".join(block)
                item = _ITEM.match(line)
                words = line[item.start(3) :] if item else line
                yield f"<p>{self._label(item)}{self._inline(words)}</p>"
            attributes, title = "", ""
            yield from self._notes
            self._notes.clear()

    def _label(self, item: re.Match[str] | None) -> str:
        """The mark or number of an item of a list; "" for a paragraph."""
        if item is None:
            self._counts.clear()
            return ""
        sign, ticked = item[1], item[2]
        if sign[0].isdigit():
            return f"{sign} "
        if sign[0] != ".":
            return {None: "- ", " ": "- ☐ "}.get(ticked, "- ☒ ")
        self._counts = [*self._counts, *[0] * len(sign)][: len(sign)]
        self._counts[-1] += 1
        return f"{numeral(self._counts[-1], _STYLES[len(sign) - 1])}. "

    def _inline(self, words: str) -> str:
        """The markup of a text; its notes are kept for the end of the block."""

        def mark(note: re.Match[str]) -> str:
            self._read += 1
            self._notes.append(f"<p><sup>{self._read}</sup> {self._inline(note[1])}</p>")
            return f"^{self._read}^"

        text = escape(_NOTE.sub(mark, words), quote=False)
        for pattern, written in _INLINE:
            text = pattern.sub(written, text)
        return text

    def _table(self, body: str, attributes: str, title: str) -> str:
        """A table whose cells fill its rows one after the other."""
        first = body.strip().partition("\n")[0]
        specs = list(_CELL.finditer(body))
        stated = _COLUMNS.search(attributes)
        columns = stated[1].split(",") if stated else ["1"] * len(_CELL.findall(first))
        width = sum(int(times[1]) if (times := _TIMES.match(one)) else 1 for one in columns)
        is_headed = "header" in attributes or body.strip().startswith(f"{first}\n\n")
        rows, taken, column = [""], [0] * max(min(width, _MOST_SPANNED), 1), 0
        for spec, after in itertools.zip_longest(specs, specs[1:]):
            while 0 not in taken[column:]:  # cells from above fill the rest of the row
                taken, column = [max(count - 1, 0) for count in taken], 0
                rows.append("")
            column += taken[column:].index(0)
            across, down = (min(int(number or 1), _MOST_SPANNED) for number in spec.groups())
            words = self._inline(body[spec.end() : after.start() if after else None].strip())
            tag = "th" if is_headed and len(rows) == 1 else "td"
            rows[-1] += f'<{tag} colspan="{across}" rowspan="{down}">{words}</{tag}>'
            taken[column : column + across] = [down] * len(taken[column : column + across])
        caption = f"<caption>{self._inline(title)}</caption>" if title else ""
        return f"<table>{caption}<tr>{'<tr>'.join(rows)}</table>"


def _taken(lines: deque[str], end: str) -> Iterator[str]:
    """Take the lines of a block, and the one that ends it."""
    while lines and (line := lines.popleft()).strip() != end:
        yield line


def _begins_block(line: str) -> bool:
    """Whether a line ends the paragraph above it."""
    frame = _SILENT.fullmatch(line) or _VERBATIM.fullmatch(line) or _TABLE.fullmatch(line)
    return bool(frame or _TITLE.fullmatch(line) or _ITEM.fullmatch(line))
