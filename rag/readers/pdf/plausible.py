"""How much a text looks like one: fonts that do not say what their shapes stand for give others."""

from __future__ import annotations

import re
import unicodedata

_SAMPLE = 6000  # characters
_LEAST_LETTERS = 80  # below which the look of words says nothing
# Names of glyphs, private and unknown characters, controls.
_UNMAPPED = re.compile(
    r"(?:/[A-Za-z]{1,3}\d{1,4}){2,}|\(cid:\d+\)|[\ue000-\uf8ff\ufffd\x00-\x08\x0e-\x1f\x7f-\x9f]+"
)
# UTF-8 that was read as one byte a character: "Ã¤", "â€™", "Ð¿".
_MISREAD = re.compile(r"[ÂÃÄÅÐÑÎÏ][\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â[€‚„†][\x80-\xbf™œ“”¦˜]?")
_WORD = re.compile(r"[A-Za-z]{3,}")
_VOWEL = re.compile(r"[aeiouyAEIOUY]")
_CAMEL = re.compile(r"[a-z][A-Z]")


def unmapped_share(text: str) -> float:
    """Share of the characters that no reader can make anything of; 0 for no text."""
    return sum(len(found.group()) for found in _UNMAPPED.finditer(text)) / max(len(text), 1)


def plausibility(text: str) -> float:
    """From 0 to 1: the share of the text that may be words of some language.

    Counted against it are characters that stand for nothing, UTF-8 read as single bytes, UTF-16
    with its bytes swapped, and words of Latin letters without vowels or with capitals inside, as
    come from fonts whose letters are shifted.
    """
    sample = text[:_SAMPLE]
    visible = sum(not letter.isspace() for letter in sample)
    if not visible:
        return 0.0
    misread = sum(len(found.group()) for found in _MISREAD.finditer(sample))
    bad = (misread + _swapped(sample)) / visible
    return max(0.0, 1.0 - unmapped_share(sample) - bad) * _wordlike(sample)


def _swapped(text: str) -> int:
    """Characters above ASCII that are ASCII with their two bytes swapped, where they are many."""
    swapped = [
        letter
        for letter in text
        if ord(letter) > 0xFF and not ord(letter) & 0xFF and chr(ord(letter) >> 8).isalnum()
    ]
    different = len(set(swapped))
    return len(swapped) if different >= 8 and len(swapped) > 0.3 * len(text) else 0


def _wordlike(text: str) -> float:
    words = _WORD.findall(text)
    letters = sum(map(len, words))
    others = sum(unicodedata.category(letter) == "Lo" for letter in text)
    if letters < _LEAST_LETTERS or others > letters:
        return 1.0
    good = sum(len(word) for word in words if _VOWEL.search(word) and not _CAMEL.search(word))
    return min(1.0, good / letters / 0.75)
