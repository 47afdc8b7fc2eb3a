"""Questions with slips of the hand, the same ones every time."""

import random
import re

_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_WORD = re.compile(r"[^\W\d_]{4,}")
_SLIPS = ("swap", "drop", "double", "replace")


def mistyped(question: str, words: int, seed: int) -> str:
    """A question with one slip in each of so many of its words of four letters or more.

    Neighbours are swapped, a letter is left out or doubled, or the key beside it is hit.
    """
    dice = random.Random(f"{seed} {words} {question}")
    spans = [match.span() for match in _WORD.finditer(question)]
    for start, end in sorted(dice.sample(spans, min(words, len(spans))), reverse=True):
        question = question[:start] + _mistyped_word(question[start:end], dice) + question[end:]
    return question


def _mistyped_word(word: str, dice: random.Random) -> str:
    for _ in range(20):  # swapping two equal letters is no slip
        at, slip = dice.randrange(len(word)), dice.choice(_SLIPS)
        other = _slipped(word, at, slip, dice)
        if other.lower() != word.lower():
            return other
    return word


def _slipped(word: str, at: int, slip: str, dice: random.Random) -> str:
    if slip == "swap":
        return word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
    if slip == "drop":
        return word[:at] + word[at + 1 :]
    if slip == "double":
        return word[: at + 1] + word[at:]
    key = dice.choice(_beside(word[at].lower()) or word[at])
    return word[:at] + (key.upper() if word[at].isupper() else key) + word[at + 1 :]


def _beside(letter: str) -> str:
    """The keys that touch one on a keyboard; none for letters that it does not have."""
    for row, keys in enumerate(_KEYS):
        if letter in keys:
            at = keys.index(letter)
            above = _KEYS[row - 1][at : at + 2] if row else ""
            below = _KEYS[row + 1][max(at - 1, 0) : at + 1] if row < 2 else ""
            return above + keys[max(at - 1, 0) : at] + keys[at + 1 : at + 2] + below
    return ""
