"""Indexes in memory: those used last, up to a bound, whoever asks at the same time."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from rag import KnowledgeBase, Settings, Workspace
from rag.lexical import LexicalIndex
from rag.services.indexing.indexes import Indexes
from rag.stores import empty
from tests.workspaces import QUICK, add, found, workspace_at

NAMES = ("first", "second", "third")


@pytest.fixture
def workspace(home: Path) -> Workspace:
    workspace = workspace_at(home)
    for name in NAMES:
        base = workspace.create(name, QUICK)
        add(workspace, base, {f"{name}.md": f"# Rules\n\nThe {name} rule is about trains."})
    return workspace


def bounded(workspace: Workspace, most_bytes: int) -> Indexes:
    services = workspace._services
    folder = workspace.settings.home / "indexes"
    return Indexes(services.database, folder, services.models.embedder, most_bytes=most_bytes)


def ids(workspace: Workspace) -> list[int]:
    return [workspace.base(name).id for name in NAMES]


def test_what_was_used_longest_ago_is_let_go(workspace):
    first, second, third = ids(workspace)
    size = bounded(workspace, 1).current(first, QUICK.index).bytes
    indexes = bounded(workspace, int(2.5 * size))
    alive = {}
    for base_id in (first, second, first, third):
        alive[base_id] = weakref.ref(indexes.current(base_id, QUICK.index))
    gc.collect()
    assert [alive[base_id]() is not None for base_id in (first, second, third)] == [
        True,
        False,
        True,
    ]
    assert len(indexes.current(second, QUICK.index).passages) == 1


def test_one_index_stays_however_large(workspace):
    indexes = bounded(workspace, 1)
    first = indexes.current(ids(workspace)[0], QUICK.index)
    assert indexes.current(ids(workspace)[0], QUICK.index) is first


def test_the_setting_bounds_the_workspace(home):
    settings = Settings.from_env({"TOUCHSTONE_MAX_INDEX_MB": "7"}, home=home)
    assert Workspace(settings)._services.indexes._most_bytes == 7 << 20


def test_bases_answer_alike_while_their_indexes_come_and_go(workspace):
    indexes = bounded(workspace, 1)
    object.__setattr__(workspace._services, "indexes", indexes)
    bases = [workspace.base(name) for name in NAMES]

    def asked(base: KnowledgeBase) -> list[str]:
        return found(base, "which rule is about trains")

    expected = [asked(base) for base in bases]
    assert [name in " ".join(texts) for name, texts in zip(NAMES, expected, strict=True)] == [
        True
    ] * 3
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(asked, bases * 20))
    assert answers == expected * 20


def test_the_size_of_an_index_is_about_that_of_its_parts():
    rows = np.eye(64, dtype=np.float32)
    dense = empty("flat", 64).added(np.arange(64), rows)
    assert dense.bytes == rows.nbytes + 64 * 8
    words = LexicalIndex.empty("english")
    assert words.bytes == 0
    few, many = (words.added((n, f"word{n} rule") for n in range(count)) for count in (10, 1000))
    assert 0 < few.bytes < many.bytes < 1000 * 200
