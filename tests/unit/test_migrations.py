"""The migrations build the schema that the queries expect."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text

from rag import StorageError
from rag.storage import Database, jobs, registries
from rag.storage.database import HEAD, MIGRATIONS
from rag.storage.every_table import metadata
from tests.postgres import Server

FIRST_SCHEMA = Path(__file__).parents[1] / "golden" / "first_schema.sql"


@pytest.fixture
def url(database: str, postgres: Server, tmp_path: Path) -> str:
    """The address of a database without tables: of each kind."""
    is_file = database == "sqlite"
    return f"sqlite:///{tmp_path}/new.db" if is_file else postgres.url(postgres.create())


def test_a_new_database_has_the_schema_of_the_tables(url):
    Database(url).close()
    with create_engine(url).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


@pytest.mark.sqlite("files have the first schema: PostgreSQL came later")
def test_a_database_of_the_first_schema_is_brought_up_to_date(tmp_path):
    file = tmp_path / "first.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(FIRST_SCHEMA.read_text())
        connection.execute(
            "INSERT INTO knowledge_base VALUES (7, 'manuals', '{}', 3, '2026-01-02 03:04:05')"
        )
        connection.execute(
            "INSERT INTO document VALUES "
            "(7, 'd1', 'a.txt', '', 'text/plain', '[]', '[]', '{}', 5, '2026-01-02 03:04:05')"
        )
        day = "2026-01-02 03:04:05"
        connection.execute(f"INSERT INTO conversation VALUES (5, 7, '{day}'), (6, 7, '{day}')")
        for number, talk in ((1, 5), (2, 5), (3, 6), (4, 5)):
            connection.execute(
                f"INSERT INTO turn VALUES ({number}, {talk}, 'why?', '{{}}', '', 'complete', "
                f"'quotes', '[]', '', 0, 0.0, 0, '{day}')"
            )
    url = f"sqlite:///{file}"
    Database(url).close()
    with create_engine(url).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT id, parent FROM turn ORDER BY id").fetchall() == [
            (1, None),
            (2, 1),
            (3, None),
            (4, 2),
        ]
        assert connection.execute(
            "SELECT visitor, name, settings FROM conversation"
        ).fetchall() == [
            ("", "", None),
            ("", "", None),
        ]
        assert connection.execute("SELECT id, name, tags FROM document").fetchall() == [
            ("d1", "a.txt", "[]")
        ]
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(HEAD,)]


def test_the_newest_migration_is_the_one_that_opening_looks_for():
    assert ScriptDirectory(str(MIGRATIONS)).get_current_head() == HEAD


def test_jobs_of_a_version_without_results_are_read_on(url):
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with create_engine(url).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0004")
        connection.execute(
            text(
                "INSERT INTO knowledge_base (id, name, recipe, version, created) "
                "VALUES (7, 'base', '{}', 0, '2026-01-01 00:00:00')"
            )
        )
        connection.execute(
            text(
                "INSERT INTO job (id, base_id, kind, title, payload, status, done, total, message,"
                " cancel, created) VALUES (3, 7, 'ingest', 'Reading', '{}', 'queued', 1, 2, 'x',"
                " false, '2026-01-01 00:00:00')"
            )
        )
    database = Database(url)
    with database.read() as reader:
        (row,) = jobs.recent(reader)
        assert (row.id, row.base, row.done, row.active) == (3, "base", 1, True)
        assert jobs.result(reader, 3) is None
        assert jobs.latest(reader, 7, "ingest", {"set": "any"}) is None
    with create_engine(url).connect() as reader:
        assert compare_metadata(MigrationContext.configure(reader), metadata) == []
    database.close()


@pytest.mark.sqlite("files have the first schema: PostgreSQL came later")
def test_grades_below_zero_of_before_do_not_mislead(tmp_path):
    file = tmp_path / "first.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(FIRST_SCHEMA.read_text())
        connection.executemany(
            "INSERT INTO evidence (set_id, question_id, document_name, start, grade, quote)"
            " VALUES (1, 'q', 'a.txt', 0, ?, '')",
            [(-1,), (-2,), (0,), (3,)],
        )
        connection.commit()
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with create_engine(f"sqlite:///{file}").begin() as upgraded:
        config.attributes["connection"] = upgraded
        command.upgrade(config, "0042")
        grades = upgraded.execute(text("SELECT grade FROM evidence ORDER BY id")).scalars()
        assert list(grades) == [0, 0, 0, 3]


@pytest.mark.sqlite("files have the first schema: PostgreSQL came later")
def test_systems_that_only_audits_could_ask_are_gone(tmp_path):
    file = tmp_path / "first.db"
    with closing(sqlite3.connect(file)) as first:
        first.executescript(FIRST_SCHEMA.read_text())
    url, config = f"sqlite:///{file}", Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    plain = {"name": "one", "url": "https://one.example/?q={question}", "body": "", "headers": {}}
    definitions = [
        plain,
        {**plain, "name": "two", "url": "https://two.example/{user}?q={question}"},
        {**plain, "name": "three", "headers": {"Authorization": "Bearer {user.key}"}},
        {**plain, "name": "four", "body": '{"groups": ["{user.groups}"]}', "user": {"name": "ada"}},
    ]
    with create_engine(url).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0047")
        connection.execute(
            text("INSERT INTO knowledge_base VALUES (7, 'base', '{}', 0, '2026-01-01 00:00:00')")
        )
        connection.execute(
            text("INSERT INTO system VALUES (7, :name, 1, '', :definition, '2026-01-01 00:00:00')"),
            [
                {"name": item["name"], "definition": json.dumps({"user": {}, **item})}
                for item in definitions
            ],
        )
    with closing(Database(url)) as database, database.read() as reader:
        assert [row.definition for row in registries.newest_systems(reader, 7)] == [plain]


def test_opening_again_changes_nothing(url):
    Database(url).close()
    before = _schema(url)
    Database(url).close()
    assert _schema(url) == before
    assert "document_part" in before


def test_data_of_a_newer_version_is_left_alone(url):
    with closing(Database(url)) as database, database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    before = _schema(url)
    with pytest.raises(StorageError, match="9999"):
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
