"""A log of what agents did by the tools of MCP, and the budgets of their tokens."""

from __future__ import annotations

from rag.errors import NotAllowed
from rag.storage import Database
from rag.storage.access import tokens
from rag.storage.access.tokens import AgentCall, TokenRow


class AgentLog:
    """The calls of agents in a home."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, call: AgentCall) -> None:
        """Store a call."""
        with self._database.write() as connection:
            tokens.add_call(connection, call)

    def left(self, token: TokenRow) -> dict[str, float]:
        """Return the rest of each budget of a token, by its name."""
        if not token.budget:
            return {}
        with self._database.read() as connection:
            spent = tokens.spent(connection, token.id)
        return {name: most - spent[name] for name, most in token.budget.items()}

    def require_budget(self, token: TokenRow) -> None:
        """Raise NotAllowed for a token whose calls came to its budget."""
        for name, left in self.left(token).items():
            if left <= 0:
                most = token.budget[name]
                raise NotAllowed(
                    f"The budget of this token is spent: {most - left:.3g} of {most:g} {name}.",
                    "Tell the person who gave it to you what you learned, and ask for another one.",
                )
