"""OpenDocument text (.odt) as the web page that it would be, and spreadsheets (.ods)."""

from __future__ import annotations

import itertools
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from typing import Any

from lxml import etree

from rag.readers.characters import raised
from rag.readers.content import Composer, Content, Source, omission_mark
from rag.readers.dates import stated_day
from rag.readers.html.reader import body_content
from rag.readers.numbering import FORMS, numeral
from rag.readers.office.archive import check_archive, section_titles
from rag.readers.office.sheets import add_sheet
from rag.readers.tables import Row

_TAGS = {"table": "table", "table-row": "tr"}
_UNREAD = {"image": "picture", "object": "embedded_object", "object-ole": "embedded_object"}
_NOTES = {"note": "footnotes", "annotation": "comments"}
_SILENT = {"tracked-changes", "covered-table-cell", "forms", "sequence-decls", "title", "desc"}
_MOST_SPACES = 100


def open_document(source: Source) -> tuple[Any, Any, dict[str, str]]:
    """The trees of the content and of the styles, and the metadata. Raises UnreadableDocument."""
    check_archive(source)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    with zipfile.ZipFile(source.path) as archive:
        names = set(archive.namelist())
        content, styles, about = (
            etree.fromstring(archive.read(name) if name in names else b"<none/>", parser)
            for name in ("content.xml", "styles.xml", "meta.xml")
        )
    metadata = {
        "title": about.findtext(".//{*}title") or "",
        "author": about.findtext(".//{*}initial-creator") or about.findtext(".//{*}creator") or "",
        "date": stated_day(about.findtext(".//{*}date")) or "",
    }
    return content, styles, metadata


def read_odt(source: Source) -> Content:
    """Headings, paragraphs, lists, tables and text boxes; notes and comments after their paragraph.

    Headers and footers stand at the beginning. Left out, and counted: tracked changes, struck and
    hidden text, pictures and embedded objects.
    """
    source.tick(0, 1)
    content, styles, metadata = open_document(source)
    page = _Page(content, styles)
    text = content.find("./{*}body/{*}text")
    markup = "".join(page.beside(styles)) + "".join(page.inside(text))
    source.tick(1, 1)
    return replace(body_content(markup, metadata), read=dict(page.read))


def name_of(node: Any) -> str:
    """The name of an element without its namespace; "" for a comment."""
    return etree.QName(node).localname if isinstance(node.tag, str) else ""


def value_of(node: Any, name: str) -> str:
    """An attribute, whatever its namespace."""
    values = (str(value) for key, value in node.items() if key.endswith(f"}}{name}"))
    return next(values, "")


def is_struck(properties: Any) -> bool:
    """Whether properties of text strike it; programs state the style of the line, or its type."""
    lines = (value_of(properties, f"text-line-through-{name}") for name in ("style", "type"))
    return any(line not in ("", "none") for line in lines)


def look(style: Any) -> tuple[str, str]:
    """The tags around text of a style: struck, hidden, raised or lowered."""
    start, end = "", ""
    for part in style:
        position = value_of(part, "text-position").split(" ")[0]
        tag = "sup" if position.startswith(("super", *"123456789")) else ""
        tag = "sub" if position.startswith(("sub", "-")) else tag
        tag = "s" if is_struck(part) else tag
        if tag:
            start, end = f"{start}<{tag}>", f"</{tag}>{end}"
        if value_of(part, "display") == "none":
            start, end = f"{start}<span hidden>", f"</span>{end}"
    return start, end


