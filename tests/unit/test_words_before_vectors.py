"""A document answers by words as soon as it is stored, and by meaning when its vectors are in."""

import io
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from rag import (
    Document,
    InvalidInput,
    KnowledgeBase,
    ProviderUnavailable,
    SearchRecipe,
    Upload,
    Workspace,
    readers,
)
from rag.library.documents import ingest_job
from rag.library.documents.embedding_queue import EmbeddingQueue
from rag.library.documents.ingest_job import ingest
from rag.library.documents.ingestion import Ingestion
from rag.library.documents.remaining_time import RemainingTime
from rag.protocols import InputType
from rag.providers.minilm import HashingEmbedder
from rag.retrieval import (
    NOT_FOUND,
    Candidates,
    IncompleteVectors,
    cut,
    fused_scores,
    score_contributions,
)
from rag.services.services import Models
from rag.storage.leases import Claims
from rag.stores import empty
from rag.types import Vectors
from tests.workspaces import QUICK, add, found, workspace_at

pytestmark = pytest.mark.usefixtures("database")

LEAVE = "# Leave\n\nUnused leave may be carried over for three months.\n"
TRAVEL = "# Travel\n\nTrains are booked in second class.\n"


class Watched(HashingEmbedder):
    """An embedder that calls ``before`` each time that it is to embed documents."""

    before: Callable[[Sequence[str]], None] = staticmethod(lambda _texts: None)

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        if input_type == "document":
            self.before(texts)
        return super().embed(texts, input_type)


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> Watched:
    watched = Watched()
    monkeypatch.setattr(Models, "embedder", lambda _models, _name: watched)
    return watched


def take(base: KnowledgeBase, name: str, content: str) -> Document:
    """Stores a text without its vectors, as a killed job leaves it."""
    ingestion = Ingestion(base._database, base.id, base._services.models.embedder)
    document = readers.read_text(content, name)
    ingestion.take(document, lambda *_: None, lambda *_: None)
    return document


def queue_of(base: KnowledgeBase) -> EmbeddingQueue:
    database = base._database
    ingestion = Ingestion(database, base.id, base._services.models.embedder)
    return EmbeddingQueue(database, ingestion, Claims(database), RemainingTime({}))


def embed_all(base: KnowledgeBase) -> None:
    queue = queue_of(base)
    while queue.some():
        pass


def stored_vectors(base: KnowledgeBase) -> int:
    with base._database.read() as connection:
        return int(connection.execute(text("SELECT count(*) FROM text_vector")).scalar_one())


def test_a_document_answers_before_its_vectors_are_made(
    workspace: Workspace, embedder: Watched
) -> None:
    base = workspace.create("handbook", QUICK)
    seen = list[tuple[str, dict[str, float], int, list[str]]]()

    def look(_texts: Sequence[str]) -> None:
        hit = base.search("carried over", QUICK).hits[0]
        missing, late = base.documents.missing(QUICK.index), base.documents.by_words(QUICK.index)
        seen.append((hit.chunk.text, dict(hit.parts), missing, late))

    embedder.before = look
    assert add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL}) == ["added"] * 2
    content, parts, missing, late = seen[0]
    assert "Unused leave may be carried over" in content
    assert (parts["by_words"], parts["dense"], missing) == (1.0, 0.0, 2)
    assert sorted(late) == ["leave.md", "travel.md"]
    hit = base.search("carried over", QUICK).hits[0]
    assert "by_words" not in hit.parts
    assert hit.parts["dense"] > 0.1
    assert (base.documents.missing(QUICK.index), base.documents.by_words(QUICK.index)) == (0, [])


def test_vectors_are_made_while_the_next_document_is_read(
    workspace: Workspace, embedder: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, made, read = workspace.create("handbook", QUICK), threading.Event(), readers.read

    def slow(path: Path, name: str, **others: object) -> Document:
        assert name == "leave.md" or made.wait(120), "nothing was embedded while this was read"
        return read(path, name, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(ingest_job, "_PATIENCE", 0.0)
    monkeypatch.setattr(readers, "read", slow)
    embedder.before = lambda _texts: made.set()
    assert add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL * 9}) == ["added"] * 2


class Killed(BaseException):
    """What no handler catches: as good as a killed process."""


