"""Extraction of the visible text from a streamed reply.

Chunks of the stream can split words, marks and characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rag.types import Delta

_MARKS = ("<think>", "<thinking>")
_BEGINS = re.compile("<think(?:ing)?>")
_ENDS = re.compile("</think(?:ing)?>")
_LONGEST = len("</thinking>")


def spoken(deltas: Iterable[Delta]) -> Iterator[Delta]:
    """A reply without the thoughts that it begins with, and of readable text."""
    speech = _Speech()
    for delta in deltas:
        yield replace(delta, text=speech.heard(delta.text))
    if rest := speech.rest():
        yield Delta(rest)


def readable(text: str) -> str:
    """``text`` without what nothing can show or store: half characters, and the character 0."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Speech:
    """Hears one piece after the other."""

    def __init__(self) -> None:
        self._held = ""  # the beginning of what may be a mark, or half of a character
        self._thinks = self._thought = self._speaks = False

    def heard(self, piece: str) -> str:
        """Add a chunk of the stream and return the text that is certainly visible."""
        text, self._held = self._held + piece, ""
        if self._thinks:
            end = _ENDS.search(text)
            if end is None:
                self._held = text[-_LONGEST:]
                return ""
            self._thinks, self._thought, text = False, True, text[end.end() :]
        if not self._speaks:
            begun = text.lstrip()
            if begins := _BEGINS.match(begun):
                self._thinks = True
                return self.heard(begun[begins.end() :])
            if any(mark.startswith(begun) for mark in _MARKS):
                self._held = text
                return ""
            self._speaks, text = True, text.lstrip("\r\n") if self._thought else text
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._held = text[:-1], text[-1:]
        return readable(text)

    def rest(self) -> str:
        """Return the buffered text at the end of the stream: an incomplete mark."""
        return "" if self._thinks or self._speaks else self._held
