"""The last step of a job tells its progress, and ends when the job is cancelled."""

from __future__ import annotations

import pytest

from rag import KnowledgeBase, Workspace
from rag.services.jobs import Reporter
from tests.workspaces import QUICK, stocked

FINER = QUICK.with_fields({"index.chunk_size": 12})
QUESTIONS = (
    b'{"id": "a", "text": "When does leave lapse?", "answerable": true, '
    b'"evidence": [{"document": "leave.md", "quote": "Leave lapses in June."}]}\n'
)


def _ingest(workspace: Workspace, base: KnowledgeBase) -> int:
    return base.documents.add_text("pump", "The pump leaks.")


def _build(workspace: Workspace, base: KnowledgeBase) -> int:
    return base.documents.build(FINER.index)


def _duplicate(workspace: Workspace, base: KnowledgeBase) -> int:
    return workspace.duplicate("notes", "copy")[1]


def _import_beir(workspace: Workspace, base: KnowledgeBase) -> int:
    folder = workspace.settings.home / "tiny"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "1", "title": "", "text": "The pump leaks."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "Does it leak?"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")
    return base.documents.import_beir(folder, "test")


def _evaluate_answers(workspace: Workspace, base: KnowledgeBase) -> int:
    return base.runs.start_answers("leave", QUICK)


@pytest.mark.parametrize(
    ("start", "step", "times"),
    [
        (_ingest, "index up to date", 2),
        (_build, "index up to date", 1),
        (_duplicate, "index up to date", 2),
        (_import_beir, "index up to date", 1),
        (_evaluate_answers, "measured", 1),
    ],
)
def test_a_job_is_cancelled_in_its_last_step(tmp_path, monkeypatch, start, step, times):
    workspace, base = stocked(tmp_path, {"leave.md": "Leave lapses in June."}, name="notes")
    base.questions.import_file("leave", "leave.jsonl", QUESTIONS)
    reported, report = list[str](), Reporter.report

    def cancelled(self: Reporter, done: int, total: int, message: str, *rest: float) -> None:
        reported.append(message)
        if sum(step in words for words in reported) == times:
            self.stop()
        report(self, done, total, message, *rest)

    monkeypatch.setattr(Reporter, "report", cancelled)
    ended = workspace.jobs.run(start(workspace, base))
    assert ended.status == "cancelled"
    assert step in reported[-1]
    workspace.close()
