"""Evaluations as jobs: one run each, whatever happens to the process, the set and the base."""

from typing import Any

import pytest

from rag import Cancelled, InvalidInput, JobRow, KnowledgeBase, NotFound, Trace, Workspace
from rag.experiments.runs.evaluate_job import evaluate
from rag.experiments.runs.quality import failing
from rag.services.services import Services
from rag.storage import jobs as rows
from tests.jobs import Heard
from tests.runs import SET, VECTORS, WORDS
from tests.workspaces import add, workspace_at

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def workspace(parts: tuple[Workspace, KnowledgeBase]) -> Workspace:
    return parts[0]


def _services(workspace: Workspace) -> Services:
    return Services.start(workspace.settings)


def _job(workspace: Workspace, base: KnowledgeBase) -> JobRow:
    return workspace.jobs.get(base.runs.start_evaluation(SET, WORDS))


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
    heard = Heard()
    evaluate(_services(workspace), _job(workspace, base), heard)
    assert heard.told[0][:2] == (0, 0)
    # One more than there are questions: the doubt of the one without an answer is a step too.
    assert heard.told[1:] == [(done, 5, f"{done} of 5 questions") for done in (0, 0, 1, 2, 3, 4)]


def test_an_evaluation_that_is_stopped_stores_nothing(workspace, base):

    def stop() -> None:
        raise Cancelled("Stopped.")

    with pytest.raises(Cancelled):
        evaluate(_services(workspace), _job(workspace, base), Heard(3, stop))
    assert base.runs.list_all() == []


def test_it_is_stopped_while_questions_without_an_answer_are_asked(workspace, base, monkeypatch):
    asked = []
    monkeypatch.setattr(failing, "retrieve", lambda *given: asked.append(given))

    def stop() -> None:
        raise Cancelled("Stopped.")

    with pytest.raises(Cancelled):
        evaluate(_services(workspace), _job(workspace, base), Heard(4, stop))
    assert asked == []
    assert base.runs.list_all() == []


def test_a_base_that_is_deleted_meanwhile_is_named_as_the_reason(workspace, base):
    job = _job(workspace, base)
    heard = Heard(3, lambda: workspace.delete(base.name))
    with pytest.raises(NotFound, match="The knowledge base is gone"):
        evaluate(_services(workspace), job, heard)
    with pytest.raises(NotFound, match="This job no longer exists"):
        workspace.jobs.run(job.id)


def test_a_set_that_is_deleted_meanwhile_fails_the_job(workspace, base):
    job = base.runs.start_evaluation(SET, WORDS)
    base.questions.delete_set(SET)
    failed = workspace.jobs.run(job)
    assert failed.status == "failed"
    assert repr(SET) in failed.message


def test_a_set_that_is_renamed_meanwhile_keeps_its_run(workspace, base):
    heard = Heard(3, lambda: base.questions.rename_set(SET, "other"))
    evaluate(_services(workspace), _job(workspace, base), heard)
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

    asked, retrieve = list[str](), failing.retrieve

    def noted(question: str, *rest: Any) -> Trace:
        asked.append(question)
        return retrieve(question, *rest)

    monkeypatch.setattr(failing, "retrieve", noted)
    assert (doubt(), doubt(), len(asked)) == (1.0, 1.0, 1)
    add(workspace, base, {"cup.md": "Germany won the cup in 1954."})
    assert (doubt(), doubt(), len(asked)) == (0.0, 0.0, 2)
    other = WORDS.with_fields({"search.top_k": 3})
    assert base.runs.evaluate(SET, other).run.metrics["correct_doubt"] == 0.0
    assert asked == ["Who won the cup in 1954?"] * 3
