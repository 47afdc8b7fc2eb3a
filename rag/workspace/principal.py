"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass

from rag.access.people import NOBODY_SIGNS_IN, Person
from rag.storage.access.links import LinkRow
from rag.storage.access.tokens import TokenRow
from rag.storage.conversations import SessionOwner


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks: a person, or whoever has a link; ``via`` what, and by which token or link.

    Who asks by a ``token`` is asked for it again while something goes on.
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
    def may_spend(self) -> bool:
        """Whether what may cost money is asked because a request names it: see ``spending``."""
        return self.link is None and (self.token is None or "ask" in self.token.scopes)

    def visitor(self, visitor: SessionOwner) -> SessionOwner:
        """Whose conversations there are: a person's; else those of the browser, with a link apart
        from those without."""
        if self.link is not None:
            key = f"{self.link.id}:{visitor.key}"
            return SessionOwner(key, (key,))
        return visitor if self.person.local else SessionOwner(self.person.id, (self.person.id,))
