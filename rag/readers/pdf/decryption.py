"""A copy of an encrypted PDF without its encryption."""

from __future__ import annotations

from rag.errors import UnreadableDocument
from rag.readers.content import Content, Source
from rag.readers.pdf.pdfium import damaged_pdf
from rag.readers.pdf.reader import open_reader


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
