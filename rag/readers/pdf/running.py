"""Running heads and feet, values of forms, and notes: all that stands beside the text of pages.

Running heads are lines that pages repeat at their top and bottom.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag.readers.content import attempt
from rag.readers.pdf.rows import Row, rows_of
from rag.readers.pdf.words import PageWords, Turn, Word

if TYPE_CHECKING:
    from pypdf import PdfReader

_BAND = 0.13  # share of the page's height at its top and at its bottom
_GRAIN = 5.0  # points within which lines of two pages are equally high
_LEAST_PAGES = 3
_LONGEST = 120  # characters that are compared
_SEVERAL_WORDS = 6  # of a line in which a page number may stand among them
_LEAST_COLUMNS = 3  # of a row that may be the header of a table that goes on over pages
_CLOSE = 1.2  # line heights to the next row within a table

_PAGE_NUMBER = re.compile(
    r"\W*(?:[a-z]{1,2}-)?(\d{1,5})\W*(?:(?:of|von|de|di|van|af|av|sur|z|/)\W*\d{1,5}\W*)?"
)
_PAGE_WORD = re.compile(
    r"\b(?:pages?|pg|p|seite|s|pagina|página|pag|pág|sida|side|sivu|strana|strona|str|oldal|sayfa"
    r"|стр|страница|頁|页|ページ|페이지)\b\.?"
)

_LETTER = re.compile(r"[^\W\d_]")

_Key = tuple[str, int, bool]


@dataclass(frozen=True, slots=True)
class Running:
    """The running head and foot of a page: the places of their words, and their lines as text.

    ``title`` is the head of a section, on the first of its pages.
    """

    places: frozenset[int]
    text: str
    title: str = ""


def running_lines(pages: Sequence[PageWords]) -> list[Running]:
    """For each page the lines in the outer bands that come back at the same height on more than
    half of the pages, or of those of odd or of even number, and on at least three.

    They may differ in a page number, which grows with the pages: it stands alone, or in a line of
    several other words. Lines with other figures, such as the number of an invoice, are text. Where
    the pages of each section have a head of their own, that is a running line, too. A page of which
    nothing would be left keeps its lines.
    """
    if len(pages) < _LEAST_PAGES:
        return [Running(frozenset(), "")] * len(pages)
    lines = [list(_edge_lines(page, number)) for number, page in enumerate(pages)]
    seen: dict[_Key, set[int]] = defaultdict(set)
    offsets: Counter[tuple[str, int]] = Counter()
    for number, page in enumerate(lines):
        offsets.update((key[0], _page_number(row) - number) for key, row in page)
    for number, page in enumerate(lines):
        for key, row in page:
            if "#" not in key[0] or offsets[key[0], _page_number(row) - number] > 1:
                seen[key].add(number)
    runs = {key for key in seen if _runs(_near(key, seen), len(pages))}
    running, titles = list[Running](), ["", ""]
    for mine, own, head in zip(pages, lines, _section_heads(lines), strict=True):
        running_rows = (row for key, row in own if key in runs or row in head)
        rows = list({id(row): row for row in running_rows}.values())
        places = frozenset(word.place for row in rows for word in row.words)
        if not places or all(word.place in places for word in mine.words):
            rows, places = [], frozenset()
        texts = [segment.text for row in rows if row in head for segment in row.segments]
        titles.append(" ".join(text for text in texts if not _page_mark(text.casefold())))
        title = "" if titles[-1] in titles[-3:-1] else titles[-1]
        running.append(Running(places, "\n".join(row.text for row in rows), title))
    return running


def _section_heads(pages: Sequence[Sequence[tuple[_Key, Row]]]) -> list[list[Row]]:
    """For each page the line that several pages of its section have at the same height, if any.

    Left and right pages may have different ones. There are at least two sections on left or on
    right pages, and they cover most pages.
    """
    for height in sorted({key[1] for page in pages for key, _ in page if key[2]}):
        lines = [
            [(text, row) for (text, place, at_top), row in page if at_top and place == height][:1]
            for page in pages
        ]
        heads = dict[int, str]()
        for step in (1, 2):
            for number, (one, other) in enumerate(zip(lines, lines[step:], strict=False)):
                if one and other and one[0][0] == other[0][0] and _LETTER.search(one[0][0]):
                    heads |= {number: one[0][0], number + step: one[0][0]}
        sides = Counter(side for side, _ in {(number % 2, text) for number, text in heads.items()})
        if max(sides.values(), default=0) > 1 and _runs(set(heads), len(pages)):
            return [[line[0][1]] if n in heads else [] for n, line in enumerate(lines)]
    return [[] for _ in pages]


def _edge_lines(page: PageWords, number: int) -> Iterator[tuple[_Key, Row]]:
    """Rows in the bands of a page, from the top, each with what makes it the same as others.

    A long row has several of these: one for each of its numbers, as seen from page ``number``.
    """
    high = page.turn.height
    rows = rows_of(
        word
        for word in page.words
        if not word.turned and (word.bottom < _BAND * high or word.top > (1 - _BAND) * high)
    )
    for index, row in enumerate(rows):
        at_top = row.top < high / 2
        below = rows[index + 1] if index + 1 < len(rows) else None
        if at_top and below is not None and _is_header(row, below):
            continue
        segments = [segment.text.casefold() for segment in row.segments]
        folded = " ".join("#" if _page_mark(text) else text for text in segments)[:_LONGEST]
        place = round((row.top if at_top else high - row.top) / _GRAIN), at_top
        yield (folded, *place), row
        if len(row.words) >= _SEVERAL_WORDS:
            for digits in re.finditer(r"(?<![\d.,])\d{1,6}(?![\d.,])", folded):
                offset = f"{int(digits[0]) - number}"
                yield (f"{folded[: digits.start()]}{offset}{folded[digits.end() :]}", *place), row


def _page_mark(text: str) -> re.Match[str] | None:
    """The number of a page, perhaps with that of all pages, and nothing else."""
    return _PAGE_NUMBER.fullmatch(_PAGE_WORD.sub("", text))


def _page_number(row: Row) -> int:
    marks = (_page_mark(segment.text.casefold()) for segment in row.segments)
    return next((int(mark[1]) for mark in marks if mark), -1)


def _is_header(row: Row, below: Row) -> bool:
    """Whether a row of several cells stands right over another one: a table begins."""
    several = len(row.segments) >= _LEAST_COLUMNS and len(below.segments) >= _LEAST_COLUMNS
    return several and below.top - row.bottom < _CLOSE * row.height


def _near(key: _Key, seen: dict[_Key, set[int]]) -> set[int]:
    text, height, at_top = key
    return set[int]().union(*(seen.get((text, height + step, at_top), ()) for step in (-1, 0, 1)))


def _runs(numbers: set[int], count: int) -> bool:
    odd = sum(number % 2 for number in numbers)
    sides = ((len(numbers), count), (odd, count // 2), (len(numbers) - odd, (count + 1) // 2))
    return any(count >= _LEAST_PAGES and count > pages / 2 for count, pages in sides)


_HIDDEN, _PUSH_BUTTON = 1 << 1, 1 << 16  # flags of annotations and of buttons (ISO 32000-1, 12)
_TALLEST_LINE = 14.0  # points
_LETTER_WIDTH = 0.5  # width of a letter by its height, on average
_LINE = 0.5  # of the lower one's height that a value shares with its label
_FURTHEST = 300.0  # points from a value to its label
_FURTHEST_TICK = 30.0
_MARKUP = frozenset(
    ["/Text", "/Highlight", "/Underline", "/Squiggly", "/StrikeOut", "/Caret", "/Stamp"]
)


@dataclass(frozen=True, slots=True)
class Annotation:
    """A value of a form or a text on the page, in its box (left, top, right, bottom); notes that
    open on a click have none."""

    kind: str
    text: str
    box: tuple[float, float, float, float] | None = None
    is_ticked_box: bool = False


def annotations_of(reader: PdfReader | None, index: int, turn: Turn) -> list[Annotation]:
    """Return the values and notes of a page; none where its annotations are damaged."""
    pages = reader.pages if reader else []
    return attempt(lambda: list(_annotations(pages[index], turn)), [])


def attachments_of(reader: PdfReader | None) -> list[str]:
    """Return the names of the files that a PDF carries."""
    return attempt(lambda: list(reader.attachments) if reader else [], [])


def _annotations(page: Any, turn: Turn) -> Iterator[Annotation]:
    for reference in page.get("/Annots") or ():
        item = reference.get_object()
        if int(item.get("/F", 0)) & _HIDDEN:
            continue
        left, bottom, right, top = map(float, item["/Rect"])
        box = turn.box(min(left, right), max(top, bottom), max(left, right), min(top, bottom))
        contents = " ".join(str(item.get("/Contents") or "").split())
        if item["/Subtype"] == "/Widget":
            yield from _field(item, box)
        elif item["/Subtype"] == "/FreeText" and contents:
            yield Annotation("notes", contents, box)
        elif item["/Subtype"] in _MARKUP and contents:
            yield Annotation("notes", contents)


def _field(widget: Any, box: tuple[float, float, float, float]) -> Iterator[Annotation]:
    kind, value = _inherited(widget, "/FT"), _inherited(widget, "/V")
    if kind == "/Btn":
        if not int(_inherited(widget, "/Ff") or 0) & _PUSH_BUTTON:
            ticked = widget.get("/AS", "/Off") != "/Off"
            yield Annotation("form_fields", "☒" if ticked else "☐", box, is_ticked_box=True)
        return
    values = value if isinstance(value, list) else [value]
    text = " ".join(" ".join(str(one).split()) for one in values if one is not None)
    if text and kind in ("/Tx", "/Ch"):
        yield Annotation("form_fields", text, box)


def _inherited(field: Any, key: str) -> Any:
    """A property of a field, or of the nearest field above that has it."""
    for _ in range(16):  # a loop of parents ends
        if field is None or key in field:
            break
        parent = field.get("/Parent")
        field = parent.get_object() if parent is not None else None
    return None if field is None or key not in field else field[key]


def with_values(words: Sequence[Word], annotations: Sequence[Annotation]) -> list[Word]:
    """Return the words of a page with the texts of annotations behind the labels beside them."""
    merged = list(words)
    place = max((word.place for word in words), default=-1)
    for annotation in annotations:
        if annotation.box is None:
            continue
        value = _laid_out(annotation.text, annotation.box, place + 1)
        place += len(value)
        at = _label(merged, annotation)
        behind = merged[at : at + 1] if annotation.is_ticked_box else []
        if behind and value and 0 <= behind[0].left - value[0].right < _FURTHEST_TICK:
            value[0].right = behind[0].left - 1  # one cell with its label
        merged[at:at] = value
    return merged


def _laid_out(text: str, box: tuple[float, float, float, float], place: int) -> list[Word]:
    """The words of a value, side by side in its box."""
    left, top, right, bottom = box
    height = min(bottom - top, _TALLEST_LINE)
    top = (top + bottom - height) / 2 if bottom - top < 2 * _TALLEST_LINE else top
    step = min(_LETTER_WIDTH * height, (right - left) / max(len(text), 1))
    words = list[Word]()
    for number, word in enumerate(text.split()):
        end = left + step * len(word)
        words.append(Word(word, left, top, end, top + height, place + number, is_value=True))
        left = end + step
    return words


def _label(words: Sequence[Word], annotation: Annotation) -> int:
    """Return the index in the words at which a value belongs: behind the nearest one to its left,
    on its line; a box to tick before the nearest one to its right; else behind the nearest above.
    """
    left, top, right, bottom = annotation.box or (0.0, 0.0, 0.0, 0.0)

    def is_level(word: Word) -> bool:
        shared = min(word.bottom, bottom) - max(word.top, top)
        return shared > _LINE * min(word.height, bottom - top)

    level = [(at, word) for at, word in enumerate(words) if is_level(word)]
    before = [(left - word.right, at + 1) for at, word in level if word.right <= left + 2]
    after = [(word.left - right, at) for at, word in level if word.left >= right - 2]
    if annotation.is_ticked_box and after and min(after) < min(before, default=(_FURTHEST, 0)):
        return min(after)[1]
    if before and min(before)[0] < _FURTHEST:
        return min(before)[1]
    above = [(top - word.bottom, at + 1) for at, word in enumerate(words) if word.bottom <= top + 2]
    return min(above)[1] if above else 0
