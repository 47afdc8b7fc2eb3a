"""The numbers that Word makes for headings, clauses and items of lists."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PLACE = re.compile(r"%([1-9])")
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman"}
FORMS["I"] = "upperRoman"
"""The forms of numbers by what web pages and OpenDocument call them."""
_MOST = 10_000  # what is counted further is no number of a list


class Numbering:
    """The numbered lists of a document, and how far each is counted.

    Follows ECMA-376, part 1, 17.9: lists with one abstract definition are counted on together,
    unless one starts anew; a level starts again below a higher one.
    """

    def __init__(self, numbering: Any) -> None:
        self._definition: dict[str, str] = {}
        self._levels: dict[str, dict[int, Any]] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        if not len(numbering):
            return
        abstract = {item.get(f"{_W}abstractNumId"): item for item in numbering.iter(_ABSTRACT)}
        linked = {
            link.get(f"{_W}val"): item
            for item in abstract.values()
            for link in item.iterfind(f"{_W}styleLink")
        }
        for number in numbering.iterfind(f"{_W}num"):
            key, name = number.get(f"{_W}numId"), _value(number, "abstractNumId")
            definition = abstract.get(name)
            if definition is None:
                continue
            levels = linked.get(_value(definition, "numStyleLink"), definition)
            overrides = list(number.iterfind(f"{_W}lvlOverride"))
            self._definition[key] = name
            self._levels[key] = {
                _level(item): item
                for parent in (levels, *overrides)
                for item in parent.iterfind(f"{_W}lvl")
            }
            self._restarts[key] = {
                _level(item): int(start)
                for item in overrides
                if (start := _value(item, "startOverride")).isdigit()
            }

    def level_of(self, number: str, style: str) -> int:
        """Return the level of a list that belongs to a style of paragraphs; 0 for others."""
        levels = self._levels.get(number, {})
        return next((at for at, item in levels.items() if _value(item, "pStyle") == style), 0)

    def count(self, number: str, level: int) -> str:
        """Count a paragraph of a list; return its label, "" for bullets and unknown lists."""
        levels = self._levels.get(number, {})
        if level not in levels:
            return ""
        counts = self._counts[self._definition[number]]
        for at, start in self._restarts.pop(number, {}).items():
            counts[at] = start - 1
        first = _start(levels[level])
        counts[level] = min(counts.get(level, first - 1) + 1, _MOST)
        for at in [below for below in counts if below > level]:
            if _value(levels.get(at), "lvlRestart") != "0":
                del counts[at]
        legal = levels[level].find(f"{_W}isLgl") is not None

        def written(place: re.Match[str]) -> str:
            at = int(place[1]) - 1
            form = "decimal" if legal else _value(levels.get(at), "numFmt")
            return numeral(counts.setdefault(at, _start(levels.get(at))), form)

        if _value(levels[level], "numFmt") == "bullet":
            return ""
        return " ".join(_PLACE.sub(written, _value(levels[level], "lvlText")).split())


_ABSTRACT = f"{_W}abstractNum"


def _level(element: Any) -> int:
    return int(element.get(f"{_W}ilvl", "0"))


def _value(parent: Any, name: str) -> str:
    """The value of a child element; "" where there is none."""
    child = parent.find(f"{_W}{name}") if parent is not None else None
    return str(child.get(f"{_W}val", "")) if child is not None else ""


def _start(level: Any) -> int:
    start = _value(level, "start")
    return int(start) if start.isdigit() else 1


def numeral(count: int, form: str) -> str:
    """Return a number in a form of ECMA-376; "" where it has none."""
    if form == "none" or (count < 1 and "decimal" not in form):
        return ""
    if form.endswith("Letter"):
        text = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
    elif form.endswith("Roman"):
        text = ""
        for value, letters in _ROMAN:
            text += letters * (count // value)
            count %= value
    else:
        text = f"{count:02}" if form == "decimalZero" else str(count)
    return text.upper() if form.startswith("upper") else text
