"""Workspaces on PostgreSQL whose vectors are in pgvector, several of them on one database."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psycopg
import pytest
from sqlalchemy import text

from rag import InvalidInput, Settings, Workspace
from rag.services.indexing import index as kinds
from rag.services.indexing import servers
from rag.stores import pgvector as module
from tests.postgres import Server
from tests.workspaces import QUICK, add, found

GRAPH = QUICK.with_fields({"index.vector_index": "hnsw", "search.mode": "dense"})
FLAT = GRAPH.with_fields({"index.vector_index": "flat"})
AUTO = GRAPH.with_fields({"index.vector_index": "auto"})
NOTES = {
    "a.txt": "Leave is carried over.",
    "b.txt": "The pump leaks.",
    "c.txt": "Bearings run hot.",
}
Open = Callable[..., Workspace]


@pytest.fixture
def opened(postgres: Server, tmp_path: Path) -> Open:
    """Opens workspaces of one database, each with a home of its own, as on another machine."""
    url = postgres.url(postgres.create())

    def open_one(name: str, **more: str) -> Workspace:
        given = {"TOUCHSTONE_DATABASE_URL": url, **more}
        return Workspace(Settings.from_env(given, home=tmp_path / name))

    return open_one


def tables(workspace: Workspace) -> list[int]:
    """How many vectors each build has in pgvector."""
    with workspace._services.database.read() as connection:
        numbers = connection.execute(text("SELECT id FROM vector_build ORDER BY id")).scalars()
        return [
            connection.execute(text(f"SELECT count(*) FROM vector_build_{number}")).scalar_one()
            for number in numbers.all()
        ]


@pytest.mark.parametrize("dimension", [2500, 4500])
def test_long_vectors(pgvector_hnsw, dimension, monkeypatch):
    monkeypatch.setattr(module, "SMALLEST_GRAPH", 10)
    vectors = np.eye(20, dimension, dtype=np.float32)
    build = f"long-{dimension}/"
    pgvector_hnsw.upsert(build, np.arange(20), vectors)
    pgvector_hnsw.settle(build)
    query = 0.8 * vectors[7] + 0.6 * vectors[3]
    keys, scores = pgvector_hnsw.search(build, query, 3)
    assert keys.tolist()[:2] == [7, 3]
    assert scores.tolist() == pytest.approx([0.8, 0.6, 0], abs=1e-7)
    assert pgvector_hnsw.vectors(build, np.array([7])).tobytes() == vectors[7].tobytes()


@pytest.mark.parametrize(("choice", "held"), [("", [3]), ("process", []), ("pgvector", [3, 3])])
def test_where_vectors_are_searched(opened, choice, held):
    workspace = opened("one", TOUCHSTONE_VECTORS_URL=choice)
    base = workspace.create("notes", GRAPH)
    assert set(add(workspace, base, NOTES)) == {"added"}
    workspace.jobs.run(base.documents.build(FLAT.index))
    assert found(base, "leaks pump", GRAPH) == found(base, "leaks pump", FLAT)
    assert tables(workspace) == held
    workspace.delete("notes")
    assert tables(workspace) == []
    workspace.close()


@pytest.mark.sqlite("what SQLite cannot do")
def test_pgvector_needs_postgresql(tmp_path):
    settings = Settings.from_env({"TOUCHSTONE_VECTORS_URL": "pgvector"}, home=tmp_path)
    with pytest.raises(InvalidInput, match="the database is not PostgreSQL"):
        Workspace(settings)


def test_an_index_notices_what_another_process_changed(opened):
    one, other = opened("one"), opened("other")
    base = one.create("notes", GRAPH)
    assert set(add(one, base, NOTES)) == {"added"}
    there = other.base("notes")
    for recipe in (GRAPH, FLAT):
        one.jobs.run(base.documents.build(recipe.index))
        assert found(there, "leaks pump", recipe)[0] == NOTES["b.txt"]
    held = {info.name: info.id for info in base.documents.documents(GRAPH.index)}
    base.documents.delete_documents([held["b.txt"]])
    assert add(other, there, {"d.txt": "Hotels are refunded."}) == ["added"]
    for recipe in (GRAPH, FLAT):
        for each in (base, there):
            texts = found(each, "leaks pump hotels", recipe)
            assert NOTES["b.txt"] not in texts
            assert "Hotels are refunded." in texts
    one.close()
    other.close()


def test_nobody_deletes_what_another_process_brought_back(opened, monkeypatch):
    monkeypatch.setattr(servers, "_GRACE_SECONDS", 0.0)
    one, other = opened("one"), opened("other")
    base = one.create("notes", GRAPH)
    add(one, base, NOTES)
    there = other.base("notes")
    assert len(found(there, "leaks pump", GRAPH)) == 3
    third = opened("third")
    indexes = third._services.indexes
    tidy = indexes._tidy

    def late(*given: object) -> None:
        """Another process brings a document back after this one has seen that it was gone."""
        monkeypatch.setattr(indexes, "_tidy", tidy)
        assert add(one, base, {"a.txt": NOTES["a.txt"]}) == ["added"]
        assert NOTES["a.txt"] in found(base, "leave", GRAPH)
        tidy(*given)
        assert NOTES["a.txt"] in found(base, "carried over", GRAPH)

    held = {info.name: info.id for info in base.documents.documents(GRAPH.index)}
    base.documents.delete_documents([held["a.txt"]])
    monkeypatch.setattr(indexes, "_tidy", late)
    assert len(found(third.base("notes"), "leaks pump", GRAPH)) == 2
    for each in (base, there, third.base("notes")):
        assert NOTES["a.txt"] in found(each, "carried over", GRAPH)
    for workspace in (one, other, third):
        workspace.close()


def test_what_has_grown_is_searched_in_the_database(opened, monkeypatch):
    workspace, other = opened("one"), opened("two")
    base = workspace.create("notes", AUTO)
    there = other.base("notes")
    add(workspace, base, NOTES)
    assert found(base, "leaks pump", AUTO) == found(there, "leaks pump", AUTO)
    assert tables(workspace) == []
    monkeypatch.setattr(kinds, "MOST_SCANNED", len(NOTES) * 64)
    monkeypatch.setattr(module, "SMALLEST_GRAPH", 2)
    scanned = found(base, "leaks pump", AUTO)
    assert tables(workspace) == []
    add(workspace, base, {"d.txt": "The pump is new."})
    index = workspace._services.indexes.current(base.id, AUTO.index)
    assert (index.kind, index.dense.exact, tables(workspace)) == ("hnsw", False, [4])
    assert set(scanned) < set(found(base, "leaks pump", AUTO))
    assert "The pump is new." in found(there, "leaks pump", AUTO)
    whole = other._services.indexes.settled(there.id, AUTO.index)  # as happens in the background
    assert (whole.kind, tables(workspace)) == ("hnsw", [4])
    assert found(there, "leaks pump", AUTO) == found(base, "leaks pump", AUTO)
    other.close()
    workspace.close()


@pytest.mark.parametrize("kind", ["hnsw", "flat"])
def test_a_role_without_rights_searches_without_pgvector(postgres, tmp_path, caplog, kind):
    """It says which rights are missing; with them, and after a start, pgvector searches."""
    name, role = postgres.create(), f"app_{kind}"
    owner = {"TOUCHSTONE_DATABASE_URL": postgres.url(name), "TOUCHSTONE_VECTORS_URL": "process"}
    Workspace(Settings.from_env(owner, home=tmp_path / "owner")).close()
    recipe = QUICK.with_fields({"index.vector_index": kind, "search.mode": "dense"})

    def as_owner(*statements: str) -> None:
        with psycopg.connect(postgres.url(name).replace("+psycopg", ""), autocommit=True) as link:
            for statement in statements:
                link.execute(statement.encode())

    as_owner(
        f"CREATE ROLE {role} LOGIN",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}",
    )
    url = postgres.url(name).replace("touchstone@", f"{role}@")
    given = {"TOUCHSTONE_DATABASE_URL": url}
    if kind == "flat":
        given["TOUCHSTONE_VECTORS_URL"] = "pgvector"

    def opened() -> tuple[Workspace, list[str]]:
        workspace = Workspace(Settings.from_env(given, home=tmp_path / "app"))
        return workspace, [problem.name for problem in workspace.check()]

    workspace, problems = opened()
    base = workspace.create("notes", recipe)
    assert set(add(workspace, base, NOTES)) == {"added"}
    assert found(base, "The pump leaks.", recipe)[0] == "The pump leaks."
    workspace.close()
    (problem,) = problems
    grants = re.findall(r"CREATE EXTENSION vector;|GRANT [^;]+;", problem)
    assert len(grants) == 2
    assert all(grant in caplog.text for grant in grants)

    as_owner(grants[0])
    workspace, problems = opened()
    assert found(workspace.base("notes"), "The pump leaks.", recipe)[0] == "The pump leaks."
    assert grants[1] in problems[0]
    assert grants[0] not in problems[0]
    workspace.close()

    as_owner(grants[1])
    workspace, problems = opened()
    assert problems == []
    assert found(workspace.base("notes"), "The pump leaks.", recipe)[0] == "The pump leaks."
    assert tables(workspace) == [3]

    as_owner(grants[1].replace("GRANT", "REVOKE").replace(" TO ", " FROM "))
    base = workspace.create("later", recipe)
    add(workspace, base, NOTES)
    assert found(base, "The pump leaks.", recipe)[0] == "The pump leaks."
    assert tables(workspace) == [3]
    workspace.close()
