"""Retention of conversations, memory, traces and the audit log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from rag.services import Services
from rag.storage.access import audit, people
from rag.storage.conversations import retention

_SIGNED_IN_DAYS = 31  # Streamlit's cookie of a sign-in is kept for 30


def forget_old(services: Services) -> None:
    """Deletes what is older than the settings say."""
    settings = services.settings
    for days, forget in (
        (settings.keep_conversations_days, retention.forget_conversations),
        (settings.keep_interactions_days, retention.forget_interactions),
        (settings.keep_traces_days, retention.forget_traces),
        (settings.keep_audit_days, audit.forget),
        (_SIGNED_IN_DAYS, people.forget_deleted),
    ):
        if days is not None:
            with services.database.write() as connection:
                forget(connection, datetime.now(UTC) - timedelta(days=days))
