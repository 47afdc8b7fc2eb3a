"""Tables of PDFs: rows kept, labels known, order of words, and milliseconds a page.

``python -m rag bench --only tables`` draws tables of many kinds and reads them; words and pace are
those of 20 evenly spaced pages of the PDFs in the collection ``aragog``, beside pypdf's.
"""

import difflib
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pypdfium2
from pypdf import PdfReader

from rag import Document
from rag.readers.content import Source
from rag.readers.pdf.layout import PageTable, page_blocks
from rag.readers.pdf.pdfium import PdfiumPages
from rag.readers.pdf.reader import read_pdf
from tests.drawn_tables import SEEDS, drawn_pdfs, kept
from tests.highlights import PAGES, sample_pages


def measure(folder: Path, *, seeds: Sequence[int] = SEEDS, pages: int = PAGES) -> dict[str, float]:
    """Shares of rows and of labels by kind of table; similarity and milliseconds."""
    figures = dict[str, float]()
    for kind, (rows, whole, labelled) in by_kind(seeds).items():
        figures[f"{kind}: rows kept"] = whole / rows
        figures[f"{kind}: labels known"] = labelled / rows
    drawn = sample_pages(folder / "aragog" / "pdfs", pages)
    likeness = [alike for alike, _, _ in compared(drawn)]
    figures["least likeness to pdfium's order of words"] = min(likeness)
    figures["mean likeness to pdfium's order of words"] = sum(likeness) / len(likeness)
    timed = list(compared(drawn))
    figures["ms a page"] = 1000 * sum(mine for _, mine, _ in timed) / len(timed)
    figures["ms a page, pypdf"] = 1000 * sum(other for *_, other in timed) / len(timed)
    return figures


def by_kind(seeds: Sequence[int] = SEEDS) -> dict[str, tuple[int, int, int]]:
    """Rows drawn, rows kept, and rows under the right labels, by kind of table."""
    counts = dict[str, tuple[int, int, int]]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.pdf"
        for drawn in drawn_pdfs(seeds):
            path.write_bytes(drawn.data)
            content = read_pdf(Source(path))
            document = Document("d", "", "", "", content.text, tables=content.tables)
            before = counts.get(drawn.kind, (0, 0, 0))
            rows, whole, labelled = (
                a + b for a, b in zip(before, kept(document, drawn), strict=True)
            )
            counts[drawn.kind] = rows, whole, labelled
    return counts


def compared(pages: list[tuple[Path, int]]) -> Iterator[tuple[float, float, float]]:
    """For each page: how alike its words are to pdfium's own text in their order (difflib's
    ratio), CPU seconds to read it here, and by pypdf."""
    for path, number in pages:
        started = time.process_time()
        with PdfiumPages(Source(path)) as held:
            ink = held.ink(number - 1)
            blocks = page_blocks(ink.words.words, ink.drawn)
        mine = time.process_time() - started
        started = time.process_time()
        PdfReader(path).pages[number - 1].extract_text()
        theirs = time.process_time() - started
        words = [
            word
            for block in blocks
            for line in ([block] if isinstance(block, str) else _lines(block))
            for word in line.split()
        ]
        with pypdfium2.PdfDocument(path) as document:
            text = document[number - 1].get_textpage().get_text_range()
        other = text.replace("\ufffe", "-").split()
        yield difflib.SequenceMatcher(None, words, other, autojunk=False).ratio(), mine, theirs


def _lines(table: PageTable) -> list[str]:
    return [*table.caption, *(" ".join(row) for row in table.table.rows)]
