"""The rankings of a real collection are the same from PostgreSQL as from SQLite with FAISS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag import KnowledgeBase, Recipe, Settings, Workspace
from rag.indexing.vector_cache import export_vectors, import_vectors
from tests.postgres import Server
from tests.workspaces import DATABASE

DOCUMENTS, QUESTIONS = 100, 20  # all of them are compared by ``bench --only pgvector``
RECIPE = Recipe().with_fields(
    {
        "index.chunker": "whole",
        "index.vector_index": "flat",
        "search.threshold": None,
        "search.refuse": "off",
        "search.top_k": 100,
    }
)


@pytest.fixture(scope="module")
def collection(datasets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first documents of SciFact."""
    folder = tmp_path_factory.mktemp("collections") / "scifact"
    (folder / "qrels").mkdir(parents=True)
    lines = (datasets / "scifact" / "corpus.jsonl").read_text("utf-8").splitlines()[:DOCUMENTS]
    (folder / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    known = {json.loads(line)["_id"] for line in lines}
    (folder / "queries.jsonl").write_bytes((datasets / "scifact/queries.jsonl").read_bytes())
    head, *rows = (datasets / "scifact/qrels/test.tsv").read_text("utf-8").splitlines()
    kept = [row for row in rows if row.split("\t")[1] in known]
    (folder / "qrels" / "test.tsv").write_text("\n".join([head, *kept]), "utf-8")
    return folder


def _imported(workspace: Workspace, folder: Path) -> KnowledgeBase:
    base = workspace.create("scifact", RECIPE)
    assert workspace.jobs.run(base.documents.import_beir(folder, "test")).status == "done"
    return base


def _ranking(base: KnowledgeBase, question: str, recipe: Recipe) -> list[tuple[str, float]]:
    return [(hit.chunk.id, hit.score) for hit in base.search(question, recipe).hits]


@pytest.mark.slow
def test_rankings_of_pgvector_and_of_faiss_are_those_of_sqlite_with_faiss(
    postgres: Server, collection: Path, tmp_path: Path
) -> None:
    (tmp_path / "sqlite").mkdir()
    file = {"TOUCHSTONE_DATABASE_URL": f"sqlite:///{tmp_path / 'sqlite' / DATABASE}"}
    here = Workspace(Settings.from_env(file, home=tmp_path / "sqlite"))
    base = _imported(here, collection)
    embedder = here._services.models.embedder(RECIPE.index.embedder).id
    export_vectors(here._services.database, embedder, tmp_path / "vectors.npz")
    url = postgres.url(postgres.create())
    given = {"TOUCHSTONE_DATABASE_URL": url, "TOUCHSTONE_VECTORS_URL": "pgvector"}
    there = Workspace(Settings.from_env(given, home=tmp_path / "postgresql"))
    import_vectors(there._services.database, tmp_path / "vectors.npz")
    same = _imported(there, collection)
    given["TOUCHSTONE_VECTORS_URL"] = "process"
    in_process = Workspace(Settings.from_env(given, home=tmp_path / "process"))
    others = [same, in_process.base("scifact")]
    lines = (collection / "queries.jsonl").read_text("utf-8").splitlines()
    for mode in ("dense", "hybrid"):
        recipe = RECIPE.with_fields({"search.mode": mode})
        for line in lines[:QUESTIONS]:
            question = json.loads(line)["text"]
            ranking = _ranking(base, question, recipe)
            assert len(ranking) == 100
            assert [_ranking(each, question, recipe) for each in others] == [ranking] * 2
    for workspace in (here, there, in_process):
        workspace.close()
