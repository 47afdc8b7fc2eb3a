"""PDF by pypdf, page by page; pdfium steps in where pypdf fails or finds no text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rag.errors import UnreadableDocument
from rag.readers.content import Composer, Content, Source
from rag.readers.dates import stated_day
from rag.readers.pdf.pdfium import PdfiumPages, unknown_encryption, wrong_password

if TYPE_CHECKING:
    from pypdf import PdfReader
    from pypdf.generic import Destination

_MOST_HEADINGS = 5000
# Ligatures and the positional forms of Hebrew and Arabic: shapes of letters, not letters.
_SHAPES = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]")
_HYPHENATED = re.compile(r"([^\W\d_])[-\u2010\u00ad][ \t]*\r?\n([^\W\d_])")
# What comes out of fonts that do not say which characters their glyphs stand for.
_UNMAPPED = re.compile(r"(?:/[A-Za-z]{1,3}\d{1,4}){2,}|[\ue000-\uf8ff\ufffd\x00-\x08\x0e-\x1f]+")


def read_pdf(source: Source) -> Content:
    """Text of all pages that have any, outline entries as headings, title, author and date.

    Raises UnreadableDocument: needs_password, encrypted, scanned, empty, damaged, too_large.
    """
    reader = open_reader(source)
    with PdfiumPages(source) as other:
        count = (len(reader.pages) if reader else 0) or other.count()
        if count > source.limits.max_pages:
            raise UnreadableDocument(
                f"The PDF has {count:,} pages; at most {source.limits.max_pages:,} are read.",
                "Split the file into smaller ones.",
                reason="too_large",
            )
        composer, silent = Composer(), list[int]()
        places: dict[int, tuple[int, str]] = {}
        source.tick(0, count)
        for index in range(count):
            text = clean_page(_page_text(reader, other, index))
            composer.page(index + 1)
            start = composer.block(text)
            if start is None:
                silent.append(index + 1)
            else:
                places[index] = (start, text)
            source.tick(index + 1, count)
        if not places:
            raise other.why_silent(count, broken=reader is None)
    return _finish(composer, reader, places, silent, count)


def count_pages(source: Source) -> Content:
    """The number of pages, as text. Raises UnreadableDocument."""
    with PdfiumPages(source) as pages:
        return Content(str(pages.count()))


def clean_page(text: str) -> str:
    """Joins words hyphenated at line ends, resolves ligatures, drops spaces at line ends.

    Words otherwise stay as they are on the page, so that passages can be found there again.
    """
    # pdfium marks a hyphen that it took for a soft one with U+FFFE.
    letters = _SHAPES.sub(lambda shape: unicodedata.normalize("NFKC", shape.group()), text)
    joined = re.sub("\ufffe\\s*", "", letters)
    joined = _HYPHENATED.sub(_join_halves, joined).replace("\u00ad", "")
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+(?=\r?\n)", "", joined))


def _join_halves(match: re.Match[str]) -> str:
    before, after = match.groups()
    # "Anglo-\nSaxon" and "GPT-\nNeo" keep their hyphen, "infor-\nmation" loses it.
    return f"{before}{after}" if after.islower() else f"{before}-{after}"


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


def _page_text(reader: PdfReader | None, other: PdfiumPages, index: int) -> str:
    text = ""
    if reader:
        try:
            text = reader.pages[index].extract_text()
        except MemoryError:
            raise
        except Exception:  # as in open_reader: one bad page must not lose the others
            text = ""
    if text.strip() and not _is_garbled(text):
        return text
    second = other.text(index)
    return "" if _is_garbled(second) else second


def _is_garbled(text: str) -> bool:
    unmapped = sum(len(match.group()) for match in _UNMAPPED.finditer(text))
    return unmapped > 0.3 * len(text)


def _finish(
    composer: Composer,
    reader: PdfReader | None,
    places: dict[int, tuple[int, str]],
    silent: list[int],
    count: int,
) -> Content:
    searched: dict[int, int] = {}
    for level, title, index in _outline(reader):
        if index in places:
            start, text = places[index]
            offset, searched[index] = title_offset(title, text, searched.get(index, 0))
            composer.mark(start + offset, level, title)
    return composer.content(
        title=_information(reader, "/Title"),
        author=_information(reader, "/Author"),
        date=stated_day(_information(reader, "/CreationDate")),
        pages=str(count),
        pages_without_text=_ranges(silent),
    )


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
    """Where the line with ``title`` starts, and where the search for the next title may begin.

    Lines that start with the title (perhaps numbered) count, from ``after`` on. A title that is
    not on the page (outlines may say anything) holds from where the last one was found.
    """
    words = r"\s+".join(re.escape(word) for word in title.split())
    numbered = rf"^[ \t]*(?-i:(?:\d+|[A-Z]|[IVX]+)(?:\.\d+)*\.?\s+)?{words}"
    found = re.compile(numbered, re.IGNORECASE | re.MULTILINE).search(page, after)
    return (found.start(), found.end()) if found else (after, after)


def _information(reader: PdfReader | None, key: str) -> str | None:
    try:
        value = reader.metadata.get(key) if reader and reader.metadata else None
        return " ".join(str(value).split()) if value else None
    except MemoryError:
        raise
    except Exception:  # like the outline: a bonus
        return None


def _ranges(numbers: list[int]) -> str:
    """``[3, 7, 8, 9]`` as ``"3, 7-9"``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
