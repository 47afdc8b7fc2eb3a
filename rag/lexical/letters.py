"""Texts as bare letters: what is left of a text when layout, markup and spelling forms are gone."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.types import Span

_Codes = npt.NDArray[np.uint32]
_ASCII = np.arange(128, dtype=np.uint32)
# What renderers of HTML and Markdown remove although it has letters: tags, entities, and the
# targets of links. Lengths are bounded, so that no text takes long.
MARKUP = re.compile(
    r"<(?:!--|[/!?]?[A-Za-z])[^<>]{0,2000}>"
    r"|&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});"
    r"|(?<=\])\((?:[^()\s]|\([^()\s]{0,200}\)){1,2000}(?:\s{1,9}\"[^\"\n]{0,500}\")?\)"
)


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters and digits of a text, in lower case and without accents, with their places.

    ``text[i]`` comes from the character ``places[i]`` of the text. Ligatures and other forms of
    compatibility are taken apart (NFKD), so one character may have several letters.
    """

    text: str
    places: npt.NDArray[np.int32]

    def span(self, start: int, end: int) -> Span:
        """The span of the letters from ``start`` to ``end`` in the text that they come from."""
        return int(self.places[start]), int(self.places[end - 1]) + 1


def letters_of(text: str) -> Letters:
    """The letters of a text without its white space, punctuation, hyphens and markup."""
    characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    distinct, which = _distinct(characters, ascii_only=text.isascii())
    spelt = [_spelt(chr(code)) for code in distinct.tolist()]
    lengths = np.array([len(letters) for letters in spelt], np.int32)
    flat = np.frombuffer("".join(spelt).encode("utf-32-le"), np.uint32)
    counts = lengths[which]
    if "<" in text or "&" in text or "](" in text:
        for match in MARKUP.finditer(text):
            counts[match.start() : match.end()] = 0
    places = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    # Where the letters of a character begin among those of all distinct characters.
    starts = (np.cumsum(lengths) - lengths)[which[places]]
    ordinal = np.arange(len(places)) - (np.cumsum(counts) - counts)[places]
    codes = flat[starts + ordinal] if len(places) else flat[:0]
    return Letters(codes.tobytes().decode("utf-32-le"), places)


def _distinct(characters: _Codes, *, ascii_only: bool) -> tuple[_Codes, npt.NDArray[Any]]:
    if ascii_only:
        return _ASCII, characters
    return np.unique(characters, return_inverse=True)


@lru_cache(1 << 16)
def _spelt(character: str) -> str:
    """The letters of one character; nothing for white space, punctuation and accents."""
    forms = unicodedata.normalize("NFKD", character).casefold()
    return "".join(form for form in forms if form.isalnum())
