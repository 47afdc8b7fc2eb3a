"""The one rule of what text and which numbers are taken in, at every door.

Doors are the API, MCP, pages and their addresses, question files, bundles and the command line. A
text is a text in every program, a number the same number. Documents are no input in this sense:
readers make the best of whatever a file holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from typing import Any

LONGEST_QUESTION = 8_000  # characters
LONGEST_NAME = 500  # characters of what is named in an address, or in a list of a recipe
LARGEST_NUMBER = 2**53  # beyond it, programs that read JSON disagree (RFC 8259, section 6)
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


_TURNING = {mark: f"\\u{mark:04x}" for mark in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def visible(text: str) -> str:
    r"""Return a text in which the marks that turn the direction of writing are their escapes.

    A name may pretend to be another one by them, as ``report\u202efdp.exe`` does.
    """
    return text.translate(_TURNING)


def composed(name: str) -> str:
    """Return a name in NFC, as names are stored: macOS writes accents as letters of their own."""
    return unicodedata.normalize("NFC", name)


def find_fault(value: Any) -> str:
    """Tell why plain data cannot be taken in, as a sentence without its stop; "" where it can.

    Looks into mappings, keys included, and lists, however deep they are nested.
    """
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if bad := _NO_TEXT.search(item):
                return _NUL if bad.group() == "\0" else _HALF
        elif isinstance(item, int | float):
            if not abs(item) <= LARGEST_NUMBER:  # nor is NaN
                return "There is a number beyond all bounds"
        elif isinstance(item, Mapping):
            waiting += (*item, *item.values())
        elif isinstance(item, Collection) and not isinstance(item, bytes):
            waiting += item
    return ""


def why_not_json(error: Exception) -> str:
    """Tell in plain words why a text was not read as JSON."""
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, ValueError) and "set_int_max_str_digits" in str(error):
        return "it has a number of thousands of digits, and the largest is 9,007,199,254,740,992"
    return str(error)


def storable(text: str) -> str:
    """Make of any text one that is stored: lone surrogates, which no encoding has, are question
    marks, and the character 0, which PostgreSQL does not store, is left out."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def mend(value: Any) -> Any:
    """Make every text in plain data ``storable``."""
    if isinstance(value, str):
        return storable(value) if _NO_TEXT.search(value) else value
    if isinstance(value, list):
        return [mend(item) for item in value]
    if isinstance(value, dict):
        return {mend(key): mend(item) for key, item in value.items()}
    return value


_NUL = "There is a character 0 in the text, which cannot be stored"
_HALF = "There is half a character (a lone surrogate) in the text, which cannot be stored"
