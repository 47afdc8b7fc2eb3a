"""Raised and lowered text as Unicode writes it: ``10³``, ``CO₂``, and a note mark as ``90¹``.

As ordinary digits they would become part of the figure before them.
"""

from __future__ import annotations

_RAISED = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")
_SCRIPTS = {*_RAISED.values(), *_LOWERED.values()}
_NOTE_LETTERS = dict(zip("abcdfgh", "ᵃᵇᶜᵈᶠᵍʰ", strict=True))  # "e" and "o" are raised in ordinals


def raised(text: str) -> str:
    """Return a raised run: an exponent, a note mark, or as it is the ending of an ordinal."""
    if any(map(str.isdigit, text)):
        return text.translate(_RAISED)
    return _NOTE_LETTERS.get(text, text)


def lowered(text: str) -> str:
    """Return a lowered run, such as the figure of a chemical formula."""
    return text.translate(_LOWERED) if any(map(str.isdigit, text)) else text


def is_script(sign: str) -> bool:
    """Whether a sign is a raised or lowered one."""
    return ord(sign) in _SCRIPTS