def test_a_job_that_was_killed_between_words_and_vectors_is_gone_on_with(
    workspace: Workspace, embedder: Watched, home: Path
) -> None:
    base = workspace.create("handbook", QUICK)
    whole = workspace.create("whole", QUICK)
    files = {"leave.md": LEAVE, "travel.md": TRAVEL * 40}
    job_id = base.documents.add_files(
        [Upload(name, io.BytesIO(content.encode())) for name, content in files.items()]
    )

    def kill(texts: Sequence[str]) -> None:
        raise Killed

    embedder.before = kill
    with pytest.raises(Killed):
        ingest(base._services, workspace.jobs.get(job_id), _Silent())
    assert [item.status for item in workspace.jobs.items(job_id)] == ["added", "added"]
    again = workspace_at(home)
    left = again.base("handbook")
    assert left.search("second class", QUICK).hits[0].parts["by_words"] == 1.0
    embedder.before = staticmethod(lambda _texts: None)
    assert again.jobs.run(job_id).message == "2 of 2 read"
    assert (left.documents.missing(QUICK.index), left.documents.by_words(QUICK.index)) == (0, [])
    add(workspace, whole, files)
    for question in ("carried over", "second class trains"):
        expected = whole.search(question, QUICK)
        assert left.search(question, QUICK).hits == expected.hits
        assert workspace_at(home).base("handbook").search(question, QUICK).hits == expected.hits


class _Silent:
    def report(self, *_: object) -> None: ...

    def cancelled(self) -> bool:
        return False

    def give_way(self) -> None:
        pass


def test_nothing_is_measured_while_vectors_are_not_in(workspace: Workspace) -> None:
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    label = {"document": "leave.md", "quote": "carried over"}
    line = json.dumps({"text": "Until when?", "evidence": [label]})
    base.questions.import_file("checks", "checks.jsonl", line)
    take(base, "travel.md", TRAVEL)
    with pytest.raises(InvalidInput, match="Only lexical search finds 1 of 2 documents so far"):
        base.runs.evaluate("checks", QUICK)
    with pytest.raises(InvalidInput, match="Only lexical search finds 1 of 2 documents so far"):
        base.tuning.tuner("checks").figures([QUICK], ["ndcg@10"])
    workspace.jobs.run(base.documents.build(QUICK.index))
    assert base.runs.evaluate("checks", QUICK).run.documents == 2


def test_an_embedder_that_fails_later_leaves_documents_that_answer_by_words(
    workspace: Workspace, embedder: Watched
) -> None:
    base = workspace.create("handbook", QUICK)

    def away(_texts: Sequence[str]) -> None:
        raise ProviderUnavailable("The server is away.", "Start it.")

    embedder.before = away
    assert add(workspace, base, {"leave.md": LEAVE}) == ["added"]
    job = workspace.jobs.recent(base.id)[0]
    assert job.status == "done"
    [item] = workspace.jobs.items(job.id)
    assert (item.hint, item.chunks) == ("Start it.", 1)
    assert "carried over" in found(base, "carried over")[0]
    embedder.before = staticmethod(lambda _texts: None)
    assert add(workspace, base, {"leave.md": LEAVE}) == ["unchanged"]
    assert base.documents.missing(QUICK.index) == 0
    assert base.search("carried over", QUICK).hits[0].parts["dense"] > 0.1


def test_a_document_that_is_deleted_meanwhile_leaves_no_vector(
    workspace: Workspace, embedder: Watched
) -> None:
    base = workspace.create("handbook", QUICK)

    def delete(_texts: Sequence[str]) -> None:
        infos = base.documents.documents(QUICK.index)
        base.documents.delete_documents([info.id for info in infos if info.name == "leave.md"])

    embedder.before = delete
    assert add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL}) == ["added"] * 2
    assert [info.name for info in base.documents.documents(QUICK.index)] == ["travel.md"]
    assert stored_vectors(base) == 1
    assert found(base, "second class") == [TRAVEL.strip()]


def test_two_who_make_the_same_vectors_are_not_in_each_others_way(
    workspace: Workspace, embedder: Watched
) -> None:
    base = workspace.create("handbook", QUICK)
    take(base, "leave.md", LEAVE)
    other = queue_of(base)
    calls = list[int]()
    claimed = base._database.dialect == "postgresql"  # there nobody makes what another one does

    def meanwhile(texts: Sequence[str]) -> None:
        calls.append(len(texts))
        if len(calls) == 1:
            assert other.some() is not claimed
            assert other.elsewhere is claimed

    embedder.before = meanwhile
    embed_all(base)
    assert calls == ([1] if claimed else [1, 1])
    assert (stored_vectors(base), base.documents.missing(QUICK.index)) == (1, 0)


