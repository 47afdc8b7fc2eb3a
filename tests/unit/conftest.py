"""The small evaluated knowledge base of ``tests.runs``, for whoever needs nothing else."""

from pathlib import Path

import pytest

from rag import KnowledgeBase, Workspace
from tests.runs import handbook


@pytest.fixture
def parts(home: Path) -> tuple[Workspace, KnowledgeBase]:
    """Its workspace, and itself."""
    return handbook(home)


@pytest.fixture
def base(parts: tuple[Workspace, KnowledgeBase]) -> KnowledgeBase:
    """Itself alone."""
    return parts[1]
