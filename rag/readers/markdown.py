"""Headings and tables of Markdown.

Headings follow the block rules of CommonMark (https://spec.commonmark.org/0.31.2/), as far as those
decide about headings: ATX and setext headings, fenced and indented code, HTML comments, and YAML
front matter (not CommonMark, but common). Tables between bars
(https://github.github.com/gfm/#tables-extension-) and in HTML become rows that tabs part.
"""

from __future__ import annotations

import bisect
import html
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter

from rag.readers.characters import LINE, lowered, raised
from rag.readers.content import Content
from rag.readers.html.tables import table_rows
from rag.readers.tables import COVERED, caption, grid, holds_values
from rag.types import Heading, Span, Table

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_NOT_PARAGRAPH = re.compile(r" {0,3}(?:>|[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|<[!/?a-zA-Z]|\|)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<fields>(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n+|$)")
_LONGEST_FRONT_MATTER = 10_000
"""Characters."""
_NULL = "tag:yaml.org,2002:null"
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

_CODE = (
    r"^ {0,3}(?P<fence>`{3,}+|~{3,}+)[^\n]*+\n(?:.*?^ {0,3}(?P=fence)|.*)"
    r"|(?<!`)(?P<ticks>`++)[^`\n]++(?P=ticks)"
)
_FLAGS = re.DOTALL | re.MULTILINE | re.IGNORECASE
_MARKED = re.compile(
    rf"{_CODE}|(?P<blank>^|(?<=\s))?"
    r"(?P<struck>(?<![~\\])~~(?=[^\s~])[^~\n]++(?<!\s)~~(?!~)"
    r"|<(?P<tag>s|del|strike)>[^<\n]*+</(?P=tag)>)(?P<after>[ \t]?)"
    r"|<(?P<script>sup|sub)>(?P<figure>[^<\n]*)</(?P=script)>",
    _FLAGS,
)
"""Code, which stays as it is, and what is struck, raised or lowered."""
_LABEL = r"\[(?!\^)[^\[\]\n]{1,200}+\]"
_TARGETS = re.compile(
    rf"{_CODE}|^ {{0,3}}(?P<label>{_LABEL}):[ \t]++"
    r"<?(?=[^\s<>/#.:@]*+[/#.:@])(?P<address>[^\s<>]++)>?"
    r"(?:[ \t]++(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*+(?:\n|\Z)",
    _FLAGS,
)
"""Code, and the definitions of links: ``[label]: address "Title"``."""
_REFERENCE = re.compile(
    rf"{_CODE}|(?P<shown>\[(?!\^)[^\[\]\n]{{1,200}}+(?:\n[^\[\]\n]{{1,200}}+)?\])"
    rf"(?:(?P<label>{_LABEL})|\[\]|(?![(\[:]))",
    _FLAGS,
)
"""Code, and links whose addresses are defined elsewhere: ``[shown][label]``, ``[label]``."""
_CONTAINER = re.compile(
    r"(?P<indent> *+)(?:(?:!!!|\?\?\?\+?) ++[\w-]++(?: ++inline(?: ++end)?+)?+|===[!+]?(?= ++\"))"
    r"(?: ++\"?(?P<title>[^\"]*+)\"?)?[ \t]*+"
)
"""The line above an admonition or tab, whose content is indented: ``!!! note "Title"``."""
_CONTAINED = 4  # blanks before the content
_LISTED = re.compile(
    rf"{_CODE}|(?P<indent>^[ \t]*+)?<(?P<tag>/?(?:[uo]l|li|table))(?:\s[^<>\n]{{0,200}})?>"
    r"(?P<end>[ \t]*+\n)?",
    _FLAGS,
)
"""Code, which stays as it is, and the tags of lists and tables in HTML."""


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


def without_comments(text: str) -> tuple[str, list[int]]:
    """Return Markdown without the comments of HTML that begin a line, and where they stood."""
    spans = list(_comments(text))
    parts, done = list[str](), 0
    for start, end in spans:
        parts.append(text[done:start])
        done = end
    return "".join([*parts, text[done:]]), [start for start, _ in spans]


