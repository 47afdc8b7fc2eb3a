"""The principal of a request."""

from __future__ import annotations

from dataclasses import dataclass

from rag.access.people import NOBODY_SIGNS_IN, Person
from rag.storage.access.links import LinkRow
from rag.storage.access.tokens import TokenRow
from rag.storage.conversations import SessionOwner


@dataclass(frozen=True, slots=True)
class Principal:
    """The principal of a request: a person, or the user of a link.

    ``via`` is the channel, and ``key_id`` the token or link. A ``token`` is checked again during a
    long operation.
    """

    person: Person = NOBODY_SIGNS_IN
    via: str = "page"
    key_id: str = ""
    link: LinkRow | None = None
    token: TokenRow | None = None

    @property
    def local(self) -> bool:
        """Whether it is the one user of a server that nobody signs in to."""
        return self.person.local and self.link is None

    @property
    def administrator(self) -> bool:
        """Whether tools, providers and people may be changed."""
        return self.person.administrator and self.link is None

    @property
    def may_run_commands(self) -> bool:
        """Whether systems may run that are commands of the server: a token needs scope admin."""
        return self.administrator and (self.token is None or "admin" in self.token.scopes)

    @property
    def may_spend(self) -> bool:
        """Whether what may cost money is asked because a request names it: see ``spending``."""
        return self.link is None and (self.token is None or "ask" in self.token.scopes)

    def visitor(self, visitor: SessionOwner) -> SessionOwner:
        """Return the owner of the conversations: a person, or else a browser.

        With a link, a browser's conversations are separate from those without the link.
        """
        if self.link is not None:
            key = f"{self.link.id}:{visitor.key}"
            return SessionOwner(key, (key,))
        return visitor if self.person.local else SessionOwner(self.person.id, (self.person.id,))
