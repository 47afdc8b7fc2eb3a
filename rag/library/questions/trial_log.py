"""A log of the trials on a question set, and the significance level of the next winner."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from rag.evaluation.comparison import CROWNING_P
from rag.evaluation.inference.planning import level
from rag.storage import Database, runs
from rag.storage.runs import Trial

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The position of a look among all looks at a set.

    ``number`` counts, from 1, the looks of its ``family``, which share the risk of a false winner.
    ``split`` counts the splits whose held-out questions were looked at, 0 for looks at all
    questions.
    """

    number: int = 1
    split: int = 0
    what: str = "look"

    @property
    def level(self) -> float:
        """The p-value that a winner needs here."""
        return level(self.number)

    @property
    def sentence(self) -> str:
        """The earlier looks in plain English; empty for a first look."""
        sentences = []
        if self.split > 1:
            sentences.append(
                f"This is the {ordinal(self.split)} split of this set. Its held-out questions are "
                "from the same set, so earlier splits count."
            )
        if self.number > 1:
            sentences.append(
                f"This is the {ordinal(self.number)} {self.what} of this set, so a winner needs "
                f"p ≤ {self.level:.2g} instead of {CROWNING_P:g}."
            )
        return " ".join(sentences)


class TrialLog:
    """A log of what was tried on the question sets of one knowledge base."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id

    def list_all(self, set_name: str) -> list[Trial]:
        """Return the trials on a set, oldest first."""
        return self._database.fetch(runs.looks, self._base_id, set_name)

    def note(self, set_name: str, look: Trial) -> Attempt:
        """Count a look, once however often it is taken, and say where it stands."""
        trials = self.list_all(set_name)
        if not any((trial.family, trial.look) == (look.family, look.look) for trial in trials):
            self._database.execute(runs.add_look, self._base_id, set_name, look)
            trials = self.list_all(set_name)
        return attempt(trials, look)

    def splits(self, set_name: str) -> list[tuple[int, float]]:
        """Seed and share of the splits whose held-out questions were looked at, in their order."""
        return _splits(self.list_all(set_name))


def attempt(trials: Sequence[Trial], look: Trial) -> Attempt:
    """Return the position of a look among ``trials``, which contain it."""
    family = [trial.look for trial in trials if trial.family == look.family]
    split = 0
    if look.split_seed is not None and look.split_share is not None:
        split = _splits(trials).index((look.split_seed, look.split_share)) + 1
    return Attempt(family.index(look.look) + 1, split, look.kind)


def name_of(*parts: object) -> str:
    """Return the hash that identifies a look."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def ordinal(number: int) -> str:
    """First, second ... tenth, 11th."""
    if number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _splits(trials: Sequence[Trial]) -> list[tuple[int, float]]:
    return list(
        dict.fromkeys(
            (trial.split_seed, trial.split_share)
            for trial in trials
            if trial.split_seed is not None and trial.split_share is not None
        )
    )