class _Page:
    """A writer of markup; ``read`` counts by kind what stands beside the text."""

    def __init__(self, content: Any, styles: Any) -> None:
        def named(tag: str, name: str = "name") -> Iterator[tuple[str, Any]]:
            for tree in (content, styles):
                yield from ((value_of(node, name), node) for node in tree.iter(f"{{*}}{tag}"))

        self.read = Counter[str]()
        self._looks = {name: tags for name, style in named("style") if any(tags := look(style))}
        self._levels = {
            name: {value_of(level, "level"): level for level in style}
            for name, style in named("list-style")
        }
        self._outline = dict(named("outline-level-style", "level"))
        headers = {
            name: " ".join(" ".join(header.itertext()).split())
            for name, page in named("master-page")
            for header in page.iterfind("./{*}header")
        }
        begun = {
            name: headers.get(value_of(style, "master-page-name"), "")
            for name, style in named("style")
        }
        first = next((value_of(node, "style-name") for node in content.iter("{*}p", "{*}h")), "")
        start = begun.get(first) or headers.get("Standard", "")
        titles = section_titles([words] for words in (start, *begun.values()))
        self._titles = {name: words for name, words in begun.items() if words in titles}
        self._title, self._start = "", start if start in titles else ""
        self._counts: dict[str, list[int]] = {}
        self._style, self._depth, self._label = "", 0, ""
        self._beside: list[str] = []
        """Notes and boxes of the paragraph at hand, which stand after it."""

    def beside(self, styles: Any) -> Iterator[str]:
        """The markup of headers and footers, those that are alike once."""
        titles = {*self._titles.values(), self._start}
        parts = dict.fromkeys(
            (name_of(part).partition("-")[0], " ".join(" ".join(part.itertext()).split()))
            for part in styles.iterfind(".//{*}master-page/*")
        )
        for kind, words in parts:
            if words and kind in ("header", "footer") and words not in titles:
                self.read[f"{kind}s"] += 1
                yield f"<p>{kind.capitalize()}: {escape(words)}</p>"

    def inside(self, node: Any) -> Iterator[str]:
        """The markup of what is in an element."""
        yield escape(node.text or "")
        for child in node:
            yield from self._element(child)
            yield escape(child.tail or "")

    def _element(self, node: Any) -> Iterator[str]:
        name = name_of(node)
        start, end = self._looks.get(value_of(node, "style-name"), ("", ""))
        if name in _UNREAD:
            if name != "image" or not _has_object(node):
                yield omission_mark(_UNREAD[name])
                words = node.getparent().findtext("./{*}desc") or ""
                yield f"[Picture: {escape(words)}]" if words else ""
        elif name == "change":  # where text was deleted
            yield omission_mark("tracked_change")
        elif name == "change-start":
            self.read["tracked_insertions"] += 1
        elif name in _NOTES:
            yield self._note(node, name)
        elif name == "text-box":
            self._beside.append(f"<div>{''.join(self.inside(node))}</div>")
        elif name in ("h", "p"):
            yield from self._paragraph(node, name, start, end)
        elif name == "list":
            style, self._depth = self._style, self._depth + 1
            self._style = value_of(node, "style-name") or style
            if self._depth == 1 and not (
                value_of(node, "continue-numbering") == "true" or value_of(node, "continue-list")
            ):
                self._counts.pop(self._style, None)
            yield from self.inside(node)
            self._style, self._depth = style, self._depth - 1
        elif name == "list-item":
            if any(name_of(child) in ("h", "p") for child in node[:1]):
                levels = self._levels.get(self._style, {})
                self._label = self._counted(self._style, levels, self._depth) or "- "
            yield from self.inside(node)
        elif name == "table-cell":
            heading = name_of(node.getparent().getparent()) == "table-header-rows"
            tag = "th" if heading else "td"
            spans = (
                value_of(node, f"number-{part}-spanned") or "1" for part in ("columns", "rows")
            )
            over = 'colspan="{}" rowspan="{}"'.format(*spans)
            yield f"<{tag} {over}>{''.join(self.inside(node))}</{tag}>"
        elif name == "s":
            yield " " * min(int(value_of(node, "c") or 1), _MOST_SPACES)
        elif name in ("tab", "line-break"):
            yield "\t" if name == "tab" else "<br>"
        elif name == "section" and value_of(node, "display") in ("none", "condition"):
            yield f"<div hidden>{''.join(self.inside(node))}</div>"
        elif name and name not in _SILENT:
            tag = _TAGS.get(name, "")
            start, end = (f"<{tag}>", f"</{tag}>") if tag else (start, end)
            yield f"{start}{''.join(self.inside(node))}{end}"

    def _paragraph(self, node: Any, name: str, start: str, end: str) -> Iterator[str]:
        title = self._titles.get(value_of(node, "style-name"), self._title or self._start)
        if title != self._title:
            self.read["headers"] += 1
            self._title = title
            yield f"<h1>{escape(title)}</h1>"
        waiting, self._beside = self._beside, []
        label, self._label = self._label, ""
        tag = "p"
        if name == "h":
            level = min(int(value_of(node, "outline-level") or 1), 6)
            tag, label = f"h{level}", "" if label == "- " else label
            if self._depth == 0:
                label = self._counted("", self._outline, level)
        yield f"<{tag}>{escape(label)}{start}{''.join(self.inside(node))}{end}</{tag}>"
        beside, self._beside = self._beside, waiting
        yield from beside

    def _counted(self, style: str, levels: dict[str, Any], depth: int) -> str:
        """The next number of a list or of headings with a blank; "" where they have none."""
        level = levels.get(str(depth))
        if level is None or value_of(level, "num-format") not in FORMS:
            return ""
        counts = self._counts.setdefault(style, [])
        del counts[depth:]
        while len(counts) < depth:
            missing = levels.get(str(len(counts) + 1))
            start = value_of(missing, "start-value") if missing is not None else ""
            counts.append(int(start or 1) - (len(counts) == depth - 1))
        counts[depth - 1] += 1
        shown = int(value_of(level, "display-levels") or 1)
        forms = [value_of(levels.get(str(at), level), "num-format") for at in range(1, depth + 1)]
        numbers = map(numeral, counts, (FORMS.get(form, "decimal") for form in forms))
        number = ".".join(list(numbers)[-shown:])
        return f"{value_of(level, 'num-prefix')}{number}{value_of(level, 'num-suffix')} "

    def _note(self, node: Any, name: str) -> str:
        """The mark of a note; its text is kept for the end of the paragraph."""
        self.read[_NOTES[name]] += 1
        body = node.find("./{*}note-body") if name == "note" else node
        words = " ".join(" ".join(part.itertext()) for part in body.iter("{*}p", "{*}h"))
        mark = f"<sup>{escape(node.findtext('./{*}note-citation') or '')}</sup>"
        mark = mark if name == "note" else ""
        self._beside.append(f"<p>{mark or 'Comment:'} {escape(words)}</p>")
        return mark


