"""Candidates with what is worked out of them once, whatever is swept over them."""

from __future__ import annotations

from rag.evaluation.sweeping.deep import Deep
from rag.evaluation.sweeping.layout import Layout
from rag.evaluation.sweeping.pruning import Leading, leading
from rag.recipe import Relevance


class Prepared:
    """What is asked for first is kept for the next sweep."""

    def __init__(self, deep: Deep, by_cosine: Layout | None = None) -> None:
        """``by_cosine`` is that layout where it is known already."""
        self.deep = deep
        self._layouts: dict[Relevance, Layout] = {} if by_cosine is None else {"cosine": by_cosine}
        self._leading: dict[tuple[int, bool], Leading] = {}

    def layout(self, by: Relevance) -> Layout:
        """The candidates in the order of their relevance. Raises ValueError, see ``Layout``."""
        if by not in self._layouts:
            self._layouts[by] = Layout.of(self.deep, by)
        return self._layouts[by]

    def leading(self, limit: int, by_unit: bool) -> Leading:
        """The candidates that matter, see ``pruning``."""
        place = limit, by_unit
        if place not in self._leading:
            self._leading[place] = leading(self.deep, limit, by_unit)
        return self._leading[place]
