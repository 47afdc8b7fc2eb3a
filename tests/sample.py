"""The sample knowledge base with the shipped model, built once for all tests that ask it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag import SAMPLE, KnowledgeBase
from tests.workspaces import fill_home, workspace_at


@contextmanager
def sample(home: Path) -> Iterator[KnowledgeBase]:
    """The sample in a home of its own."""
    fill_home(home, _prepare)
    workspace = workspace_at(home)
    yield workspace.base(SAMPLE)
    workspace.close()


def _prepare(home: Path) -> None:
    workspace = workspace_at(home)
    _, job = workspace.start_demo()
    assert workspace.jobs.run(job).status == "done"
    workspace.close()
