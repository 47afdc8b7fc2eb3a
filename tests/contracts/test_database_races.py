"""What several people, threads or processes do at once, on SQLite and on PostgreSQL."""

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest

from rag import AlreadyExists, KnowledgeBase, Workspace
from rag.services.services import cache_vectors
from rag.storage import documents
from tests.workspaces import QUICK, add

pytestmark = pytest.mark.usefixtures("database")
AT_ONCE, ROUNDS = 8, 6


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.create("notes", QUICK)


def _race(work: Callable[[int, int], object]) -> Counter[str]:
    """Errors, counted, of work that all threads begin at the same moment, several times."""
    errors: Counter[str] = Counter()
    for number in range(ROUNDS):
        gate = threading.Barrier(AT_ONCE)

        def run(thread: int, number: int = number, gate: threading.Barrier = gate) -> None:
            gate.wait()
            try:
                work(number, thread)
            except Exception as error:
                errors[f"{type(error).__name__}: {str(error)[:80]}"] += 1

        threads = [threading.Thread(target=run, args=(each,)) for each in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return errors


def test_a_build_is_registered_once(base):
    def prepare(number: int, _thread: int) -> None:
        recipe = QUICK.with_fields({"index.chunk_size": 100 + number})
        base.documents.prepare_build(recipe.index)

    assert _race(prepare) == Counter()
    assert len(base.documents.builds()) == 1 + ROUNDS


def test_a_question_is_collected_once_into_a_set_that_is_made_once(base):
    def collect(number: int, _thread: int) -> None:
        base.questions.collect(f"set {number}", f"Who is it {number}?")

    assert _race(collect) == Counter()
    sets = {item.name: item.questions for item in base.questions.list_all()}
    assert sets == {f"set {number}": 1 for number in range(ROUNDS)}


def test_the_same_evaluation_is_queued_once(workspace, base):
    add(workspace, base, {"pump.txt": "The bearing is dry."})
    evidence = '[{"document": "pump.txt", "quote": "bearing is dry"}]'
    line = f'{{"id": "q", "text": "Why the noise?", "evidence": {evidence}}}'
    base.questions.import_file("checks", "checks.jsonl", line)

    def start(number: int, _thread: int) -> None:
        base.runs.start_evaluation("checks", QUICK.with_fields({"search.top_k": 1 + number}))

    assert _race(start) == Counter()
    queued = [job for job in workspace.jobs.recent(base.id, 100) if job.kind == "evaluate"]
    assert len(queued) == ROUNDS
    for job in queued:
        assert workspace.jobs.run(job.id).status == "done"
    assert {run.id for run in base.runs.list_all()} == {str(job.payload["run"]) for job in queued}


def test_recipes_are_saved_by_many(base):
    def save(number: int, thread: int) -> None:
        base.recipes.save(QUICK.with_fields({"search.top_k": 10 + number * AT_ONCE + thread}))

    assert _race(save) == Counter()
    assert len(base.recipes.versions()) == ROUNDS * AT_ONCE


def test_the_same_texts_are_embedded_by_many(workspace, base):
    services = workspace._services
    embedder = services.models.embedder("fake")

    def embed(number: int, thread: int) -> None:
        texts = [f"text {number} {place}" for place in range(100)]
        cache_vectors(services.database, embedder, texts if thread % 2 else texts[::-1])

    assert _race(embed) == Counter()


def test_knowledge_bases_of_one_name_are_made_once(workspace):
    def create(number: int, _: int) -> None:
        with suppress(AlreadyExists):
            workspace.create(f"base {number}", QUICK)

    assert _race(create) == Counter()
    assert len(workspace.bases()) == ROUNDS


@pytest.mark.slow
def test_every_change_of_documents_counts(workspace, base):
    def write(number: int, thread: int) -> None:
        workspace.jobs.run(
            base.documents.add_text(f"{number} {thread}", f"words {number}, {thread}")
        )

    assert _race(write) == Counter()
    hits = base.search("words", QUICK.with_fields({"search.top_k": 100, "search.mode": "lexical"}))
    assert len(hits.hits) == len(base.documents.documents(QUICK.index)) == ROUNDS * AT_ONCE


def test_a_view_of_the_database_stays_what_it_was(workspace, base):
    add(workspace, base, {name: f"leave of staff {name}" for name in ("a.txt", "b.txt")})
    database = workspace._services.database
    with database.read() as connection:
        before = documents.ids_by_name(connection, base.id)
        base.documents.delete_documents([before["a.txt"]])
        assert documents.ids_by_name(connection, base.id) == before
    with database.read() as connection:
        assert list(documents.ids_by_name(connection, base.id)) == ["b.txt"]
