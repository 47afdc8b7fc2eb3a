"""A replica that searches read, and that takes over when the primary is killed."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import event, text

from rag import Settings, StorageError, Workspace
from rag.storage import database as module
from tests.jobs import until
from tests.postgres import Server, serving, url_of_both
from tests.workspaces import QUICK, add, found

GRAPH = QUICK.with_fields({"index.vector_index": "hnsw", "search.mode": "dense"})


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    with serving() as primary, primary.replica() as replica:
        yield primary, replica


def opened(home: Path, url: str, read_url: str) -> Workspace:
    given = {"TOUCHSTONE_DATABASE_URL": url, "TOUCHSTONE_READ_URL": read_url}
    return Workspace(Settings.from_env(given, home=home))


def told_of(workspace: Workspace) -> list[str]:
    """Every statement that the replica is asked from now on."""
    statements: list[str] = []
    replica = workspace._services.database._replica
    assert replica is not None
    event.listen(
        replica, "before_cursor_execute", lambda _, __, said, *rest: statements.append(said)
    )
    return statements


def read_from(statements: list[str]) -> set[str]:
    """Those of the tables of passages and vectors that statements read."""
    words = [each.replace("\n", " ").split(" ") for each in statements]
    tables = {after for each in words for word, after in pairwise(each) if word == "FROM"}
    return tables & {"chunk", "vector_build"}


def wait_for(workspace: Workspace, server: Server, name: str) -> None:
    """Until a replica has what the primary has."""
    with workspace._services.database.read() as connection:
        wanted = connection.execute(text("SELECT pg_current_wal_lsn()")).scalar_one()
    conninfo = f"host=127.0.0.1 port={server.port} user=touchstone dbname={name}"
    with psycopg.connect(conninfo, autocommit=True) as connection:
        arrived = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
        until(lambda: connection.execute(arrived, [wanted]).fetchone() == (True,))


def test_a_replica_is_read_promoted_and_never_behind(servers, tmp_path):
    primary, replica = servers
    name = primary.create()
    workspace = opened(tmp_path, url_of_both(primary, replica, name), replica.url(name))
    base = workspace.create("notes", GRAPH)
    assert add(workspace, base, {"pump.txt": "The pump leaks."}) == ["added"]
    wait_for(workspace, replica, name)
    for recipe in (QUICK, GRAPH):
        workspace.jobs.run(base.documents.build(recipe.index))
        assert found(base, "what leaks", recipe) == ["The pump leaks."]
    wait_for(workspace, replica, name)
    asked = told_of(workspace)
    assert found(base, "which pump", GRAPH) == ["The pump leaks."]
    assert read_from(asked) == {"chunk", "vector_build"}

    replica.tell("SELECT pg_wal_replay_pause()")  # it falls behind
    asked.clear()
    assert add(workspace, base, {"hotel.txt": "Hotels are refunded."}) == ["added"]
    for recipe in (QUICK, GRAPH):
        assert "Hotels are refunded." in found(base, "hotels that are refunded", recipe)
    assert asked
    assert read_from(asked) == set()
    replica.tell("SELECT pg_wal_replay_resume()")
    wait_for(workspace, replica, name)

    primary.process.kill()
    primary.process.wait(120)
    with pytest.raises(StorageError):
        workspace.create("nowhere", QUICK)
    replica.tell("SELECT pg_promote()")
    until(lambda: _takes_writes(workspace))
    assert set(found(base, "pumps or hotels", GRAPH)) == {
        "The pump leaks.",
        "Hotels are refunded.",
    }
    assert add(workspace, base, {"new.txt": "Bearings run hot."}) == ["added"]
    assert "Bearings run hot." in found(base, "which bearings", QUICK)
    workspace.close()


def _takes_writes(workspace: Workspace) -> bool:
    try:
        workspace.create("after", QUICK)
    except StorageError:
        return False
    return True


def test_searches_go_on_without_the_replica(postgres, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_AVOIDED_SECONDS", 3600.0)
    url = postgres.url(postgres.create())
    away = "postgresql+psycopg://nobody@127.0.0.1:1/nothing"
    workspace = opened(tmp_path, url, away)
    base = workspace.create("notes", QUICK)
    assert add(workspace, base, {"pump.txt": "The pump leaks."}) == ["added"]
    assert found(base, "what leaks") == ["The pump leaks."]
    workspace.close()
