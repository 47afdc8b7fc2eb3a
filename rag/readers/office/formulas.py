"""Formulas of Word as one line of text."""

from __future__ import annotations

from typing import Any

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_JOINED = {
    f"{_M}f": (("num", ""), ("den", "/")),
    f"{_M}sSup": (("e", ""), ("sup", "^")),
    f"{_M}sSub": (("e", ""), ("sub", "_")),
    f"{_M}sSubSup": (("e", ""), ("sub", "_"), ("sup", "^")),
    f"{_M}rad": (("deg", ""), ("e", "√")),
}


def linear(element: Any) -> str:
    """Return a formula in one line: ``(a + b)/2``, ``x^2``, ``√x``."""
    if element.tag == f"{_M}t":
        return element.text or ""
    if element.tag in _JOINED:
        return "".join(
            sign + _part(part)
            for name, sign in _JOINED[element.tag]
            if (part := element.find(f"{_M}{name}")) is not None
        )
    text = "".join(map(linear, element))
    if element.tag == f"{_M}d":
        return f"({text})"
    if element.tag == f"{_M}nary":
        sign = element.find(f"{_M}naryPr/{_M}chr")
        return (sign.get(f"{_M}val", "∫") if sign is not None else "∫") + text
    return text


def _part(part: Any) -> str:
    """A part of a fraction or power, in brackets where it is more than one number or name."""
    text = linear(part).strip()
    return text if text.isalnum() or not text else f"({text})"