def with_addresses(text: str) -> str:
    """Return Markdown whose links have their addresses with them, not at another place."""
    addresses = dict[str, str]()

    def defined(target: re.Match[str]) -> str:
        if target["label"] is None:
            return target.group()
        addresses.setdefault(_folded(target["label"]), target["address"])
        return ""

    def linked(link: re.Match[str]) -> str:
        address = addresses.get(_folded(link["label"] or link["shown"] or ""))
        if address is None:
            return link.group()
        return f"{link['shown']}({f'<{address}>' if '(' in address else address})"

    rest = _TARGETS.sub(defined, text)
    return _REFERENCE.sub(linked, rest) if addresses else text


def _folded(label: str) -> str:
    return " ".join(label[1:-1].split()).casefold()


def with_flat_containers(text: str) -> str:
    """Return Markdown whose admonitions and tabs, as of MkDocs, are lines under their titles."""
    lines, open_, fence = list[str](), list[int](), ""
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        while open_ and line.strip() and indent < open_[-1]:
            open_.pop()
            fence = ""
        flat = line[_CONTAINED * len(open_) :]
        opening = FENCE.match(flat.lstrip(" "))
        container = None if fence or opening else _CONTAINER.fullmatch(flat)
        if container:
            open_.append(indent + _CONTAINED)
            title = (container["title"] or "").strip()
            flat = f"{container['indent']}{title}\n" if title else ""
        elif opening and not fence:
            fence = opening[1]
        elif fence and flat.strip().startswith(fence) and not flat.strip().strip(fence[0]):
            fence = ""
        lines.append(flat)
    return "\n".join(lines)


def with_html_lists(text: str) -> str:
    """Return Markdown whose lists in HTML are lists with dashes. Those in tables stay."""
    depth, is_table = 0, False

    def listed(mark: re.Match[str]) -> str:
        nonlocal depth, is_table
        tag = (mark["tag"] or "").lower()
        is_table = tag == "table" if tag.endswith("table") else is_table
        if is_table or tag in ("", "/table"):
            return mark.group()
        begins = mark["indent"] is not None
        if tag == "li":
            return ("" if begins else "\n") + "  " * (depth - 1) + "- "
        if tag != "/li":
            depth = max(depth + (-1 if tag[0] == "/" else 1), 0)
        return "" if begins else mark["end"] or ""

    return _LISTED.sub(listed, text)


def headings(text: str) -> tuple[Heading, ...]:
    """ATX and setext headings of ``text`` by offset; ``start`` is where their line begins."""
    return tuple(_Scanner(text).run())


def looks_like_markdown(text: str) -> bool:
    """Whether pasted text is Markdown: a heading, a fence, a link, or a table rule."""
    return _SIGNS.search(text) is not None


def split_front_matter(text: str) -> tuple[str, str]:
    """Return the title that the front matter of a text names, "" for none, and the text behind it.

    Front matter is a mapping in YAML between two rules, which site generators read and do not show.
    As for Pandoc, a first rule with an empty line behind it is a rule.
    """
    front = _FRONT_MATTER.match(text)
    fields = front["fields"] if front else ""
    is_ruled = not fields.partition("\n")[0].strip()
    if front is None or is_ruled or len(fields) > _LONGEST_FRONT_MATTER:
        return "", text
    import yaml

    try:
        node = yaml.compose(fields, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError):
        return "", text
    if not isinstance(node, yaml.MappingNode):
        return "", text
    title = {str(key.value).casefold(): value for key, value in node.value}.get("title")
    behind = text[front.end() :]
    if isinstance(title, yaml.ScalarNode) and title.tag != _NULL:
        return plain_title(title.value), behind
    return "", behind


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
            # A title without the signs that may close it, if white space stands before them
            words = line[atx.end() :].strip(" \t")
            bare = words.rstrip("#")
            title = plain_title(words if bare and not bare.endswith((" ", "\t")) else bare)
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


