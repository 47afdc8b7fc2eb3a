"""People, their roles, links and tokens, replies to repeated requests, and the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.settings import Settings
    from rag.storage import Database
    from rag.storage.access.links import LinkRow


_REQUESTS, _DEAR_REQUESTS = 32, 4  # of a token, at a time


class Access:
    """Access control for people and programs: ``people``, ``tokens``, links and ``audit`` log."""

    def __init__(self, database: Database, settings: Settings) -> None:
        from rag.access.audit import AuditLog
        from rag.access.people import People, SignIns
        from rag.access.tokens import AgentLog, InFlight, KeptReplies, Rates, Tokens

        self._database = database
        self.people = People(database, settings.admins, settings.sign_in_allowed)
        self.tokens = Tokens(database)
        self.agents = AgentLog(database)
        self.token_rates = Rates(settings.api_rate)
        self.token_requests = InFlight(_REQUESTS)
        self.dear_requests = InFlight(_DEAR_REQUESTS)
        self.guest_rates = Rates(settings.guest_rate)
        self.replies = KeptReplies(database)
        self.audit = AuditLog(database, self.people.in_use)
        self.sign_ins = SignIns(database, self.audit)

    def link(self, secret: str) -> LinkRow | None:
        """Return the link of a secret; None if it is unknown, expired or revoked."""
        from rag.access.people import link_of

        return link_of(self._database, secret)

    def shows(self, link: LinkRow) -> bool:
        """Whether a link that was opened shows anything still."""
        from rag.access.people import still_valid

        return still_valid(self._database, link)