def _has_object(image: Any) -> bool:
    """Whether a picture is the look of an object, which stands beside it."""
    return any(name_of(other).startswith("object") for other in image.itersiblings(preceding=True))


_TICK_EVERY = 500
_MOST_COLUMNS = 16_384
_MOST_ALIKE = 1000  # rows or cells with the same words, one after the other


def read_ods(source: Source) -> Content:
    """Cells as they are shown. The sheet's name is a heading, comments stand after it all.

    Left out, and counted: hidden sheets, rows and columns, struck text, pictures and objects.
    """
    content, styles, metadata = open_document(source)
    sheets = content.findall("./{*}body/{*}spreadsheet/{*}table")
    composer, looks = Composer(), _looks([styles, content])
    for number, sheet in enumerate(sheets, 1):
        title = value_of(sheet, "name")
        if looks.get(value_of(sheet, "style-name")) == "hidden":
            composer.leave_out("hidden_sheet", title)
            continue
        add_sheet(composer, number, title, _rows(sheet, composer, looks, source))
        for note in sheet.iter("{*}annotation"):
            words = " ".join(" ".join(part.itertext()) for part in note.iter("{*}p"))
            beside = " ".join(_words(note.getparent(), looks)[0].split())
            composer.block(f"Note on {beside}: {words}" if beside else f"Note: {words}", "\n")
            composer.count("comments")
        composer.leave_out("picture", title, len(sheet.findall(".//{*}frame/{*}image[1]/..")))
        source.tick(number, len(sheets))
    return composer.content(**metadata, pages=str(len(sheets)))


