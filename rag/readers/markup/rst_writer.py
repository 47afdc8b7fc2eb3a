"""The tree of docutils (https://docutils.sourceforge.io/docs/ref/doctree.html) as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from docutils import nodes

from rag.readers.characters import normalise
from rag.readers.content import Composer, Content
from rag.readers.markup.rst_directives import DIRECTIVE, refused_words
from rag.readers.tables import Row, grid

_UNSEEN = (
    *(nodes.comment, nodes.substitution_definition, nodes.target, nodes.raw, nodes.transition),
    *(nodes.meta, nodes.decoration, nodes.pending, nodes.title, nodes.label),
)
_EXPLAINED = (nodes.term, nodes.classifier, nodes.field_name, nodes.option_group)
_OPTION = re.compile(r"\s*:[\w-]+:(?:\s|$)")
_NEVER = {"include", "raw"}
"""Directives that are refused, whatever their content."""
_ERROR = 3
_LOWEST = 6  # level of a heading
_LONGEST_CELL = 400
_LEAST_COLUMNS = 2
_TICKS = re.compile("`+")


class Writer:
    """A writer of the blocks of a document.

    Blocks within a list are lines of it, behind ``indent``. ``label`` and ``bullet`` stand before
    the words that come next.
    """

    def __init__(self) -> None:
        self._composer = Composer()
        self._lines: list[str] = []
        self._lists = 0
        self._indent = self._bullet = self._label = ""
        self._title = ""

    def write(self, document: Any, **metadata: str) -> Content:
        """Return the content of a document. The title is that of its first section."""
        self._children(document, 0)
        self._flush()
        return self._composer.content(title=self._title, **metadata)

    def _children(self, node: Any, level: int) -> None:
        for child in node.children:
            self._block(child, level)

    def _block(self, node: Any, level: int) -> None:
        if isinstance(node, nodes.system_message):
            self._text(_salvaged(node))
        elif isinstance(node, _UNSEEN) or "contents" in node.get("classes", ()):
            return
        elif isinstance(node, nodes.section):
            self._heading(node, level + 1)
            self._children(node, level + 1)
        elif isinstance(node, nodes.table):
            self._table(node, level)
        elif isinstance(node, nodes.literal_block | nodes.doctest_block):
            self._code(node)
        elif isinstance(node, nodes.line_block):
            self._text("\n".join(_lines_of(node)))
        elif isinstance(node, nodes.attribution):
            self._text(f"— {_words(node)}")
        elif isinstance(node, nodes.TextElement | nodes.image):
            self._text(_words(node))
        elif not self._list(node, level):
            self._labelled(_label(node), node, level)

    def _heading(self, section: Any, level: int) -> None:
        title = _words(section.children[0])
        plain = " ".join(normalise(section.children[0].astext()).split())
        if not title or not plain:
            return
        self._title = self._title or plain
        depth = min(level, _LOWEST)
        start = self._composer.block(f"{'#' * depth} {title}")
        if start is not None:
            self._composer.mark(start, depth, plain)

    def _list(self, node: Any, level: int) -> bool:
        """Write a node if it is a list."""
        if isinstance(node, nodes.enumerated_list):
            first = node.get("start", 1)
            bullets = [f"{number}. " for number in range(first, first + len(node.children))]
        elif isinstance(
            node, nodes.bullet_list | nodes.definition_list | nodes.field_list | nodes.option_list
        ):
            bullets = ["- "] * len(node.children)
        else:
            return False
        self._spend_label()
        before = self._indent
        self._lists += 1
        for bullet, item in zip(bullets, node.children, strict=True):
            if isinstance(item, nodes.field) and not _flat(item.children[-1]):
                continue  # such as ":orphan:", which is for the program that makes the pages
            self._bullet, self._indent = before + bullet, before + " " * len(bullet)
            self._labelled(_term(item), item, level)
        self._lists -= 1
        self._bullet, self._indent = "", before
        if not self._lists:
            self._flush()
        return True

    def _labelled(self, label: str, node: Any, level: int) -> None:
        if label:
            self._spend_label()
            self._label = label
        for child in node.children:
            if not isinstance(child, _EXPLAINED):
                self._block(child, level)
        if label:
            self._spend_label()

    def _table(self, table: Any, level: int) -> None:
        group = next(child for child in table.children if isinstance(child, nodes.tgroup))
        heads = [row for part in group.children for row in part if isinstance(part, nodes.thead)]
        body = [row for part in group.children for row in part if isinstance(part, nodes.tbody)]
        rows = _rows([*heads, *body])
        longest = max((len(cell or "") for row in rows for cell in row), default=0)
        nested = any(other is not table for other in table.findall(nodes.table))
        titles = [_words(child) for child in table.children if isinstance(child, nodes.title)]
        self._spend_label()
        if nested or longest > _LONGEST_CELL or max(map(len, rows), default=0) < _LEAST_COLUMNS:
            self._text(" ".join(titles))
            for entry in [entry for row in (*heads, *body) for entry in row]:
                self._children(entry, level)
            return
        self._flush()
        title = " ".join(titles)
        titled = self._composer.block(title) is not None
        self._composer.table(grid(rows, len(heads)), "\n" if titled else "\n\n", title)

    def _code(self, block: Any) -> None:
        code = block.astext().strip("\n")
        if not code.strip():
            return
        self._spend_label()
        fence = "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(code))])
        language = block.get("language", "") or next(
            (name for name in block.get("classes", ()) if name != "code"), ""
        )
        self._add("\n".join([f"{fence}{language}", code, fence]))

    def _text(self, text: str) -> None:
        if text:
            self._add(f"{self._label}: {text}" if self._label else text)
            self._label = ""

    def _spend_label(self) -> None:
        label, self._label = self._label, ""
        if label:
            self._add(label)

    def _add(self, text: str) -> None:
        first = self._bullet or self._indent
        self._bullet = ""
        self._lines.append(first + text.replace("\n", f"\n{self._indent}"))
        if not self._lists:
            self._flush()

    def _flush(self) -> None:
        self._composer.block("\n".join(self._lines))
        self._lines.clear()


def _words(node: Any) -> str:
    """The words of inline nodes on one line."""
    return " ".join(_inline(node).split())


def _inline(node: Any) -> str:
    if isinstance(node, nodes.Text):
        return str(node.astext())
    if isinstance(node, nodes.image):
        return str(node.get("alt", ""))
    if isinstance(node, nodes.problematic):
        return refused_words(node.astext())
    if isinstance(node, nodes.raw | nodes.system_message):
        return ""
    words = "".join(map(_inline, node.children))
    if isinstance(node, nodes.literal) and "`" not in words:
        return f"`{words}`"
    if isinstance(node, nodes.footnote_reference):
        return f"[^{words}]"
    return f"[{words}]" if isinstance(node, nodes.citation_reference) else words


def _lines_of(block: Any) -> list[str]:
    lines = list[str]()
    for child in block.children:
        lines += _lines_of(child) if isinstance(child, nodes.line_block) else [_words(child)]
    return lines


def _flat(node: Any) -> str:
    """The words of all nodes below a node, on one line."""
    if isinstance(node, nodes.system_message):
        return " ".join(_salvaged(node).split())
    if isinstance(node, nodes.TextElement | nodes.image):
        return _words(node)
    return " ".join(filter(None, map(_flat, node.children)))


def _label(node: Any) -> str:
    """The name or the title of a block, which stands before its first words."""
    titles = [_words(child) for child in node.children if isinstance(child, nodes.title)]
    if titles:
        return titles[0]
    if isinstance(node, nodes.footnote | nodes.citation):
        mark = "^" if isinstance(node, nodes.footnote) else ""
        labels = [child.astext() for child in node.children if isinstance(child, nodes.label)]
        return f"[{mark}{''.join(labels)}]"
    if isinstance(node, nodes.Admonition):
        return str(node.tagname.capitalize())
    return str(node.get("label", ""))


def _term(item: Any) -> str:
    """The term, name or option that an item of a list explains."""
    if isinstance(item, nodes.option_list_item):
        options = item.children[0].children
        return ", ".join(" ".join(option.astext().split()) for option in options)
    kinds = [
        _words(child) for child in item.children if isinstance(child, nodes.classifier) and child
    ]
    terms = [
        _words(child) for child in item.children if isinstance(child, nodes.term | nodes.field_name)
    ]
    term = ", ".join(filter(None, terms))
    return f"{term} ({', '.join(kinds)})" if kinds else term


def _rows(lines: Iterable[Any]) -> list[Row]:
    """Rows of cells. A cell that spans rows stands in each of them."""
    rows, below = list[Row](), dict[int, tuple[int, str | None]]()
    for line in lines:
        cells, entries = list[str | None](), iter(line.children)
        while True:
            column = len(cells)
            if column in below:
                left, cell = below.pop(column)
                cells.append(cell)
                if left > 1:
                    below[column] = left - 1, cell
                continue
            entry = next(entries, None)
            if entry is None:
                break
            cells += [_flat(entry), *[None] * entry.get("morecols", 0)]
            if more := entry.get("morerows", 0):
                below.update({place: (more, cells[place]) for place in range(column, len(cells))})
        rows.append(cells)
    return rows


def _salvaged(message: Any) -> str:
    """The lines of a block that docutils refused, without its marks and options."""
    if message["level"] < _ERROR:  # a warning, beside the block itself
        return ""
    blocks = [child for child in message.children if isinstance(child, nodes.literal_block)]
    lines = "\n".join(block.astext() for block in blocks).split("\n")
    directive = DIRECTIVE.match(lines[0].strip())
    if directive:
        if directive["name"].lower() in _NEVER:
            return ""
        lines[0] = lines[0].strip()[directive.end() :]
        lines = [line for line in lines if not _OPTION.match(line)]
    return "\n".join(line.strip() for line in lines if any(map(str.isalnum, line)))
