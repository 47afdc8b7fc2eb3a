"""PDF: text and tables by pdfium, outline and metadata by pypdf, which also stands in for it."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag.errors import UnreadableDocument
from rag.readers.content import Composer, Content, Source, attempt
from rag.readers.dates import stated_day
from rag.readers.pdf.layout import PageTable, page_blocks
from rag.readers.pdf.pdfium import (
    PageInk,
    PdfiumPages,
    damaged_pdf,
    unknown_encryption,
    wrong_password,
)
from rag.readers.pdf.rows import clean_page
from rag.readers.pdf.running import (
    annotations_of,
    attachments_of,
    running_lines,
    with_values,
)
from rag.readers.recognition import DPI, Recognised, Recogniser, available
from rag.readers.tables import Grid, line
from rag.types import Heading

if TYPE_CHECKING:
    from pypdf import PdfReader
    from pypdf.generic import Destination

_PROSE_LINE = 60  # characters: a line of prose between two tables parts them
_MOST_DIGITS = 0.1  # of the characters of such a line
_MOST_HEADINGS = 5000
_AT_ONCE = 200  # pages whose words are held in memory, and compared for running heads
_GOOD = 0.7  # plausibility below which the other library is asked, too
_BETTER = 0.1  # by how much its text must be more plausible
_READABLE = 0.65
_MOST_UNMAPPED = 0.3

_SAMPLE = 6000  # characters
_LEAST_DIFFERENT, _NEARLY_ALL = 8, 0.9
_LEAST_LETTERS = 80  # below which the look of words says nothing
# Names of glyphs, private and unknown characters, controls.
_UNMAPPED = re.compile(
    r"(?:/[A-Za-z]{1,3}\d{1,4}){2,}|\(cid:\d+\)|[\ue000-\uf8ff\ufffd\x00-\x08\x0e-\x1f\x7f-\x9f]+"
)
# UTF-8 that was read as one byte a character: "Ã¤", "â€™", "Ð¿".
_MISREAD = re.compile(r"[ÂÃÄÅÐÑÎÏ][\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â[€‚„†][\x80-\xbf™œ“”¦˜]?")
_WORD = re.compile(r"[A-Za-z]{3,}")
_VOWELS = frozenset("aeiouyAEIOUY")
_VOWEL_SHARE = 0.28  # of the letters of words; languages in Latin letters have .33 to .5


def read_pdf(source: Source) -> Content:
    """Text of all pages that have any, tables as rows, outline entries as headings, metadata.

    What pages repeat at their top and bottom is their ``head`` and not in the text. Pages without
    text of their own that are pictures are recognised, where the packages for it are installed.
    The receipt counts the lines of heads, pages that are pictures, pages without text, and those
    whose fonts do not say which characters they show.

    Raises UnreadableDocument: needs_password, encrypted, scanned, empty, damaged, too_large.
    """
    reader = open_reader(source)
    with PdfiumPages(source) as pages:
        count = (len(reader.pages) if reader else 0) or pages.count()
        if count > source.limits.max_pages:
            raise UnreadableDocument(
                f"The PDF has {count:,} pages. The limit is {source.limits.max_pages:,}.",
                "Split the file into smaller ones.",
                reason="too_large",
            )
        reading = _Reading(reader, pages)
        source.tick(0, count)
        parts = -(-count // _AT_ONCE)
        edges = [round(count * part / parts) for part in range(parts + 1)]
        for first, last in itertools.pairwise(edges):
            reading.read(first, last, source, count)
        for number in reading.unreadable:
            reading.composer.leave_out("unreadable_page", f"page {number}")
        for name in attachments_of(reader):
            reading.composer.leave_out("attachment", name)
        content = reading.composer.content(
            title=_information(reader, "/Title"),
            author=_information(reader, "/Author"),
            date=stated_day(_information(reader, "/CreationDate")),
            pages=str(count),
        )
        if not content.text:
            raise pages.why_silent(count, broken=reader is None)
    return replace(content, headings=tuple(_headings(reader, content)) or content.headings)


def count_pages(source: Source) -> Content:
    """The number of pages, as text. Raises UnreadableDocument."""
    with PdfiumPages(source) as pages:
        return Content(str(pages.count()))


class _Reading:
    """A reading that adds pages to a document; ``unreadable`` are numbers of pages."""

    def __init__(self, reader: PdfReader | None, pages: PdfiumPages) -> None:
        self._reader = reader
        self._pages = pages
        self.composer = Composer()
        self.unreadable = list[int]()
        self._recogniser: Recogniser | None = None
        self._read = 0
        self._above: PageTable | None = None  # what the page before ends with
        self._labelled: PageTable | None = None  # what the next one may be a part of

    def read(self, first: int, last: int, source: Source, count: int) -> None:
        """Pages ``first`` to ``last`` (exclusive, from 0) together."""
        inks, pictures = list[PageInk](), dict[int, Recognised]()
        if self._recogniser is None and available():
            self._recogniser = Recogniser(lambda: source.tick(self._read, count))
        for index in range(first, last):
            inks.append(self._pages.ink(index))
            if not inks[-1].words.words and self._pages.is_picture(index):
                self._recognise(index, pictures)
            self._read = index + 1
            source.tick(self._read, count)
        running = running_lines([ink.words for ink in inks])
        for index, (ink, lines) in enumerate(zip(inks, running, strict=True), first):
            words = [word for word in ink.words.words if word.place not in lines.places]
            text = " ".join(word.text for word in words)
            other = None if index in pictures else self._better(text, index)
            if index + 1 in self.unreadable[-1:] or (other == "" and words):
                self._recognise(index, pictures, plausibility(other or text) + _BETTER)
            if index in pictures:
                recognised = pictures[index]
                label = self._pages.label(index)
                self.composer.page(index + 1, confidence=recognised.confidence, label=label)
                self.composer.block(clean_page(recognised.text))
                self.composer.count("recognised_pages")
                if index + 1 in self.unreadable[-1:] and plausibility(recognised.text) >= _READABLE:
                    self.unreadable.pop()
                self._above = self._labelled = None
                continue
            head = lines.text if other is None else ""
            self.composer.page(index + 1, head, label=self._pages.label(index))
            self.composer.count("running_lines", len(head.splitlines()))
            if head:
                self.composer.heading(1, lines.title)
            for kind, number in ink.left_out.items():
                self.composer.leave_out(kind, number=number)
            reader = self._reader if ink.has_notes else None
            notes = annotations_of(reader, index, ink.words.turn)
            blocks: list[str | PageTable] = [other] if other is not None else []
            if other is None:
                blocks = page_blocks(with_values(words, notes), ink.drawn)
            if not self._add(blocks):
                # Count a page that shows something, but has no text
                if self._pages.is_picture(index):
                    self.composer.leave_out("picture_page", f"page {index + 1}")
                elif self._pages.has_objects(index):
                    self.composer.leave_out("textless_page", f"page {index + 1}")
            # Count the values of a page, and add the notes that open on a click
            for note in notes:
                self.composer.count(note.kind)
                if note.box is None:
                    self.composer.block(f"Note: {note.text}")

    def _recognise(
        self, index: int, pictures: dict[int, Recognised], plausible: float = 0.0
    ) -> None:
        """Note what a page shows, where that is at least so plausible."""
        if self._recogniser is None:
            return
        picture = self._pages.picture(index, DPI)
        recognised = self._recogniser.read(picture) if picture else None
        if recognised is not None and plausibility(recognised.text) >= plausible:
            pictures[index] = recognised

    def _better(self, text: str, index: int) -> str | None:
        """Return pypdf's text of a page if it is more plausible than the text of pdfium, else None.

        Return "" if too many characters of the better text are unmapped. Add pages that neither can
        read to ``unreadable``.
        """
        mine = plausibility(text)
        if mine >= _GOOD:
            return None
        pages = self._reader.pages if self._reader else []
        other = attempt(lambda: str(pages[index].extract_text()), "")
        theirs = plausibility(other)
        best, score = (other, theirs) if theirs > mine + _BETTER or not text else (text, mine)
        if best.strip() and score < _READABLE:
            self.unreadable.append(index + 1)
        if unmapped_share(best) > _MOST_UNMAPPED:
            return ""
        return best if best is other else None

    def _add(self, blocks: Sequence[str | PageTable]) -> bool:
        """Whether any of the blocks of a page has a text."""
        before, self._above = self._above, None
        has_text = False
        if not any(isinstance(block, PageTable) for block in blocks):
            self._labelled = None
        for number, block in enumerate(blocks):
            if isinstance(block, str):
                if any(map(_is_prose, block.splitlines())):
                    self._labelled = None
                has_text = self.composer.block(clean_page(block)) is not None or has_text
                continue
            if number == 0 and before is not None and block.continues(before):
                block = block.under(before)
            elif self._labelled is not None and block.is_part_of(self._labelled):
                block = block.under(self._labelled)
            self._labelled = block if block.table.column_labels else None
            rows = (clean_page(line(cells)) for cells in block.table.rows)
            above = tuple(map(clean_page, block.caption))
            labels = tuple(clean_page(label) for label in block.table.labels)
            grid = Grid(above, labels, rows, len(block.table.rows[0]))
            self.composer.table(grid, title=block.title)
            has_text = True
            if number == len(blocks) - 1:
                self._above = block
        return has_text


def _is_prose(line: str) -> bool:
    """Whether a line is long and has few digits; a row that is no table has many."""
    return len(line) >= _PROSE_LINE and sum(map(str.isdigit, line)) < _MOST_DIGITS * len(line)


def open_reader(source: Source) -> PdfReader | None:
    """The opened and decrypted file, or None where pypdf cannot read it at all."""
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError

    try:
        reader = PdfReader(source.path)
        if reader.is_encrypted and not reader.decrypt(source.password or ""):
            raise wrong_password(source.password)
        _ = len(reader.pages)
    except FileNotDecryptedError as error:
        raise wrong_password(source.password) from error
    except NotImplementedError as error:
        raise unknown_encryption() from error
    except (UnreadableDocument, MemoryError):
        raise
    except Exception:  # pypdf raises anything at all on damaged files; pdfium has its turn
        return None
    return reader


def _headings(reader: PdfReader | None, content: Content) -> Iterator[Heading]:
    """Entries of the outline where their titles stand, in the order of the text."""
    pages = {page.number: page for page in content.pages}
    searched: dict[int, int] = {}
    headings = list[Heading]()
    for level, title, index in _outline(reader):
        if page := pages.get(index + 1):
            text = content.text[page.start : page.end]
            offset, searched[index] = title_offset(title, text, searched.get(index, 0))
            headings.append(Heading(page.start + offset, level, title))
    yield from sorted(headings, key=lambda heading: heading.start)


def _outline(reader: PdfReader | None) -> Iterator[tuple[int, str, int]]:
    """Level, title and page index of outline entries. A broken outline ends where it breaks."""
    if reader is None:
        return
    try:
        entries = _flatten(reader.outline, 1)
        for _, (level, entry) in zip(range(_MOST_HEADINGS), entries, strict=False):
            title = " ".join(str(entry.title or "").replace("\x00", "").split())
            index = reader.get_destination_page_number(entry)
            if title and index is not None:
                yield level, title, index
    except MemoryError:
        raise
    except Exception:  # the outline is a bonus: no fault in it makes the text unreadable
        return


def _flatten(entries: list[Any], level: int) -> Iterator[tuple[int, Destination]]:
    for entry in entries:
        if isinstance(entry, list):
            yield from _flatten(entry, level + 1)
        else:
            yield level, entry


def title_offset(title: str, page: str, after: int) -> tuple[int, int]:
    """Return the start of the line with ``title``, and the start of the search for the next title.

    Only lines that start with the title (perhaps numbered) count, from ``after`` on. If the title
    is not on the page (outlines may say anything), both are ``after``, where the last title ended.
    """
    words = r"\s+".join(re.escape(word) for word in title.split())
    numbered = rf"^[ \t]*(?-i:(?:\d+|[A-Z]|[IVX]+)(?:\.\d+)*\.?\s+)?{words}"
    match = re.compile(numbered, re.IGNORECASE | re.MULTILINE).search(page, after)
    return (match.start(), match.end()) if match else (after, after)


def _information(reader: PdfReader | None, key: str) -> str | None:
    about = attempt(lambda: reader.metadata if reader else None, None)
    return attempt(lambda: " ".join(str(about.get(key) or "").split()) if about else None, None)


def unmapped_share(text: str) -> float:
    """Share of the characters that no reader can make anything of; 0 for no text."""
    return sum(len(match.group()) for match in _UNMAPPED.finditer(text)) / max(len(text), 1)


def plausibility(text: str) -> float:
    """From 0 to 1: the share of the text that may be words of some language.

    Counted against it are characters that stand for nothing, UTF-8 read as single bytes, UTF-16
    with its bytes swapped, ASCII read as UTF-16, and words of Latin letters with hardly a vowel, as
    come from fonts whose letters are shifted.
    """
    sample = text[:_SAMPLE]
    visible = sum(not letter.isspace() for letter in sample)
    if not visible:
        return 0.0
    misread = sum(len(match.group()) for match in _MISREAD.finditer(sample))
    bad = (misread + _swapped(sample)) / visible
    return max(0.0, 1.0 - unmapped_share(sample) - bad) * _wordlike(sample)


def _swapped(text: str) -> int:
    """Characters that are bytes of ASCII in the wrong places, where nearly all are."""
    high = [ord(letter) for letter in text if ord(letter) > 0xFF]
    moved = [code for code in high if not code & 0xFF and chr(code >> 8).isalnum()]
    pairs = [code for code in high if _is_ascii(code >> 8) and _is_ascii(code & 0xFF)]
    for wrong in (moved, pairs):
        if len(set(wrong)) >= _LEAST_DIFFERENT and len(wrong) > _NEARLY_ALL * len(high):
            return len(wrong)
    return 0


def _is_ascii(code: int) -> bool:
    return 0x20 <= code < 0x7F


def _wordlike(text: str) -> float:
    plain = unicodedata.normalize("NFKD", text)
    words = "".join(_WORD.findall("".join(c for c in plain if not unicodedata.combining(c))))
    others = sum(unicodedata.category(letter) == "Lo" for letter in text)
    if len(words) < _LEAST_LETTERS or others > len(words):
        return 1.0
    share = sum(letter in _VOWELS for letter in words) / len(words)
    return min(1.0, (share / _VOWEL_SHARE) ** 2)


def decrypt(source: Source) -> Content:
    """Write the copy to the path that ``source.about`` names as ``target``; return no text.

    The same file gives the same bytes each time. Raises UnreadableDocument: needs_password,
    encrypted, damaged.
    """
    from pypdf import PdfWriter

    reader = open_reader(source)
    if reader is None:
        raise damaged_pdf()
    try:
        PdfWriter(clone_from=reader).write(str(source.about["target"]))
    except MemoryError:
        raise
    except Exception as error:  # pypdf raises anything at all on damaged files
        raise UnreadableDocument(
            "The password opens this PDF, but no copy without encryption can be made of it.",
            "Save a copy without one (print to PDF) and add that.",
            reason="encrypted",
        ) from error
    return Content("")
