"""Measures of how much a text looks like natural language.

Fonts that do not map their shapes to characters produce other texts.
"""

from __future__ import annotations

import re
import unicodedata

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
