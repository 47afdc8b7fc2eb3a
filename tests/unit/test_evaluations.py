"""Evaluations as jobs: one run each, whatever happens to the process, the set and the base."""

import pytest

from rag import (
    Cancelled,
    InvalidInput,
    JobRow,
    KnowledgeBase,
    NotFound,
    Work,
    Workspace,
    telemetry,
)
from rag.storage import jobs as rows
from tests.jobs import heard
from tests.runs import SET, VECTORS, WORDS
from tests.workspaces import add, workspace_at

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def workspace(parts: tuple[Workspace, KnowledgeBase]) -> Workspace:
    return parts[0]


def _evaluated(workspace: Workspace, base: KnowledgeBase) -> JobRow:
    return workspace.jobs.run(base.runs.start_evaluation(SET, WORDS))


def _stop() -> None:
    raise Cancelled("Stopped.")


def test_the_run_is_that_of_an_evaluation_in_the_foreground(workspace, base):
    job = base.runs.start_evaluation(SET, WORDS)
    done = workspace.jobs.run(job)
    assert (done.status, done.title) == ("done", f"Evaluating {SET}")
    (run,) = base.runs.list_all()
    assert run.id == done.payload["run"]
    expected = base.runs.evaluate(SET, WORDS)
    assert (run.metrics, run.recipe) == (expected.run.metrics, WORDS)
    assert tuple(base.runs.results(run.id)) == expected.results


def test_the_same_work_is_queued_once_while_it_waits(workspace, base, home):
    job = base.runs.start_evaluation(SET, WORDS)
    assert base.runs.start_evaluation(SET, WORDS) == job
    assert workspace_at(home).base(base.name).runs.start_evaluation(SET, WORDS) == job
    other = base.runs.start_evaluation(SET, VECTORS)
    assert other != job
    for each in (job, other):
        assert workspace.jobs.run(each).status == "done"
    assert len(base.runs.list_all()) == 2
    again = base.runs.start_evaluation(SET, WORDS)
    assert again not in (job, other)
    workspace.jobs.cancel(again)
    assert base.runs.start_evaluation(SET, WORDS) != again
    latest = base.runs.latest_evaluation(SET, WORDS)
    assert latest.active


def test_a_process_that_died_before_it_ended_the_job_leaves_one_run(
    workspace, base, home, monkeypatch
):
    job = base.runs.start_evaluation(SET, WORDS)

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(rows, "finish", killed)
        with pytest.raises(Killed):
            workspace.jobs.run(job)
    (run,) = base.runs.list_all()
    workspace.close()
    later = workspace_at(home)
    assert later.jobs.run(job).status == "done"
    assert later.base(base.name).runs.list_all() == [run]


def test_progress_counts_questions_and_never_goes_back(workspace, base):
    with heard() as told:
        assert _evaluated(workspace, base).status == "done"
    assert told[0][:2] == (0, 0)
    # One more than there are questions: the doubt of the one without an answer is a step too.
    assert told[1:] == [(done, 5, f"{done} of 5 questions") for done in (0, 0, 1, 2, 3, 4)]


@pytest.mark.parametrize("question", [3, 4])  # the fourth is the one without an answer
def test_an_evaluation_that_is_stopped_stores_nothing(workspace, base, question):
    with heard(question, _stop):
        assert _evaluated(workspace, base).status == "cancelled"
    assert base.runs.list_all() == []


def test_a_base_that_is_deleted_meanwhile_is_named_as_the_reason(workspace, base):
    job = base.runs.start_evaluation(SET, WORDS)
    with heard(3, lambda: workspace.delete(base.name)), pytest.raises(NotFound):
        workspace.jobs.run(job)
    with pytest.raises(NotFound):
        workspace.jobs.run(job)


def test_a_set_that_is_deleted_meanwhile_fails_the_job(workspace, base):
    job = base.runs.start_evaluation(SET, WORDS)
    base.questions.delete_set(SET)
    failed = workspace.jobs.run(job)
    assert failed.status == "failed"
    assert repr(SET) in failed.message


def test_a_set_that_is_renamed_meanwhile_keeps_its_run(workspace, base):
    with heard(3, lambda: base.questions.rename_set(SET, "other")):
        assert _evaluated(workspace, base).status == "done"
    assert [run.question_set for run in base.runs.list_all()] == ["other"]


def test_what_cannot_be_evaluated_is_not_queued(workspace, base):
    base.questions.import_file("unlabelled", "r.jsonl", '{"id": "u", "text": "Who?"}')
    with pytest.raises(InvalidInput, match="No question of 'unlabelled' has a label"):
        base.runs.start_evaluation("unlabelled", WORDS)
    with pytest.raises(NotFound):
        base.runs.start_evaluation("unknown", WORDS)
    assert [job.kind for job in workspace.jobs.recent(base.id)] == ["ingest"]


def test_an_answer_is_judged_again_when_documents_change(workspace, base, monkeypatch):
    def doubt() -> float:
        return base.runs.evaluate(SET, WORDS).run.metrics["correct_doubt"]

    answered = list[Work]()
    monkeypatch.setattr(telemetry, "_listeners", [answered.append])
    assert (doubt(), doubt(), len(answered)) == (1.0, 1.0, 1)
    add(workspace, base, {"cup.md": "Germany won the cup in 1954."})
    assert (doubt(), doubt(), len(answered)) == (0.0, 0.0, 2)
    other = WORDS.with_fields({"search.top_k": 3})
    assert base.runs.evaluate(SET, other).run.metrics["correct_doubt"] == 0.0
    assert {work.kind for work in answered} == {"answer"}
    assert len(answered) == 3
