"""Knowledge bases in a list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class BaseInfo:
    """A knowledge base as a picker shows it."""

    id: int
    name: str
    documents: int
    passages: int
    created: datetime


@dataclass(frozen=True, slots=True)
class BaseOverview(BaseInfo):
    """The same with its accepted questions, and when it was evaluated last."""

    questions: int
    last_run: datetime | None
