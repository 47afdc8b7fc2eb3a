"""Passages that only some users may see, recognised in results by their letters."""

from __future__ import annotations

from collections.abc import Iterable

from rag.lexical.letters import letters_of
from rag.systems.permissions.matrix import SHORTEST_CANARY, Canary


class Canaries:
    """The canaries of a matrix, prepared for many results."""

    def __init__(self, canaries: Iterable[Canary]) -> None:
        self._canaries = [(letters_of(canary.text).text, canary) for canary in canaries]

    def __len__(self) -> int:
        return len(self._canaries)

    def in_text(self, text: str) -> list[int]:
        """Return the numbers of the canaries that a text has, or has an end of.

        White space, case, accents and markup make no difference. Of a longer passage that was
        chunked, ``SHORTEST_CANARY`` letters at an end of the text are enough.
        """
        letters = letters_of(text).text
        if len(letters) < SHORTEST_CANARY:
            return []
        return [
            number for number, (canary, _) in enumerate(self._canaries) if _shares(letters, canary)
        ]

    def allows(self, number: int, user: str) -> bool:
        """Whether a user may see a canary."""
        users = self._canaries[number][1].users
        return users == "*" or user in users

    def text(self, number: int) -> str:
        """The words of a canary."""
        return self._canaries[number][1].text


def _shares(letters: str, canary: str) -> bool:
    return (
        canary in letters or letters in canary or _ends(letters, canary) or _ends(canary, letters)
    )


def _ends(first: str, second: str) -> bool:
    """Whether the end of ``first`` is the beginning of ``second``, by enough letters."""
    head = second[:SHORTEST_CANARY]
    place = first.find(head)
    while place >= 0:
        if second.startswith(first[place:]):
            return True
        place = first.find(head, place + 1)
    return False
