"""Conversations: whose they are, their turns, and what was thought of these.

Every query takes the scope of a visitor and a knowledge base: nobody reads what is another's.
"""

from rag.storage.conversations.sessions import (
    EVERYBODY,
    LOCAL,
    Conversation,
    ConversationRow,
    Scope,
    SessionOwner,
)
from rag.storage.conversations.turns import StoredCitation, Turn, TurnDetails

__all__ = [
    "EVERYBODY",
    "LOCAL",
    "Conversation",
    "ConversationRow",
    "Scope",
    "SessionOwner",
    "StoredCitation",
    "Turn",
    "TurnDetails",
]
