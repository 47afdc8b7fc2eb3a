"""Size, progress and remaining time of a job, from the remaining work and the pace of each step.

The initial pace is a typical value. Measurements of the job soon replace it. Idle time, such as the
time before a job begins, does not count.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Self

from rag import providers, readers
from rag.errors import TouchstoneError
from rag.recipe import IndexRecipe
from rag.services.services import Services
from rag.settings import PROJECT
from rag.storage.jobs import JobItem

TYPICAL: Mapping[str, float] = MappingProxyType(
    {
        "fetching": 1.0,
        "reading pdf": 0.05,
        "reading": 1e-7,
        "cutting": 1e-6,
        "storing": 3e-7,
        "indexing": 5e-7,
    }
)
"""Seconds for an address, a page of a PDF, a byte of another file, and for each character of text:
what is expected where nothing was measured yet."""
OVERHEAD: Mapping[str, float] = MappingProxyType({"reading": 100_000.0, "storing": 50_000.0})
"""What a file costs beyond its size, as bytes to read and as characters to store: a file of a few
bytes takes about as long as this, and would make the pace of a byte thousands of times too slow."""
UNKNOWN_EMBEDDING = 2e-5
"""Seconds for a character that is embedded by a model that was never measured."""

_TRIAL = PROJECT / "data" / "sample"
_TRIAL_CHARACTERS = 12_000
_TRIAL_SECONDS = 1.0  # a slow embedder does not get through all of them
_TRIAL_BATCH = 4


def embedding(embedder: str) -> str:
    """The name of the step that embeds."""
    return f"embedding {providers.vector_space(embedder)[0]}"


def work_for(*recipes: IndexRecipe) -> dict[str, str]:
    """The steps of storing a document in some builds, and whose pace each has."""
    paces: dict[str, str] = {}
    for number, recipe in enumerate(recipes):
        cutting, embeds = steps(number)
        pace = embedding(recipe.embedder)
        paces[cutting] = pace if recipe.chunker == "semantic" else "cutting"
        paces[embeds] = pace
    return paces | {"storing": "storing"}


def embedding_work(recipes: Sequence[IndexRecipe]) -> dict[str, dict[str, str]]:
    """The step of embedding for each build, by its hash, and whose pace it has."""
    return {
        recipe.hash: {steps(number)[1]: embedding(recipe.embedder)}
        for number, recipe in enumerate(recipes)
    }


def steps(number: int) -> tuple[str, str]:
    """Return the names of the chunking and embedding steps of a build; "build 2" is the second."""
    build = f", build {number + 1}" if number else ""
    return f"cutting{build}", f"embedding{build}"


class Throughput:
    """The paces of a home, kept in a file; what cannot be kept is measured again."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._file = services.settings.home / "paces.json"

    def rates(self) -> dict[str, float]:
        """Seconds per unit by step, as far as anything was measured, else what is typical."""
        return {**TYPICAL, **self._measured()}

    def keep(self, measured: Mapping[str, float]) -> None:
        """Remember what a job measured."""
        with contextlib.suppress(OSError):
            with tempfile.NamedTemporaryFile(
                "w", dir=self._file.parent, prefix=".paces-", delete=False
            ) as file:
                json.dump({**self._measured(), **measured}, file)
            Path(file.name).replace(self._file)

    def seconds(self, embedder: str, characters: float, pages: float) -> float | None:
        """Estimate the seconds from reading to indexing; ``pages`` counts pages of PDFs.

        Returns None for a remote model that no job has used yet.
        """
        if embedding(embedder) not in self._measured() and providers.is_local(embedder):
            self._try(embedder)
        paces = self.rates()
        if embedding(embedder) not in paces:
            return None
        per_character = ("cutting", embedding(embedder), "storing", "indexing")
        return pages * paces["reading pdf"] + characters * sum(
            paces[name] for name in per_character
        )

    def _try(self, embedder: str) -> None:
        """Measure an embedder on a piece of the sample, cut to usual passages."""
        with contextlib.suppress(TouchstoneError, OSError):
            texts = (path.read_text("utf-8") for path in sorted(_TRIAL.glob("*.md")))
            text = "".join(texts)[:_TRIAL_CHARACTERS]
            pieces = [text[start : start + 600] for start in range(0, len(text), 600)]
            model = self._services.models.embedder(embedder)
            model.embed(pieces[:1], "document")  # it is loaded on first use
            started, embedded, seconds = time.monotonic(), 0, 0.0
            for start in range(0, len(pieces), _TRIAL_BATCH):
                batch = pieces[start : start + _TRIAL_BATCH]
                model.embed(batch, "document")
                embedded += sum(map(len, batch))
                seconds = time.monotonic() - started
                if seconds >= _TRIAL_SECONDS:
                    break
            self.keep({embedding(embedder): seconds / embedded})

    def _measured(self) -> dict[str, float]:
        try:
            stored = json.loads(self._file.read_text())
            return {str(name): float(value) for name, value in stored.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}


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
        self._then = clock()
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
            done = sum(pace.units * pace.value for pace in self._paces.values())
            share = done / (done + self._left) if done + self._left else 0.0
            self._share = max(self._share, self._floor + (1 - self._floor) * share)
        units = int(round(self._share * WHOLE, 6))  # 3 / WHOLE * WHOLE may be 2.9999
        return units, WHOLE, self._left if self._sure else math.inf

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
        size = it.size if step == "reading" else self._text(it)
        return size + OVERHEAD.get(it.work[step], 0.0)

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


@dataclass(frozen=True, slots=True)
class WaitingItem:
    """An item that waits, and what is to be read: pages of a PDF, else bytes of a file.

    The kind "address" has no size yet.
    """

    item: JobItem
    kind: str
    size: float


def waiting_items(services: Services, items: Sequence[JobItem]) -> list[WaitingItem]:
    """Return those of a job's items that wait."""
    waiting = list[WaitingItem]()
    for item in items:
        if item.status != "waiting":
            continue
        if "url" in item.payload:
            waiting.append(WaitingItem(item, "address", 0.0))
        else:
            path = services.files.path(item.payload["file"]) if "file" in item.payload else None
            waiting.append(WaitingItem(item, *readers.size_of(path, item.name)))
    return waiting