_OPENING = re.compile(r"^[ \t]*<table\b", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*<!--|(?P<end>-->)(?:[ \t]*+(?:\n|\Z))?", re.MULTILINE)
_CODE_BEFORE = re.compile(r"(?:\A|\n)(?![ \t]*(?:[-*+<]|\d{1,9}[.)]))[^\s].*\n[ \t]*\n\Z")
"""A paragraph of running text and an empty line: what is indented behind them is code."""
_LOOKED_AT = 1000
"""Characters before a table."""
_CODE_INDENT = ("    ", "\t")
_CLOSING = re.compile(r"</table\s*>", re.IGNORECASE)


def with_pipe_tables(text: str) -> str:
    """The text of a Markdown file with its HTML tables as pipe tables, where they have data.

    Headers of several rows are one row of labels.
    Tables within fenced code, and those that only place things on the page, stay as they are.
    """
    parts, done = list[str](), 0
    for start, end in _html_tables(text):
        table = _pipe_table(text[start:end])
        if table:
            parts += [text[done:start], "\n", table, "\n"]
            done = end
    return "".join([*parts, text[done:]])


def _html_tables(text: str) -> Iterator[Span]:
    opening = _OPENING.search(text)
    silent = deque(_fenced(text) if opening else ())
    while opening:
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            return
        while silent and silent[0][1] <= opening.start():
            silent.popleft()
        is_silent = bool(silent) and silent[0][0] <= opening.start()
        if not (is_silent or _is_indented_code(text, opening)):
            yield opening.start(), closing.end()
        opening = _OPENING.search(text, closing.end())


def _fenced(text: str) -> list[Span]:
    spans, fence, start = list[Span](), "", 0
    for line in LINE.finditer(text):
        content = line.group().strip()
        if fence and content.startswith(fence) and not content.strip(fence[0]):
            spans.append((start, line.end()))
            fence = ""
        elif not fence and (match := FENCE.match(line.group())):
            fence, start = match.group(1), line.start()
    return [*spans, (start, len(text))] if fence else spans


def _is_indented_code(text: str, opening: re.Match[str]) -> bool:
    before = text[max(opening.start() - _LOOKED_AT, 0) : opening.start()]
    return opening.group().startswith(_CODE_INDENT) and _CODE_BEFORE.search(before) is not None


def _comments(text: str) -> Iterator[Span]:
    start, code = -1, deque(_fenced(text) if "<!--" in text else ())
    for mark in _COMMENT.finditer(text):
        while code and code[0][1] <= mark.start():
            code.popleft()
        if code and code[0][0] <= mark.start():
            continue
        if start >= 0 and mark["end"] is not None:
            yield start, mark.end()
            start = -1
        elif start < 0 and mark["end"] is None and not _is_indented_code(text, mark):
            start = mark.start()


def _pipe_table(markup: str) -> str:
    """A table as Markdown; "" where it has no rows of data."""
    from lxml import html

    tables = list(html.fragment_fromstring(markup, create_parent="div").iter("table"))
    table = table_rows(tables[0]) if len(tables) == 1 else None
    if table is None:
        return ""
    cells = grid(*table)
    rows = [line.split("\t") for line in cells.lines]
    if not rows:
        return ""
    head, heads = cells.labels, 0
    if head:  # of one row, or of several that are joined
        is_one = list(head[: len(rows[0])]) == rows[0]
        heads = 1 if is_one else max((table[1] or 0) - len(cells.above), 2)
    width = max(len(head), *map(len, rows))
    above = [[title] for title in cells.above]
    lines = [
        [cell.replace("|", "\\|") for cell in (*row, *[""] * (width - len(row)))]
        for row in (*above, head, ["---"] * width, *rows[heads:])
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_TABLE_RULE = re.compile(r" {0,3}\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*$")
_BAR = re.compile(r"(?<!\\)\|")
_BOLD = re.compile(r"(\*\*|__)\S.*\1")
_LEAST_COLUMNS = 2


@dataclass(frozen=True, slots=True)
class _PipeTable:
    """A pipe table: its span, its rows of cells, and the number of rows above its first rule."""

    start: int
    end: int
    rows: list[list[str]]
    over: int


def markdown_content(text: str, metadata: Mapping[str, str], *, unruled: bool = False) -> Content:
    """Markdown as it is, but for its tables: those are rows of cells, without bars and rules.

    With ``unruled``, lines between bars are a table without a rule, too. Metadata that is empty is
    left out.
    """
    parts, tables, moved = list[str](), list[Table](), [(0, 0)]
    done = length = 0
    for pipe_table in _pipe_tables(text, unruled):
        rows = [["" if cell == COVERED else cell for cell in row] for row in pipe_table.rows]
        # An empty header says that there is none: Markdown has no table without one.
        heads = None
        if pipe_table.over == 1 and not any(rows[0]) and len(rows) > 1:
            bold = all(_BOLD.fullmatch(cell) for cell in rows[1] if cell)
            heads = int(bold and not holds_values(rows[1], rows[2:]))
        spread = [[None if cell == COVERED else cell for cell in row] for row in pipe_table.rows]
        table = grid(spread, heads)
        labels = table.labels
        if (
            not labels
            and pipe_table.over == 1
            and sum(map(bool, rows[0])) >= _LEAST_COLUMNS
            and not holds_values(rows[0], rows[1:])
        ):
            labels = tuple(rows[0])
        before = text[done : pipe_table.start] + "".join(f"{title}\n" for title in table.above)
        body = "\n".join(table.lines)
        start = length + len(before)
        tables.append(Table(start, start + len(body), labels, caption(table.above)))
        parts += [before, body]
        done, length = pipe_table.end, start + len(body)
        moved.append((done, length - done))
    parts.append(text[done:])
    filled = {key: value for key, value in metadata.items() if value}
    places = list[Heading]()
    for heading in headings(text):
        index = bisect.bisect_right(moved, heading.start, key=itemgetter(0)) - 1
        places.append(replace(heading, start=heading.start + moved[index][1]))
    return Content("".join(parts), headings=tuple(places), tables=tuple(tables), metadata=filled)


def _pipe_tables(text: str, unruled: bool) -> Iterator[_PipeTable]:
    """Runs of lines with bars that have a rule below a first row; not within fenced code.

    With ``unruled``, runs without a rule whose lines all stand between bars, too.
    """
    run, fence = list[tuple[int, str]](), ""
    for match in LINE.finditer(text):
        content = match.group().rstrip("\n")
        opening = FENCE.match(content)
        is_code = bool(fence or opening) or content.startswith(_CODE_INDENT)
        if not is_code and _BAR.search(content):
            run.append((match.start(), content))
            continue
        yield from _table_of(run, unruled)
        run = []
        if fence:
            fence = "" if content.strip().startswith(fence) else fence
        elif opening:
            fence = opening.group(1)
    yield from _table_of(run, unruled)


def _table_of(run: list[tuple[int, str]], unruled: bool) -> Iterator[_PipeTable]:
    rules = [index for index, (_, content) in enumerate(run) if _TABLE_RULE.fullmatch(content)]
    barred = (content[0] == content.rstrip()[-1] == "|" for _, content in run)
    if not rules and unruled and len(run) > 1 and all(barred):
        rules = [len(run)]
    if not rules or rules[0] == 0:
        return
    rows = [_cells(content) for index, (_, content) in enumerate(run) if index not in rules]
    if max(map(len, rows)) >= _LEAST_COLUMNS:
        last, content = run[-1]
        yield _PipeTable(run[0][0], last + len(content), rows, rules[0])


def _cells(row: str) -> list[str]:
    bare = row.strip().removeprefix("|")
    if bare.endswith("|") and not bare.endswith("\\|"):
        bare = bare[:-1]
    return [cell.replace("\\|", "|").strip() for cell in _BAR.split(bare)]
