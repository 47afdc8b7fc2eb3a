"""Progress and remaining time of a job, from the remaining work and the pace of each step.

The initial pace is a typical value. Measurements of the job soon replace it. Idle time, such as the
time before a job begins, does not count.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from rag.library.documents.throughput import UNKNOWN_EMBEDDING, Throughput
from rag.services.services import Services

_BELIEVED_SECONDS = 1.0  # how much work the typical pace counts for, beside what is measured
CHARACTERS: Mapping[str, float] = {
    "pdf": 2500.0,
    "html": 0.4,
    "docx": 0.6,
    "pptx": 0.05,
    "xlsx": 1.0,
}
_ADDRESS_BYTES = 50_000.0
_REFRESH_SECONDS = 0.1
_SURE_SECONDS = 4.0  # a pace measured over less is not shown
WHOLE = 10_000
"""Units of progress in a whole job."""

Work = Mapping[str, str]
"""The steps of an item in their order, and whose pace each has."""


@dataclass(slots=True)
class _Ratio:
    """Something for a unit of something else: at first ``expected``, then what was measured.

    Both count the same once ``believed`` was measured.
    """

    expected: float
    amount: float = 0.0
    units: float = 0.0
    believed: float = 1.0

    def add(self, amount: float, units: float) -> None:
        self.amount += amount
        self.units += units

    @property
    def value(self) -> float:
        if not self.units:
            return self.expected
        trust = self.amount / (self.amount + self.believed)
        return (1 - trust) * self.expected + trust * self.amount / self.units


@dataclass(slots=True)
class _Item:
    kind: str
    size: float
    work: Work
    characters: float | None = None
    open: dict[str, float] = field(default_factory=dict)  # the share of each step that is left


class RemainingTime:
    """Of one job. Items are pages of PDFs, bytes of other files, or characters of text."""

    def __init__(
        self,
        paces: Mapping[str, float],
        floor: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        keep: Callable[[Mapping[str, float]], None] = lambda _measured: None,
    ) -> None:
        """``paces`` are seconds per unit; ``floor`` is the share that was done before.

        ``keep`` takes the paces that were measured when the block ends.
        """
        self._keep = keep
        self._typical = paces
        self._clock = clock
        self._paces: dict[str, _Ratio] = {}
        self._texts: dict[str, _Ratio] = {}
        self._items: dict[Hashable, _Item] = {}
        self._characters = 0.0  # of items that are done
        self._at: tuple[Hashable, str] | None = None
        self._floor = self._share = floor
        self._began = self._then = clock()
        self._left, self._reckoned, self._sure = 0.0, -1.0, False

    @classmethod
    def of(cls, services: Services, floor: float) -> Self:
        """Return that of a job by the throughput of this computer, which the block corrects."""
        throughput = Throughput(services)
        return cls(throughput.rates(), floor, keep=throughput.keep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._keep(self.measured())

    def add(self, item: Hashable, kind: str, size: float, work: Work) -> None:
        """Expect an item: ``size`` pages for the kind "pdf", bytes for others.

        The kind "text" has characters, and "all" has those of all other items.
        """
        size = size or (_ADDRESS_BYTES if kind == "address" else 1.0)
        characters = size if kind == "text" else None
        self._items[item] = _Item(kind, size, work, characters, dict.fromkeys(work, 1.0))

    def seconds(self, item: Hashable) -> float:
        """Return the expected remaining seconds of an item."""
        return sum(seconds for _, seconds in self._seconds(self._items[item]))

    def _seconds(self, it: _Item) -> Iterator[tuple[str, float]]:
        for step, share in it.open.items():
            yield step, share * self._units(it, step) * self._pace(it, step).value

    def pages(self, item: Hashable, pages: int) -> None:
        """Correct how many pages a PDF has."""
        self._items[item].size = float(pages)

    def read(self, item: Hashable, characters: int) -> None:
        """Notes how much text was in an item, from which others of its kind are guessed."""
        it = self._items[item]
        it.characters = float(characters)
        self._text_ratio(it.kind).add(characters, it.size)

    def reached(self, item: Hashable, step: str, done: float = 0, total: float = 0) -> None:
        """Note that an item is at a step, and how far in it; all steps before it are over.

        A step that was not expected of the item ends the one before; its time counts nowhere.
        """
        self._spend()
        it = self._items[item]
        if step not in it.work:
            self._leave()
            return
        if self._at != (item, step):
            self._leave()
            for earlier in it.work:
                if earlier == step:
                    break
                it.open[earlier] = 0.0
            self._at = (item, step)
        remaining = 1.0 - min(done / total, 1.0) if total else it.open[step]
        self._pace(it, step).add(0, max(it.open[step] - remaining, 0) * self._units(it, step))
        it.open[step] = remaining

    def pause(self) -> None:
        """Note that work turns to another item; what is left of the step stays to be done."""
        self._spend()
        self._at = None

    def characters(self) -> float:
        """The text of all items, as far as it is known and guessed where it is not."""
        others = (item for item in self._items.values() if item.kind != "all")
        return self._characters + sum(map(self._text, others))

    def end(self, item: Hashable, *, failed: bool = False) -> None:
        """Note that an item is over; the step that it failed at says nothing of the pace."""
        self._spend()
        if not failed:
            self._leave()
        self._at = None
        gone = self._items.pop(item)
        self._characters += gone.characters or 0.0

    def estimate(self) -> tuple[int, int, float]:
        """Units done, units in all, seconds left. The share that is done never falls.

        The seconds are infinite until this job has measured the pace of most of what is left.
        """
        now = self._clock()
        if now - self._reckoned >= _REFRESH_SECONDS:
            self._reckoned = now
            self._reckon()
            spent = now - self._began
            share = spent / (spent + self._left) if spent + self._left else 0.0
            self._share = max(self._share, self._floor + (1 - self._floor) * share)
        return int(self._share * WHOLE), WHOLE, self._left if self._sure else math.inf

    def _reckon(self) -> None:
        by_pace: dict[str, float] = {}
        for it in self._items.values():
            for step, seconds in self._seconds(it):
                by_pace[it.work[step]] = by_pace.get(it.work[step], 0.0) + seconds
        self._left = sum(by_pace.values())
        measured = self.measured(_SURE_SECONDS)
        measured_seconds = sum(seconds for name, seconds in by_pace.items() if name in measured)
        self._sure = bool(measured) and measured_seconds >= self._left / 2

    def measured(self, least: float = _BELIEVED_SECONDS) -> dict[str, float]:
        """The paces that this job measured, over so many seconds or more."""
        return {
            name: pace.amount / pace.units
            for name, pace in self._paces.items()
            if pace.amount >= least and pace.units
        }

    def _spend(self) -> None:
        """Give the time since the last call to the step that it went into."""
        now = self._clock()
        if self._at is not None:
            item, step = self._at
            self._pace(self._items[item], step).add(now - self._then, 0)
        self._then = now

    def _leave(self) -> None:
        """Complete the remaining work of the current step."""
        if self._at is not None:
            item, step = self._at
            it = self._items[item]
            self._pace(it, step).add(0, it.open[step] * self._units(it, step))
            it.open[step] = 0.0
            self._at = None

    def _units(self, it: _Item, step: str) -> float:
        if step == "fetching":
            return 1.0
        return it.size if step == "reading" else self._text(it)

    def _text(self, it: _Item) -> float:
        """Characters of an item, as far as they are known."""
        if it.kind == "all":
            return self.characters()
        if it.characters is not None:
            return it.characters
        return it.size * self._text_ratio(it.kind).value

    def _text_ratio(self, kind: str) -> _Ratio:
        expected = CHARACTERS.get(kind, 1.0)
        if kind not in self._texts:
            self._texts[kind] = _Ratio(expected, believed=20_000.0)
        return self._texts[kind]

    def _pace(self, it: _Item, step: str) -> _Ratio:
        name = it.work[step]
        if name not in self._paces:
            expected = self._typical.get(name, UNKNOWN_EMBEDDING)
            self._paces[name] = _Ratio(expected, believed=_BELIEVED_SECONDS)
        return self._paces[name]
