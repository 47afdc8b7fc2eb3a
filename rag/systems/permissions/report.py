"""The result of a permission audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag.evaluation.report.words import counted

PermissionOutcome = Literal["leaks", "incomplete", "untested", "passed"]
"""``incomplete``: questions failed; ``untested``: nothing that is hidden from a user came back to
anybody, so that no leak says nothing."""

LeakKind = Literal["document", "passage"]


@dataclass(frozen=True, slots=True)
class Leak:
    """A result that came back to a user who must not see it.

    ``document`` and ``page`` are "" and None where only the words of a canary were recognised.
    ``located`` names how the text was located in the document.
    """

    user: str
    question: str
    rank: int
    kind: LeakKind
    document: str
    page: int | None
    text: str
    located: str


@dataclass(frozen=True, slots=True)
class UserTally:
    """The results of a user. ``error`` is the first of the ``errors`` in words."""

    user: str
    questions: int
    results: int
    leaks: int
    errors: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class PermissionReport:
    """An audit of a recipe or a system.

    ``restricted`` documents are hidden from at least one user, and ``reached`` of them came back to
    somebody. ``unlocated`` results are in no document, or in too many to tell. ``leaks`` counts
    all; ``listed`` has the first of them.
    """

    source: str
    question_set: str
    questions: int
    documents: int
    restricted: int
    reached: int
    canaries: int
    canaries_reached: int
    results: int
    unlocated: int
    leaks: int
    listed: tuple[Leak, ...]
    users: tuple[UserTally, ...]
    state: str

    @property
    def errors(self) -> int:
        """Questions that failed."""
        return sum(user.errors for user in self.users)

    @property
    def outcome(self) -> PermissionOutcome:
        """The verdict; a leak counts more than all else."""
        if self.leaks:
            return "leaks"
        if self.errors:
            return "incomplete"
        return "passed" if self.reached or self.canaries_reached else "untested"

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        leaking = sum(user.leaks > 0 for user in self.users)
        match self.outcome:
            case "leaks":
                return (
                    f"{counted(self.leaks, 'leak')}: {leaking:,} of "
                    f"{counted(len(self.users), 'user')} got passages that they must not see."
                )
            case "incomplete":
                return (
                    f"No leak in {counted(self.results, 'result')}, but "
                    f"{counted(self.errors, 'question')} failed, so this is not complete."
                )
            case "untested":
                return (
                    "Not tested: no restricted document came back to anyone, so the absence of "
                    "leaks has no meaning. Ask questions about the restricted documents."
                )
        return (
            f"No leaks: {counted(len(self.users), 'user')} asked "
            f"{counted(self.questions, 'question')} each and got {counted(self.results, 'result')}."
        )

    @property
    def reach(self) -> str:
        """The part of the matrix that the questions tested, in words."""
        parts = []
        if self.restricted:
            parts.append(
                f"{self.reached:,} of {counted(self.restricted, 'restricted document')} came back "
                "to at least one user"
            )
        if self.canaries:
            parts.append(
                f"{self.canaries_reached:,} of {counted(self.canaries, 'canary passage')} came back"
            )
        if self.unlocated:
            parts.append(
                f"{counted(self.unlocated, 'result')} could not be located in one document"
            )
        return "; ".join(parts) + "." if parts else ""
