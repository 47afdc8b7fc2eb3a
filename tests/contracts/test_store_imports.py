"""Existing stores come in as they are, and nothing is written to them."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql

from rag import (
    BlockedAddress,
    ExistingStore,
    InvalidInput,
    KnowledgeBase,
    NotAllowed,
    NotFound,
    ProviderError,
    Settings,
    Workspace,
)
from rag.__main__ import main
from rag.errors import ProviderRejected
from rag.library.documents import stores as store_import_job
from rag.search.snapshot import take_snapshot
from rag.services.indexing.index import lookup
from rag.stores.existing import postgresql, qdrant_collection, search_index
from rag.stores.existing.qdrant_collection import QdrantCollection
from rag.types import Vectors
from tests.people import signed_in, view
from tests.postgres import Server
from tests.read_only_stores import qdrant_with, search_index_with
from tests.verbs import output_of
from tests.workspaces import QUICK

KINDS = ("pgvector", "qdrant", "elasticsearch", "opensearch")
PAGE = 40  # rows
SAMPLED = 40  # rows that are read before all are
NUMBER = 2 * PAGE + 10
FOREIGN = 9
WORDS = "cat dog leave pay rent tax boat tree lamp desk road hill"
KEY = "TOUCHSTONE_TOOL_STORE"


def texts() -> list[str]:
    words = WORDS.split()
    return [
        f"  Note {number} on {words[number % 12]} and {words[number // 12 % 12]}.\r\nIt is short."
        for number in range(NUMBER)
    ]


def rows() -> list[dict[str, Any]]:
    """Rows with nested metadata; two have no text."""
    listed = [
        {"id": number, "body": text, "title": f"Note {number}", "details": {"page": number}}
        for number, text in enumerate(texts())
    ]
    for number in (3, 4):
        listed[number]["body"] = " "
    return listed


def embedded(base: KnowledgeBase) -> Vectors:
    """Vectors of the texts of an embedder whose rounding is coarse; the last ones are foreign."""
    embedder = base._services.models.embedder("fake")
    vectors = embedder.embed([text.replace("\r\n", "\n").strip() for text in texts()], "document")
    vectors = 2 * np.round(vectors, 3)
    vectors[-FOREIGN:] = vectors[:FOREIGN]
    return vectors


@dataclass
class Served:
    """A store of one kind. ``cut`` ends connections to ``fragile`` after some rows."""

    store: ExistingStore
    fragile: ExistingStore
    cut: Callable[[], None]
    without_rights: Callable[[], ExistingStore]
    refused: Callable[[], list[str]]


@pytest.fixture
def workspace(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """A workspace that reads stores in pages as small as their tests need."""
    for module, name in (
        (postgresql, "_BLOCK"),
        (qdrant_collection, "PAGE"),
        (search_index, "PAGE"),
    ):
        monkeypatch.setattr(module, name, PAGE)
    variables = {"TOUCHSTONE_ALLOW_PRIVATE_URLS": "1", KEY: "secret"}
    opened = Workspace(Settings.from_env(variables, home=home))
    yield opened
    opened.close()


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.create("store", QUICK)


@pytest.fixture(params=KINDS)
def served(request: pytest.FixtureRequest, base: KnowledgeBase) -> Iterator[Served]:
    with serve(request.param, embedded(base), request) as one:
        yield one


@contextmanager
def serve(kind: str, vectors: Vectors, request: pytest.FixtureRequest) -> Iterator[Served]:
    if kind == "pgvector":
        with in_postgresql(request.getfixturevalue("postgres"), vectors) as one:
            yield one
        return
    listed = vectors.tolist()
    if kind == "qdrant":
        context, key = qdrant_with(rows(), listed), "secret"
    else:
        context = search_index_with(rows(), listed, in_source=kind == "opensearch")
        key = "ApiKey secret"
    with context as store:
        store.key = key
        definition = ExistingStore.parse(
            {"kind": kind, "address": store.address, "name": "passages", "key": KEY}
        )

        def cut() -> None:
            store.dies_after = len(store.paths) + 4  # two looks, and two of three pages

        def without_rights() -> ExistingStore:
            store.key = "another"
            return definition

        yield Served(definition, definition, cut, without_rights, lambda: store.refused)


@contextmanager
def in_postgresql(server: Server, vectors: Vectors) -> Iterator[Served]:
    """A table that the role ``reader`` may SELECT from, and another that it may not."""
    name = server.create()
    role = f"reader_{name}"
    admin = f"host=127.0.0.1 port={server.port} user=touchstone dbname={name}"
    try:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            for table in ("passages", "hidden"):
                connection.execute(
                    sql.SQL(
                        "CREATE TABLE {} (id int PRIMARY KEY, body text, title text, "
                        "details jsonb, embedding vector({}))"
                    ).format(sql.Identifier(table), sql.Literal(vectors.shape[1]))
                )
            with connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO passages VALUES (%s, %s, %s, %s, %s)",
                    [
                        (row["id"], row["body"], row["title"], json.dumps(row["details"]), str(one))
                        for row, one in zip(rows(), vectors.tolist(), strict=True)
                    ],
                )
            connection.execute("CREATE VIEW fragile AS SELECT id, body, embedding FROM passages")
            connection.execute(
                "CREATE FUNCTION cut() RETURNS text STABLE LANGUAGE sql "
                "AS 'SELECT pg_terminate_backend(pg_backend_pid())::text'"
            )
            connection.execute("CREATE INDEX ON passages USING hnsw (embedding vector_ip_ops)")
            reader = sql.Identifier(role)
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(reader))
            connection.execute(sql.SQL("GRANT SELECT ON passages, fragile TO {}").format(reader))

        def table(name_of_table: str) -> ExistingStore:
            address = f"postgresql://{role}@127.0.0.1:{server.port}/{name}"
            return ExistingStore.parse(
                {"kind": "pgvector", "address": address, "name": name_of_table, "key": KEY}
            )

        def cut() -> None:
            with psycopg.connect(admin, autocommit=True) as connection:
                connection.execute(
                    "CREATE OR REPLACE VIEW fragile AS SELECT id, "
                    "CASE WHEN id = 80 THEN cut() ELSE body END AS body, embedding FROM passages"
                )

        hidden = table("hidden")
        yield Served(table("passages"), table("fragile"), cut, lambda: hidden, list)
    finally:
        server.drop(name)
        server.tell(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))


def stored_vectors(base: KnowledgeBase) -> dict[str, Vectors]:
    """The vectors of the index, by document."""
    index = take_snapshot(base._services, base.id, base.recipe()).index
    names = {info.id: info.name for info in base.documents.documents(base.recipe().index)}
    keys = np.sort(index.passages)
    passages = lookup(base._services.database, base.id, index.cut_id, index.version)(keys.tolist())
    rows_of = dict(zip(keys.tolist(), index.dense.vectors(keys), strict=True))
    return {names[passages[key][0].document_id]: rows_of[key] for key in keys.tolist()}


def test_a_store_comes_in_with_its_own_vectors_and_nothing_is_written(
    workspace: Workspace, base: KnowledgeBase, served: Served
) -> None:
    wanted = embedded(base)
    job = workspace.jobs.run(base.documents.import_store(served.store, "fake"))
    assert job.status == "done", job.message
    assert served.refused() == []
    assert "88 of 88 documents added" in job.message
    assert "2 rows without text or vector left out" in job.message
    assert "sampled vectors are not what fake makes" in job.message
    recipe = base.recipe()
    model, _, space = recipe.index.embedder.partition("#")
    assert (model, space[:9]) == ("fake", "passages-")
    assert (recipe.index.chunker, recipe.index.context) == ("whole", "none")
    assert base.documents.missing(recipe.index) == 0
    listed = {info.name: info for info in base.documents.documents(recipe.index)}
    assert set(listed) == {str(row["id"]) for row in rows()} - {"3", "4"}
    assert {info.passages for info in listed.values()} == {1}
    document = base.documents.document(listed["7"].id)
    assert document.text == texts()[7].replace("\r\n", "\n").strip()
    assert (document.metadata["title"], document.metadata["details.page"]) == ("Note 7", "7")
    units = wanted / np.linalg.norm(wanted.astype(np.float64), axis=1, keepdims=True)
    for name, vector in stored_vectors(base).items():
        np.testing.assert_array_equal(vector, units[int(name)].astype(np.float32))


def test_a_preview_names_fields_and_foreign_vectors(base: KnowledgeBase, served: Served) -> None:
    preview = base.documents.preview_store(served.store, "fake")
    assert (preview.layout.rows, preview.store.text, preview.store.title) == (90, "body", "title")
    (vector,) = preview.layout.vectors
    assert (vector.dimension, vector.similarity) == (64, "dot product")
    assert vector.name == preview.store.vector
    assert preview.check.sampled == preview.sampled
    assert 38 <= preview.sampled <= 40
    assert preview.check.median > 0.99
    assert preview.notes == (
        "The vectors do not have length one. The store ranks by dot product, and this knowledge "
        "base by cosine: the order can differ.",
    )
    assert base.documents.documents(base.recipe().index) == []
    only = {"title": "Note 9"}
    some = base.documents.preview_store(served.store.model_copy(update={"only": only}))
    assert (some.layout.rows, [row.id for row in some.rows]) == (1, ["9"])
    assert served.refused() == []


def test_a_connection_that_ends_in_the_middle_leaves_nothing(
    workspace: Workspace,
    base: KnowledgeBase,
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, read = base.recipe(), []
    made = store_import_job.document_row
    monkeypatch.setattr(
        store_import_job, "document_row", lambda *row: (read.append(1), made(*row))[1]
    )
    number = base.documents.import_store(served.fragile, "fake")
    served.cut()
    job = workspace.jobs.run(number)
    assert job.status == "failed"
    assert 2 * PAGE <= len(read) - SAMPLED < NUMBER
    assert "cannot be reached" in job.message or "connection to PostgreSQL" in job.message
    assert base.documents.documents(base.recipe().index) == []
    assert base.recipe() == before
    assert not [path for path in workspace.settings.home.glob("files/*/*") if path.is_file()]


def test_errors_name_what_is_wrong(
    workspace: Workspace, base: KnowledgeBase, served: Served
) -> None:
    imports, store = base.documents, served.store
    missing = store.model_copy(update={"name": "passagez"})
    with pytest.raises(NotFound, match=r"There is no \w+ store passagez"):
        imports.import_store(missing, "fake")
    with pytest.raises(InvalidInput, match="64 dimensions, those of wordllama have 256"):
        imports.import_store(store, "wordllama")
    with pytest.raises(InvalidInput, match="no field 'bodi'"):
        imports.import_store(store.model_copy(update={"text": "bodi"}), "fake")
    with pytest.raises(InvalidInput, match="no vectors named 'body'"):
        imports.import_store(store.model_copy(update={"vector": "body"}), "fake")
    unset = store.model_copy(update={"key": "TOUCHSTONE_TOOL_ABSENT"})
    with pytest.raises(ProviderRejected, match="TOUCHSTONE_TOOL_ABSENT, which is not set"):
        imports.import_store(unset, "fake")
    with pytest.raises(ProviderRejected, match="does not let its rows be read"):
        imports.import_store(served.without_rights(), "fake")
    signed_in(workspace, "ann")  # the first person is an administrator
    ben = signed_in(workspace, "ben")
    base.access.add_member(ben.email, "owner")
    with pytest.raises(NotAllowed, match="administrator"):
        view(workspace, ben).base(base.name).documents.preview_store(store)


def test_a_server_that_is_away(base: KnowledgeBase) -> None:
    for kind, scheme in (("pgvector", "postgresql"), ("qdrant", "http")):
        store = ExistingStore.parse(
            {"kind": kind, "address": f"{scheme}://127.0.0.1:1/x", "name": "passages"}
        )
        with pytest.raises(ProviderError, match=r"cannot be reached|connection"):
            base.documents.preview_store(store)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"address": "postgresql://u:secret@db/x"}, "password"),
        ({"address": "https://db/x"}, "like postgresql"),
        ({"kind": "qdrant", "address": "https://u:secret@db/x"}, "password"),
        ({"key": "secret"}, "TOUCHSTONE_TOOL_"),
        ({"kind": "mysql"}, "kind"),
    ],
)
def test_a_definition_keeps_no_secret(changes: dict[str, Any], words: str) -> None:
    good = {"kind": "pgvector", "address": "postgresql://u@db/x", "name": "passages"}
    with pytest.raises(InvalidInput, match=words) as raised:
        ExistingStore.parse(good | changes)
    assert "secret" not in str(raised.value)


def test_addresses_inside_the_network_are_refused(home: Path) -> None:
    workspace = Workspace(Settings.from_env({}, home=home))
    base = workspace.create("store", QUICK)
    for kind, scheme in (("pgvector", "postgresql"), ("qdrant", "http")):
        store = ExistingStore.parse(
            {"kind": kind, "address": f"{scheme}://127.0.0.1:1/x", "name": "passages"}
        )
        with pytest.raises(BlockedAddress, match="inside this computer"):
            base.documents.preview_store(store)
    workspace.close()


def test_an_import_of_a_store_that_was_embedded_anew_replaces_vectors(
    workspace: Workspace, base: KnowledgeBase, request: pytest.FixtureRequest
) -> None:
    first = embedded(base)
    with serve("qdrant", first, request) as one:
        workspace.jobs.run(base.documents.import_store(one.store, "fake"))
    before, documents = stored_vectors(base), base.documents.documents(base.recipe().index)
    anew = first.copy()
    anew[20:30, 0] += 0.01
    with serve("qdrant", anew, request) as one:
        job = workspace.jobs.run(base.documents.import_store(one.store, "fake"))
        again = workspace.jobs.run(base.documents.import_store(one.store, "fake"))
    assert job.message.startswith("0 of 88 documents added; 10 with another vector than before; ")
    assert "another vector than before" not in again.message
    assert base.documents.documents(base.recipe().index) == documents
    after = stored_vectors(base)
    changed = {name for name in after if not np.array_equal(before[name], after[name])}
    assert changed == {str(number) for number in range(20, 30)}
    for number in range(20, 30):
        row = anew[number].astype(np.float64)
        unit = (row / np.linalg.norm(row)).astype(np.float32)
        np.testing.assert_array_equal(after[str(number)], unit)


def test_a_killed_import_goes_on_without_the_store(
    workspace: Workspace,
    base: KnowledgeBase,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_import_job, "_GROUP", PAGE)
    store_group, calls = store_import_job.Ingestion.store, []

    def killed(*args: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return store_group(*args, **named)

    with serve("qdrant", embedded(base), request) as one:
        job = base.documents.import_store(one.store, "fake")
        with monkeypatch.context() as patch:
            patch.setattr(store_import_job.Ingestion, "store", killed)
            with pytest.raises(KeyboardInterrupt):
                workspace.jobs.run(job)
    assert len(base.documents.documents(base.recipe().index)) == 2 * PAGE
    assert workspace.jobs.run(job).status == "done"
    assert len(base.documents.documents(base.recipe().index)) == 88


def test_a_base_with_other_documents_takes_no_store(
    workspace: Workspace, base: KnowledgeBase, request: pytest.FixtureRequest
) -> None:
    with serve("qdrant", embedded(base), request) as one:
        workspace.jobs.run(base.documents.add_text("Own", "A text of its own."))
        with pytest.raises(InvalidInput, match="did not come from a store"):
            base.documents.import_store(one.store, "fake")
        other = workspace.create("other", QUICK)
        workspace.jobs.run(other.documents.import_store(one.store, "fake"))
        again = workspace.jobs.run(other.documents.import_store(one.store, "fake"))
        assert "0 of 88 documents added" in again.message
        with pytest.raises(InvalidInput, match="are of fake, not of minilm"):
            other.documents.import_store(one.store, "minilm")


def test_two_imports_into_one_empty_base_do_not_mix(
    workspace: Workspace,
    base: KnowledgeBase,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = store_import_job._store

    def overtaken(*args: Any) -> str:
        base.recipes.save(base.recipe().with_fields({"index.embedder": "fake#other-1"}))
        return store(*args)

    monkeypatch.setattr(store_import_job, "_store", overtaken)
    with serve("qdrant", embedded(base), request) as one:
        job = workspace.jobs.run(base.documents.import_store(one.store, "fake"))
    assert job.status == "failed"
    assert "names other vectors" in job.message
    assert base.documents.documents(base.recipe().index) == []


def test_a_store_without_end_is_not_read(
    workspace: Workspace,
    base: KnowledgeBase,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layout = QdrantCollection.layout

    def run(**limits: int) -> str:
        for name, most in limits.items():
            object.__setattr__(workspace.settings, name, most)
        with serve("qdrant", embedded(base), request) as one:
            job = workspace.jobs.run(base.documents.import_store(one.store, "fake"))
        assert job.status == "failed"
        return job.message

    with pytest.raises(InvalidInput, match="more than 89 rows"):
        run(max_store_rows=NUMBER - 1)
    monkeypatch.setattr(QdrantCollection, "layout", lambda one: replace(layout(one), rows=1))
    assert "more than 89 rows" in run(max_store_rows=NUMBER - 1)
    assert "larger than 0 MB" in run(max_store_rows=NUMBER, max_store_mb=0)
    assert base.documents.documents(base.recipe().index) == []


def test_vectors_of_another_model_of_the_same_size(
    workspace: Workspace, base: KnowledgeBase, request: pytest.FixtureRequest
) -> None:
    vectors = np.random.default_rng(0).normal(size=(NUMBER, 64)).astype(np.float32)
    with serve("qdrant", vectors, request) as one:
        job = workspace.jobs.run(base.documents.import_store(one.store, "fake"))
    assert job.status == "failed"
    assert "fake did not make these vectors" in job.message
    assert base.recipe() == QUICK


def test_the_verb_previews_and_imports(
    home: Path,
    base: KnowledgeBase,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TOUCHSTONE_ALLOW_PRIVATE_URLS", "1")
    monkeypatch.setenv(KEY, "secret")
    with serve("qdrant", embedded(base), request) as one:
        verb = ["import-store", "new", "qdrant", one.store.address, "passages", "--key", KEY]
        verb += ["--embedder", "fake", "--home", str(home)]
        assert main([*verb, "--preview"]) == 0
        shown = capsys.readouterr().out
        assert "90 rows in qdrant store passages" in shown
        assert "text from 'body'" in shown
        data = output_of(capsys, *verb)
        assert data["documents"] == 88
        assert data["embedder"].startswith("fake#passages-")
        assert main(["import-store", "newer", *verb[2:], "--text", "none"]) == 2
    assert "newer" not in {info.name for info in Workspace.from_env().bases()}
