"""The migrations build the schema that the queries expect."""

import json
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import NullPool, create_engine, inspect, text

from rag import StorageError
from rag.storage import Database, jobs, registries
from rag.storage.database import HEAD, MIGRATIONS
from rag.storage.every_table import metadata
from tests.postgres import Server

HOMES = Path(__file__).parents[1] / "golden" / "homes"


@pytest.fixture
def url(database: str, postgres: Server, tmp_path: Path) -> str:
    """The address of a database without tables: of each kind."""
    is_file = database == "sqlite"
    return f"sqlite:///{tmp_path}/new.db" if is_file else postgres.url(postgres.create())


@pytest.fixture
def older(database: str, url: str, tmp_path: Path) -> str:
    """The address of a database of version 0.1.0, with a base and its queued job."""
    if database == "sqlite":
        with zipfile.ZipFile(HOMES / "0.1.0.zip") as backup:
            (tmp_path / "new.db").write_bytes(backup.read("touchstone.db"))
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        if database == "postgresql":
            connection.exec_driver_sql((HOMES / "0.1.0-postgresql.sql").read_text())
        connection.exec_driver_sql("DELETE FROM job")
        connection.exec_driver_sql(
            "INSERT INTO knowledge_base (id, name, recipe, version, created) "
            "VALUES (7, 'base', '{}', 0, '2026-01-01 00:00:00')"
        )
        connection.exec_driver_sql(
            "INSERT INTO job (id, base_id, kind, title, payload, status, done, total, message,"
            " cancel, created) VALUES (3, 7, 'ingest', 'Reading', '{}', 'queued', 1, 2, 'x',"
            " false, '2026-01-01 00:00:00')"
        )
    return url


def test_a_new_database_has_the_schema_of_the_tables(url):
    Database(url).close()
    with create_engine(url).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_database_of_the_first_version_is_brought_up_to_date(older):
    with closing(Database(older)) as database, database.read() as reader:
        (row,) = jobs.recent(reader)
        assert (row.id, row.base, row.done, row.active) == (3, "base", 1, True)
        assert jobs.result(reader, 3) is None
    with create_engine(older).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == HEAD


def test_the_newest_migration_is_the_one_that_opening_looks_for():
    assert ScriptDirectory(str(MIGRATIONS)).get_current_head() == HEAD


def test_systems_that_only_audits_could_ask_are_gone(older):
    plain = {"name": "one", "url": "https://one.example/?q={question}", "body": "", "headers": {}}
    definitions = [
        plain,
        {**plain, "name": "two", "url": "https://two.example/{user}?q={question}"},
        {**plain, "name": "three", "headers": {"Authorization": "Bearer {user.key}"}},
        {**plain, "name": "four", "body": '{"groups": ["{user.groups}"]}', "user": {"name": "ada"}},
    ]
    engine = create_engine(older, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO system VALUES (7, :name, 1, '', :definition, '2026-01-01 00:00:00')"),
            [
                {"name": item["name"], "definition": json.dumps({"user": {}, **item})}
                for item in definitions
            ],
        )
    with closing(Database(older)) as database, database.read() as reader:
        assert [row.definition for row in registries.newest_systems(reader, 7)] == [plain]


def test_opening_again_changes_nothing(url):
    Database(url).close()
    before = _schema(url)
    Database(url).close()
    assert _schema(url) == before
    assert "document_part" in before


@pytest.mark.parametrize("schema", ["9999", "0045"])
def test_data_that_this_version_does_not_read_is_left_alone(url, schema):
    with closing(Database(url)) as database, database.write() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{schema}'")
    before = _schema(url)
    with pytest.raises(StorageError, match=schema):
        Database(url)
    assert _schema(url) == before


def _schema(url: str) -> dict[str, dict[str, list[str]]]:
    """Columns with their types, and indexes, by table."""
    engine = create_engine(url)
    found = inspect(engine)
    schema = {
        table: {
            "columns": [f"{each['name']} {each['type']}" for each in found.get_columns(table)],
            "indexes": [str(each["name"]) for each in found.get_indexes(table)],
        }
        for table in found.get_table_names()
    }
    engine.dispose()
    return schema
