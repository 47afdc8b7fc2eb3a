"""Slips of the hand: how one word came to be typed for another that is one edit away."""

from __future__ import annotations

from typing import Literal, NamedTuple

SlipKind = Literal["swapped", "doubled", "dropped", "beside", "brushed", "added", "replaced"]
"""Neighbours swapped; a letter doubled, or left out; the key beside; that one too; another letter
more; another letter instead."""

_COSTS: dict[SlipKind, float] = {
    "swapped": 0.0,
    "doubled": 0.0,
    "dropped": 1.0,
    "beside": 2.0,
    "brushed": 2.5,
    "added": 4.0,
    "replaced": 5.0,
}
"""How unlikely each is, in units of the logarithm of how common a word is. Slips of the hand are
nearly all of the first five kinds; a letter that no finger was near is more often another word
(Kernighan, Church and Gale, "A Spelling Correction Program Based on a Noisy Channel Model", 1990).
"""
_FIRST_LETTER = 1.0
"""The first letter is seldom mistyped (Pollock and Zamora, 1984)."""
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def _keys_beside() -> dict[str, str]:
    """The keys around each; a key stands between two of the row above."""
    places = {
        key: (row, column + row / 2)
        for row, keys in enumerate(_ROWS)
        for column, key in enumerate(keys)
    }
    return {
        key: "".join(
            other
            for other, (line, across) in places.items()
            if other != key and abs(line - row) <= 1 and abs(across - column) <= 1
        )
        for key, (row, column) in places.items()
    }


_BESIDE = _keys_beside()


class Slip(NamedTuple):
    """A typing error: its kind, the letter at which it is, and its cost.

    The less likely the error, the higher the cost.
    """

    kind: SlipKind
    place: int
    cost: float


def slip(typed: str, meant: str) -> Slip:
    """The slip between two words that are one edit apart."""
    shared = min(len(typed), len(meant))
    place = next((at for at in range(shared) if typed[at] != meant[at]), shared)
    kind = _kind(typed, meant, place)
    cost = _COSTS[kind] + (_FIRST_LETTER if place == 0 else 0.0)
    return Slip(kind, place, cost)


def _kind(typed: str, meant: str, place: int) -> SlipKind:
    if len(typed) < len(meant):
        return "dropped"
    letter = typed[place]
    if len(typed) > len(meant):
        if place and typed[place - 1] == letter:
            return "doubled"
        around = typed[max(place - 1, 0) : place] + typed[place + 1 : place + 2]
        return "brushed" if any(key in _BESIDE.get(letter, "") for key in around) else "added"
    if typed[place : place + 2] == meant[place : place + 2][::-1]:
        return "swapped"
    return "beside" if meant[place] in _BESIDE.get(letter, "") else "replaced"
