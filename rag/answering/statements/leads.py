"""The lines that announce the items of a list: "The clinic keeps:"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag.answering.statements.segments import ITEM


@dataclass(frozen=True, slots=True)
class _List:
    """The items with one kind of mark at one depth, and the line that announces them."""

    mark: str
    depth: int
    lead: str


class Leads:
    """The lists that are open at an item, outermost first.

    Items of another kind of mark are not announced by the same line, unless they stand deeper, and
    a number ends a list of bullets.
    """

    def __init__(self) -> None:
        self._announced = ""
        self._open: list[_List] = []

    def over(self, item: str) -> str:
        """Return the line that announces an item; "" for none."""
        depth, mark = (len(item) - len(item.lstrip())) // 2, _mark(item)
        for place, one in enumerate(self._open):
            if one.mark == mark and depth <= one.depth:
                del self._open[place + 1 :]  # what was nested in the item before
                return one.lead
        lead = self._announced
        if not lead and self._open and depth > self._open[-1].depth:
            lead = self._open[-1].lead
        elif not lead and mark[0] == "1":
            self._open.clear()
        self._open.append(_List(mark, depth, lead))
        return lead

    def follow(self, announced: str, *, is_item: bool) -> None:
        """Go on behind an item or a paragraph, which may have ``announced`` what comes."""
        if not is_item:
            self._open.clear()
        self._announced = announced


def _mark(item: str) -> str:
    """Return the kind of an item's mark, with its signs: "1." of "4.", "(a)" of "(c)", "-"."""
    match = ITEM.match(item)
    signs = match[0].strip() if match else "-"
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d+", "1", signs))
