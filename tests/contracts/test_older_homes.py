"""A home of version 0.1.0, as its backup and a bundle of it: all that it had is there.

They are of the last commit with permission audits, live traffic, learned fusions, moves to another
embedder and the drift watch: each left its rows, a job that was done, and a job that waited.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rag import KnowledgeBase, Workspace
from rag.__main__ import main
from rag.storage import database
from tests.workspaces import workspace_at

pytestmark = pytest.mark.sqlite("restores a file; test_backup_server.py has servers")
HOMES = Path(__file__).parents[1] / "golden" / "homes"
FIGURES: dict[str, Any] = json.loads((HOMES / "0.1.0.json").read_text())
"""Runs as 0.1.0 showed them; per question nDCG@10, first relevant rank, found, relevant."""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    home = tmp_path / "old"
    assert main(["restore", str(HOMES / "0.1.0.zip"), "--home", str(home)]) == 0
    return workspace_at(home)


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("handbook")


def test_runs_show_the_figures_and_hashes_that_they_had(base):
    shown = {
        run.id: {
            "recipe": run.recipe_hash,
            "source": run.source,
            "metrics": {name: run.metrics[name] for name in FIGURES[run.id]["metrics"]},
            "per_question": {
                item.question_id: [
                    item.metrics["ndcg@10"],
                    item.first_relevant,
                    item.found,
                    item.relevant,
                ]
                for item in base.runs.results(run.id)
            },
        }
        for run in base.runs.list_all()
    }
    assert shown == FIGURES


def test_what_was_stored_is_read(workspace, base):
    assert workspace.check() == []
    names = {item.name for item in base.documents.documents(base.recipe().index)}
    assert {"leave.md", "badges.rst", "parking.adoc"} <= names
    talks = base.conversations.recent()
    assert len(talks) == 5
    assert all(base.conversations.turns(talk.id) for talk in talks)
    assert {item.name for item in base.systems.list_all()} == {"of-ada", "rival"}
    hits = base.search("How long may unused leave be carried over?", base.recipe()).hits
    assert "leave.md" in [hit.document for hit in hits]


def test_a_check_is_content_with_an_index_that_has_no_hashes(workspace, base):
    recipe = base.recipe()
    index = workspace.settings.home / "indexes" / str(base.id) / recipe.index.hash
    shutil.rmtree(index, ignore_errors=True)
    index.mkdir(parents=True)
    (index / "index.json").write_text("{}")
    hits = base.search("How long may unused leave be carried over?", recipe).hits
    assert "leave.md" in [hit.document for hit in hits]
    assert workspace.check() == []


def test_a_system_that_asked_as_a_user_asks_the_same(base):
    system = base.systems.get("of-ada")
    assert system.definition.url == "https://search.example/h%20r?q={question}"
    assert json.loads(system.definition.body) == {
        "text": "{question}",
        "as": "ada",
        "groups": ["a", "b"],
    }
    assert system.definition.headers == {"Authorization": "Bearer TOUCHSTONE_TOOL_ADA"}


def test_a_token_that_sent_traces_keeps_its_other_scopes(workspace):
    scopes = {token.name: token.scopes for token in workspace.access.tokens.list_all()}
    assert scopes == {"scripts": ("read",)}


def test_removed_fields_are_left_out_where_a_recipe_names_one(base):
    (run,) = [run for run in base.runs.list_all() if run.id == "f1b1c1acbb92"]
    assert run.recipe.removed == {
        "search.abbreviations": True,
        "search.learned_fusion": "d53959a1b539",
    }
    assert base.recipe().hash == "8076091969e8"
    again = base.runs.evaluate("policies", base.recipe()).run
    assert again.recipe_hash == "8076091969e8"


def test_a_bundle_that_names_a_learned_fusion_is_imported(tmp_path):
    home = str(tmp_path / "new")
    bundle = str(HOMES / "0.1.0-bundle.zip")
    assert main(["import-bundle", bundle, "--kb", "again", "--home", home]) == 1  # other figures
    (run,) = workspace_at(Path(home)).base("again").runs.list_all()
    assert run.recipe_hash == "8076091969e8"


def test_a_database_is_copied_before_its_upgrade(tmp_path):
    home = tmp_path / "old"
    assert main(["restore", str(HOMES / "0.1.0.zip"), "--home", str(home)]) == 0
    before = (home / "touchstone.db").read_bytes()
    workspace_at(home).close()
    (copy,) = home.glob("touchstone.db.schema-*")
    assert copy.read_bytes() == before
    assert copy.stat().st_mode & 0o777 == 0o600


def test_an_older_database_in_use_stays_as_it_is(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(database, "_SECONDS_ALONE", 0.01)
    home = tmp_path / "old"
    assert main(["restore", str(HOMES / "0.1.0.zip"), "--home", str(home)]) == 0
    schema = "SELECT version_num FROM alembic_version"
    with closing(sqlite3.connect(home / "touchstone.db")) as server:  # of the older version
        server.execute("PRAGMA journal_mode = WAL")
        (old,) = server.execute(schema).fetchone()
        assert main(["runs", "handbook", "--home", str(home)]) == 2
        assert "another process has it open" in capsys.readouterr().err
        assert server.execute(schema).fetchone() == (old,)
    assert main(["runs", "handbook", "--home", str(home)]) == 0


def test_a_newer_database_names_the_schema_that_it_needs(tmp_path, capsys):
    workspace_at(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "touchstone.db")) as newer:
        newer.execute("UPDATE alembic_version SET version_num = '9998'")
        newer.commit()
    assert main(["check", "--home", str(tmp_path)]) == 2
    assert "9998" in capsys.readouterr().err