def _looks(trees: list[Any]) -> dict[str, str]:
    """Styles of hidden sheets, and of struck and raised text."""
    looks = dict[str, str]()
    for style in itertools.chain(*(tree.iter("{*}style") for tree in trees)):
        for part in style:
            if value_of(part, "display") == "false":
                looks[value_of(style, "name")] = "hidden"
            elif is_struck(part):
                looks[value_of(style, "name")] = "struck"
            elif value_of(part, "text-position").startswith(("super", *"123456789")):
                looks[value_of(style, "name")] = "raised"
    return looks


def _words(cell: Any, looks: dict[str, str]) -> tuple[str, bool]:
    """The text of a cell without its comment, and whether any of it is struck."""
    look, struck, texts = looks.get(value_of(cell, "style-name"), ""), False, list[str]()
    for paragraph in cell.iterchildren("{*}p"):
        parts = [paragraph.text or ""]
        for part in paragraph:
            own, text = looks.get(value_of(part, "style-name"), ""), "".join(part.itertext())
            text = " " if name_of(part) in ("s", "tab", "line-break") else text
            struck = struck or own == "struck"
            parts += ["" if own == "struck" else raised(text) if own == "raised" else text]
            parts.append(part.tail or "")
        texts.append("".join(parts))
    return ("", True) if look == "struck" and any(texts) else ("\n".join(texts), struck)


def _rows(sheet: Any, composer: Composer, looks: dict[str, str], source: Source) -> Iterator[Row]:
    """Yield the rows that are shown; None is a column that a merged cell reaches over."""
    title, hidden, at = value_of(sheet, "name"), set[int](), 0
    for column in sheet.iter("{*}table-column"):
        count = min(int(value_of(column, "number-columns-repeated") or 1), _MOST_COLUMNS)
        if value_of(column, "visibility") in ("collapse", "filter"):
            hidden.update(range(at, at + count))
        at += count
    cover, told = dict[int, str | None](), set[int]()
    for number, line in enumerate(sheet.iter("{*}table-row"), 1):
        if number % _TICK_EVERY == 0:
            source.tick(0, 1)
        row, gap = list[str | None](), 0
        for cell in line.iterchildren("{*}table-cell", "{*}covered-table-cell"):
            repeated = min(int(value_of(cell, "number-columns-repeated") or 1), _MOST_COLUMNS)
            columns = int(value_of(cell, "number-columns-spanned") or 1)
            at = len(row) + gap
            if name_of(cell) == "covered-table-cell":
                texts = [cover.get(place) for place in range(at, at + repeated)]
                row += [*[""] * gap, *texts]
                gap = 0
                continue
            text, struck = _words(cell, looks)
            composer.leave_out("struck_passage", title, int(struck))
            cover[at] = text
            cover.update(dict.fromkeys(range(at + 1, at + min(columns, _MOST_ALIKE))))
            if text:
                row += [*[""] * gap, *[text] * min(repeated, _MOST_ALIKE)]
            gap = 0 if text else gap + repeated
        filled = any(row)
        for column in sorted(hidden.intersection(range(len(row))), reverse=True):
            if row.pop(column) and column not in told:
                told.add(column)
                composer.leave_out("hidden_column", title)
        if filled and value_of(line, "visibility") in ("collapse", "filter"):
            composer.leave_out("hidden_row", title)
            continue
        repeated = int(value_of(line, "number-rows-repeated") or 1)
        yield from itertools.repeat(
            row if filled else [], min(repeated, _MOST_ALIKE) if filled else 1
        )
