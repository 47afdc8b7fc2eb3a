"""Running heads and feet: lines that pages repeat at their top and bottom."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.readers.pdf.rows import Row, rows_of
from rag.readers.pdf.words import PageWords

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
