"""Coverage of a passage's words by the boxes on its page, read back from the file itself."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pypdfium2

from rag import Document, IndexRecipe, readers
from rag.chunking import chunks
from rag.readers import Mark
from rag.readers.pdf.page_image import Box
from rag.readers.pdf.rows import clean_page
from rag.types import Page
from tests.tokenizers import WordPiece

PAGES = 20  # of the real collection, taken at even distances from all there are
_MARKS = "\x02\ufffe"  # what pdfium puts in the place of a hyphen at the end of a line


@dataclass(frozen=True, slots=True)
class Coverage:
    """A passage on a page: its words, those in its boxes, and how many of each the other has.

    Words are counted with repetition; one that only one side glues to its neighbour is had.
    """

    file: str
    page: int
    wanted: int
    covered: int
    inside: int
    rightly: int

    @property
    def overlap(self) -> float:
        """The smaller of two shares: of the passage in boxes, and of the boxes in the passage."""
        return min(self.covered / self.wanted, self.rightly / max(self.inside, 1))


def sample_pages(folder: Path, count: int = PAGES) -> list[tuple[Path, int]]:
    """Pages of the PDFs of a folder, evenly spaced: which ones was not chosen by their figures."""
    every = all_pages(folder)
    return [every[round(place)] for place in np.linspace(0, len(every) - 1, count)]


def all_pages(folder: Path) -> list[tuple[Path, int]]:
    """Every page of the PDFs of a folder."""
    paths = sorted(folder.glob("*.pdf"))
    return [(path, number + 1) for path in paths for number in range(_pages(path))]


def coverages(pages: Sequence[tuple[Path, int]]) -> Iterator[Coverage]:
    """Every passage on some pages, cut by the default recipe."""
    for path in dict.fromkeys(path for path, _ in pages):
        document = readers.read(path, path.name)
        cut = list(chunks(document, IndexRecipe(), WordPiece()))
        wanted = {number for other, number in pages if other == path}
        for page in (each for each in document.pages if each.number in wanted):
            spans = [(max(each.start, page.start), min(each.end, page.end)) for each in cut]
            yield from _page(path, document, page, [span for span in spans if span[0] < span[1]])


def _page(
    path: Path, document: Document, page: Page, spans: Sequence[tuple[int, int]]
) -> Iterator[Coverage]:
    text = document.text[page.start : page.end]
    marks = [Mark(start - page.start, end - page.start) for start, end in spans]
    drawn = readers.draw(path, page.number, text, marks)
    for (start, end), boxes in zip(spans, drawn.boxes, strict=True):
        wanted = _words(document.text[start:end])
        if wanted:
            inside = _words(clean_page(text_inside(path, page.number, boxes)))
            covered, rightly = _had(wanted, inside), _had(inside, wanted)
            yield Coverage(path.name, page.number, len(wanted), covered, len(inside), rightly)


def _had(words: Sequence[str], others: Sequence[str]) -> int:
    """Count the words that ``others`` has too: unchanged, joined to a neighbour, or split off."""
    missing, glued = Counter(words) - Counter(others), "".join(others)
    found = sum(count for word, count in missing.items() if len(word) > 2 and word in glued)
    return len(words) - missing.total() + found


def text_inside(path: Path, number: int, boxes: Sequence[Box]) -> str:
    """The text that pypdfium2 reads from the characters whose centre lies in one of the boxes."""
    letters, x, y = _characters(path, number)
    covered = np.zeros(len(letters), bool)
    for left, top, right, bottom in boxes:
        covered |= (left <= x) & (x <= right) & (top <= y) & (y <= bottom)
    kept = ""
    for letter, inside in zip(letters, covered, strict=True):
        if letter.isspace() or letter in _MARKS or inside:
            kept += letter
        elif letter.isalnum():
            kept += " "
    return kept.replace(_MARKS[0], _MARKS[1])


@lru_cache(maxsize=8)
def _characters(path: Path, number: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The characters of a page with their middles, as shares of its width and height."""
    pdf = pypdfium2.PdfDocument(path)
    page = pdf[number - 1]
    textpage, (left, bottom, right, top) = page.get_textpage(), page.get_bbox()
    count = textpage.count_chars()
    letters = [textpage.get_text_range(index, 1) for index in range(count)]
    places = [textpage.get_charbox(index) for index in range(count)]
    x0, y0, x1, y1 = np.array(places).reshape(-1, 4).T
    pdf.close()
    return letters, ((x0 + x1) / 2 - left) / (right - left), (top - (y0 + y1) / 2) / (top - bottom)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


def _pages(path: Path) -> int:
    pdf = pypdfium2.PdfDocument(path)
    count = len(pdf)
    pdf.close()
    return count
