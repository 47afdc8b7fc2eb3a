"""Question sets as plain data. The shapes are a contract of CLI and API."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from rag.storage.questions import KeptVersion


def kept_version_data(version: KeptVersion) -> dict[str, Any]:
    """A version of a set that another took the place of; ``replaced`` is in ISO 8601, UTC."""
    replaced = version.replaced
    return {
        "version": version.version,
        "questions": version.questions,
        "labels": version.labels,
        "replaced": (replaced if replaced.tzinfo else replaced.replace(tzinfo=UTC)).isoformat(),
    }
