"""The meaning of a reader's exceptions: a damaged file, a file that is too large, or a defect."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from rag.errors import UnreadableDocument

FRESH_COPY = "Open it in the program that made it, save a fresh copy, and add that."
_PROGRAM = str(Path(__file__).parents[1])
_XML_LIMITS = {2, 114}  # libxml2: ERR_NO_MEMORY, ERR_RESOURCE_LIMIT


class ReaderDefect(Exception):
    """A fault of the program in a reading process; the text is the traceback there."""


def explain_failure(error: Exception, extension: str) -> UnreadableDocument | None:
    """Return the error to show for a file; None for a defect of the program, which must be logged.

    Parsers raise any exception on hostile input. An exception from the project's own lines is a
    defect, unless they cannot process a value or the depth of nesting.
    """
    if isinstance(error, ImportError | NameError):
        return None
    if _is_ours(error) and not isinstance(error, ValueError | OSError | RecursionError):
        return None
    etree = sys.modules.get("lxml.etree")
    if etree and isinstance(error, etree.XMLSyntaxError) and error.code in _XML_LIMITS:
        return UnreadableDocument(
            "The unpacked file has a part that is too large or nested too deep.",
            "Split it into smaller files.",
            reason="too_large",
        )
    return damaged(f"it cannot be read as .{extension}")


def damaged(why: str, hint: str = FRESH_COPY) -> UnreadableDocument:
    """The error for a damaged file; ``why`` ends a sentence."""
    return UnreadableDocument(f"The file is damaged: {why}.", hint, reason="damaged")


def _is_ours(error: Exception) -> bool:
    """Whether a line of this package raised it, and not a library that it called."""
    innermost = traceback.extract_tb(error.__traceback__)[-1:]
    return any(frame.filename.startswith(_PROGRAM) for frame in innermost)
