"""Bundles of a small evaluated knowledge base, and their parts."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from rag import Workspace
from tests.runs import SET, handbook
from tests.workspaces import QUICK

Parts = dict[str, bytes]


def evaluated(home: Path) -> Workspace:
    """A workspace with one run to bundle."""
    workspace, base = handbook(home)
    base.runs.evaluate(SET, QUICK, (1, 3, 10))
    return workspace


def bundle(workspace: Workspace, target: Path, *, with_documents: bool = True) -> str:
    """Bundles the only run; returns its id."""
    run = workspace.base("handbook").runs.list_all()[0]
    workspace.bundle(run.id, target, with_documents=with_documents)
    return run.id


def parts_of(path: Path) -> Parts:
    """Members of a bundle by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(path: Path, parts: Mapping[str, bytes]) -> Path:
    """Writes members as a bundle; returns its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path