def test_no_snapshot_is_written_while_vectors_are_not_in(workspace: Workspace, home: Path) -> None:
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    folder = home / "indexes" / str(base.id) / QUICK.index.hash
    before = (folder / "index.json").read_text()
    travel = take(base, "travel.md", TRAVEL)
    base._services.indexes.save(base.id, QUICK.index)
    assert (folder / "index.json").read_text() == before
    again = workspace_at(home).base("handbook")
    assert again.search("second class", QUICK).hits[0].chunk.document_id == travel.id
    embed_all(base)
    base._services.indexes.save(base.id, QUICK.index)
    assert sorted(json.loads((folder / "index.json").read_text())["documents"]) == sorted(
        info.id for info in base.documents.documents(QUICK.index)
    )


def test_an_explanation_says_that_the_vector_is_not_in(workspace: Workspace) -> None:
    recipe = QUICK.with_fields({"search.threshold": 0.9})
    base = workspace.create("handbook", recipe)
    add(workspace, base, {"leave.md": LEAVE})
    take(base, "travel.md", TRAVEL)
    trace = base.search("second class", recipe)
    [hit] = trace.hits  # the threshold holds back what has a vector
    standing = base.explanations.explain("second class", recipe, trace).standing(hit.chunk.key)
    words = {step.stage: step.words for step in standing.steps}
    assert "not stored yet" in words["dense"]
    assert "no threshold applies" in words["threshold"]
    stages = {stage.name: stage.note for stage in trace.stages}
    assert "finds 1," in stages["dense"]
    assert "1 whose vectors" in stages["threshold"]
    parts = score_contributions(trace, recipe.search)[hit.chunk.key]
    assert parts.dense + parts.lexical == pytest.approx(hit.score)


def candidates(by_words: np.ndarray | None) -> Candidates:
    return Candidates(
        keys=np.array([1, 2, 3]),
        cosine=np.array([0.6, 0.2, 0.0]),
        bm25=np.array([2.0, 4.0, 8.0]),
        dense_rank=np.array([0, 1, NOT_FOUND], np.int32),
        lexical_rank=np.array([2, 1, 0], np.int32),
        by_words=by_words,
    )


def test_where_a_vector_is_not_in_the_words_stand_for_both() -> None:
    found = candidates(np.array([False, False, True]))
    weighted = SearchRecipe(fusion="weighted", dense_weight=0.6)
    assert fused_scores(found, weighted).tolist() == pytest.approx([0.6, 0.4 / 3, 1.0])
    assert fused_scores(candidates(None), weighted).tolist() == pytest.approx(
        [0.6, 0.6 / 3 + 0.4 / 3, 0.4]
    )
    ranks = SearchRecipe(fusion="rrf", rrf_k=60, dense_weight=0.5)
    assert fused_scores(found, ranks).tolist() == pytest.approx(
        [0.5 / 61 + 0.5 / 63, 1 / 62, 1 / 61]
    )


def test_no_threshold_holds_back_what_has_no_vector() -> None:
    found = candidates(np.array([False, False, True]))
    scores, plain = np.array([3.0, 2.0, 1.0]), SearchRecipe(exact_codes=False)
    marks = {"by_words": found.by_words}
    assert cut(found.keys, scores, found.cosine, plain, 0.5, **marks).kept.tolist() == [0, 2]
    assert cut(found.keys, scores, found.cosine, plain, 0.5).kept.tolist() == [0]


def test_zeros_stand_for_vectors_that_are_not_in() -> None:
    rows = np.eye(3, dtype=np.float32)[:2]
    dense = empty("flat", 3).added(np.array([5, 9]), rows)
    view = IncompleteVectors(dense, np.array([7]))
    assert view.vectors(np.array([9, 7, 5])).tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert view.search(rows[1], 3)[0].tolist() == [9, 5]
    assert len(view) == 3


class _Told:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self.messages: list[str] = []

    def report(self, done: int, total: int, message: str, seconds_left: float) -> None:
        assert seconds_left >= 0
        self.shares.append(done / total)
        self.messages.append(message)

    def cancelled(self) -> bool:
        return False

    def give_way(self) -> None:
        pass


def test_progress_is_told_within_a_document_and_never_runs_backwards(workspace):
    base = workspace.create("handbook", QUICK)
    text = "".join(f"Rule {number}: {TRAVEL}" for number in range(3000))
    uploads = [Upload("all.md", io.BytesIO(text.encode()))]
    job = workspace.jobs.get(base.documents.add_files(uploads))
    told = _Told()
    ingest(workspace._services, job, told)
    assert told.shares == sorted(told.shares)
    assert sum(message.startswith("all.md: cutting") for message in told.messages) > 2
    assert sum(message.startswith("all.md: embedding") for message in told.messages) > 3
    assert base.search("Trains are booked", QUICK).hits
