"""Rich text (.rtf), as the web page that it would be."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass, replace
from html import escape

from striprtf.striprtf import (
    PATTERN,
    charset_map,
    destinations,
    specialchars,
)

from rag.readers.content import Content, Source, damaged, omission_mark
from rag.readers.html.reader import body_content
from rag.readers.office.archive import section_titles

_FONT = re.compile(r"\\f([0-9]{1,9})(?=[ \\])[^{};]{0,99}?\\fcharset([0-9]{1,3})")
_STYLE = re.compile(r"\{\\s([0-9]{1,4})\\[^{};]{0,999}? heading ([1-6]);", re.IGNORECASE)
_BINARY = re.compile(rb"\\bin([0-9]{1,9}) ?")
_TICK_EVERY = 20_000
_UNREAD = {"pict": "picture", "object": "embedded_object", "mmath": "formula"}
_BESIDE = {"footnote": "footnotes", "annotation": "comments"}
_BESIDE |= {
    f"{part}{page}": f"{part}s" for part in ("header", "footer") for page in ("", "l", "r", "f")
}
_TITLES = {"comments": "Comment: ", "footers": "Footer: "}
_TEXT = {"shp", "shpgrp", "shpinst", "shptxt", "pntext", "result"}
_SIGNS = {**specialchars, "line": "\n", "nestcell": " ", "nestrow": "\n", "-": ""}
_ENDS = {"par", "sect", "page", "cell", "row"}
_TAGS = {"strike": "s", "striked": "s", "super": "sup", "up": "sup", "sub": "sub", "dn": "sub"}
_TAGS |= {"v": "span hidden", "deleted": "deleted"}


@dataclass(frozen=True, slots=True)
class _State:
    """The look of a group and of those in it.

    ``words`` are those of the text, or of what stands beside it, of the kind ``beside``.
    """

    words: list[tuple[tuple[str, ...], str]]
    silent: bool = False
    tags: tuple[str, ...] = ()
    font: str = ""
    beside: str = ""
    skipped: int = 1  # signs after one in Unicode, for programs without it


def read_rtf(source: Source) -> Content:
    """Headings, paragraphs, numbers of lists, tables, text boxes, notes after their paragraph.

    Headers and footers stand at the beginning. Left out, and counted: pictures, objects, formulas,
    struck, hidden and deleted text. Raises UnreadableDocument (``damaged``) for a file without its
    end.
    """
    text = _without_binary(source.path.read_bytes()).decode("latin-1")
    writer = _Writer(text)
    for count, match in enumerate(PATTERN.finditer(text)):
        if count % _TICK_EVERY == 0:
            source.tick(match.start(), len(text))
        word, number, code, sign, brace, plain = match.groups()
        if plain or code:
            writer.add(plain or chr(int(code, 16)))
        elif brace:
            writer.group(opens=brace == "{")
            if not writer.outer:
                break
        elif word or sign:
            writer.command(word or sign, int(number) if number else None)
    source.tick(len(text), len(text))
    if writer.outer:
        raise damaged("its end is missing")
    return replace(body_content(writer.markup(), {}), read=dict(writer.read))


def _without_binary(data: bytes) -> bytes:
    """The file without pictures that are no text, which may hold any sign."""
    parts, at = list[bytes](), 0
    for match in _BINARY.finditer(data):
        if match.start() >= at:
            parts.append(data[at : match.start()])
            at = match.end() + int(match[1])
    return b"".join([*parts, data[at:]])


class _Writer:
    """A writer of markup; ``read`` counts what stands beside, ``outer`` are the open groups."""

    def __init__(self, text: str) -> None:
        self.read = Counter[str]()
        self.outer: list[_State] = []
        self._state = _State([])
        fonts = _FONT.findall(text)
        self._pages = {font: charset_map.get(int(charset), "") for font, charset in fonts}
        self._pages[""] = self._page = "cp1252"
        self._bytes, self._to_skip, self._starred = "", 0, False
        self._done, self._notes = list[str](), list[str]()
        self._margins: dict[str, None] = {}
        self._headers = dict[int, list[str]]()  # by the place of their section in what is done
        self._rows, self._cells = list[dict[int, str]](), list[str]()
        self._levels = {int(style): int(level) for style, level in _STYLE.findall(text)}
        self._level, self._in_table = 0, False
        self._above, self._edges, self._merge = dict[int, str](), list[tuple[int, str]](), ""

    def markup(self) -> str:
        """All of it, with the pairs of signs that stand for one in Unicode."""
        self._end("par")
        titles = section_titles(self._headers.values())
        for place, lines in reversed(self._headers.items()):
            title = " · ".join(dict.fromkeys(words for words in lines if words in titles))
            self._done.insert(place, f"<h1>{title}</h1>" if title else "")
        headers = dict.fromkeys(itertools.chain(*self._headers.values()))
        self.read["headers"] = len(headers)
        margins = (f"<p>Header: {words}</p>" for words in headers if words not in titles)
        whole = "".join([*margins, *self._margins, *self._done, *self._table()])
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def add(self, sign: str) -> None:
        """Take a byte in the code page of the font at hand."""
        if self._to_skip:
            self._to_skip -= 1
        elif not self._state.silent:
            self._bytes += sign

    def group(self, *, opens: bool) -> None:
        """Open or close a group; a note ends with its own."""
        self._decode()
        self._to_skip = 0
        if opens:
            self.outer.append(self._state)
        elif self.outer:
            inner, self._state = self._state, self.outer.pop()
            if inner.words is not self._state.words:
                words = self._written(inner.words).removesuffix("<br>")
                note = f"<p>{_TITLES.get(inner.beside, '')}{words}</p>"
                if inner.beside == "headers" and words:
                    self._headers.setdefault(len(self._done), []).append(words)
                elif inner.beside == "footers":
                    self.read["footers"] += bool(words) and note not in self._margins
                    self._margins |= {note: None} if words else {}
                elif inner.beside != "headers":
                    self._notes.append(note)

    def command(self, word: str, number: int | None) -> None:
        """Obey a control word."""
        self._decode()
        starred, self._starred, self._to_skip = self._starred, word == "*", 0
        if self._state.silent:
            return
        if word in _UNREAD:
            self._put(omission_mark(_UNREAD[word]))
        if word in _BESIDE:
            kind = _BESIDE[word]
            self.read[kind] += kind in ("footnotes", "comments")
            self._state = replace(self._state, words=[], tags=(), beside=kind)
        elif (word in destinations or starred) and word not in _TEXT:
            self._state = replace(self._state, silent=True)
        elif word == "chftn":
            number = self.read["footnotes"] + (self._state.beside != "footnotes")
            self._state.words.append((("sup",), str(number)))
        elif word == "u" and number is not None:
            self._put(chr(number % 0x10000))
            self._to_skip = self._state.skipped
        elif word in _ENDS:
            self._end(word)
        elif word in _SIGNS:
            self._put(_SIGNS[word])
        elif word in _TAGS or word in ("plain", "nosupersub"):
            dropped = {"plain": set(_TAGS.values()) - {"deleted"}, "nosupersub": {"sup", "sub"}}
            tags = dropped.get(word, {_TAGS.get(word)})
            added = (_TAGS[word],) if word in _TAGS and number != 0 else ()
            kept = tuple(tag for tag in self._state.tags if tag not in tags)
            self._state = replace(self._state, tags=kept + added)
        elif word in ("pard", "intbl"):
            self._in_table = word == "intbl"
            self._level = self._level if self._in_table else 0
        elif word in ("clvmrg", "clmrg"):
            self._merge = word
        elif word == "cellx":
            self._edges.append((number or 0, self._merge))
            self._merge = ""
        elif word == "trowd":
            self._edges.clear()
        elif word == "s" and number in self._levels:
            self._level = self._levels[number]
        elif word == "outlinelevel" and number is not None:
            self._level = number + 1
        elif word == "uc" and number is not None:
            self._state = replace(self._state, skipped=number)
        elif word == "ansicpg":
            self._page = "utf-8" if number == 65001 else f"cp{number}"
        elif word == "f":
            self._state = replace(self._state, font=str(number))

    def _decode(self) -> None:
        data, self._bytes = self._bytes.encode("latin-1"), ""
        page = self._pages.get(self._state.font) or self._page
        try:
            self._put(data.decode(self._page if page == "cp1252" else page, "replace"))
        except LookupError:
            self._put(data.decode("cp1252", "replace"))

    def _put(self, text: str) -> None:
        if text and not self._state.silent:
            self._state.words.append((self._state.tags, text))

    def _written(self, words: list[tuple[tuple[str, ...], str]]) -> str:
        """The markup of words, which are taken."""
        parts = list[str]()
        for tags, pieces in itertools.groupby(words, lambda piece: piece[0]):
            text = escape("".join(piece for _, piece in pieces)).replace("\n", "<br>")
            for tag in tags:
                text = f"<{tag}>{text}</{tag.split(' ')[0]}>"
            parts.append(omission_mark("tracked_change") if "deleted" in tags else text)
        words.clear()
        return "".join(parts)

    def _end(self, word: str) -> None:
        """End a paragraph, a cell or a row."""
        words = self._state.words
        if word == "row":
            row = dict[int, str]()  # words by the right edge of their cell
            for cell, (edge, merge) in itertools.zip_longest(
                self._cells, self._edges[: len(self._cells)], fillvalue=(0, "")
            ):
                before = row.popitem()[1] if merge == "clmrg" and row else ""
                above = self._above.get(edge, "") if merge == "clvmrg" else ""
                row[max([edge, *(last + 1 for last in row)])] = f"{before}{above}{cell}"
            self._rows.append(row)
            self._above = row
            self._cells.clear()
        elif word == "cell":
            self._cells.append(self._written(words))
        elif self._in_table or (len(self.outer) > 1 and words is not self.outer[0].words):
            words.append(((), "\n"))  # within a cell or a note
        else:
            tag = f"h{self._level}" if 1 <= self._level <= 6 else "p"
            text = f"<{tag}>{self._written(words)}</{tag}>"
            self._done += [*self._table(), text, *self._notes]
            self._notes.clear()

    def _table(self) -> list[str]:
        """The rows at hand as a table, whose columns end where any cell ends."""
        rows, self._rows = self._rows, []
        columns = {edge: at for at, edge in enumerate(sorted({e for row in rows for e in row}), 1)}
        parts = list[str]()
        for row in rows:
            left = 0
            parts.append("<tr>")
            for edge, words in row.items():
                parts.append(f'<td colspan="{columns[edge] - left}">{words}</td>')
                left = columns[edge]
        return [f"<table>{''.join(parts)}</table>"] if rows else []
