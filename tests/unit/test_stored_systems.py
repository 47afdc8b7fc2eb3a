"""Systems of a knowledge base: versions, trials, evaluations as jobs, and who may name keys."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag import (
    Cancelled,
    HttpSystem,
    InvalidInput,
    NotAllowed,
    NotFound,
    ProviderUnavailable,
    Question,
    Settings,
    Workspace,
    system_of,
)
from rag.__main__ import main
from rag.api.resources.recipes import NewSystem
from rag.errors import ProviderMisbehaved, ProviderRejected
from rag.experiments.systems.callables import FailedRetrieval
from rag.experiments.systems.endpoints import ask as ask_endpoint
from rag.experiments.systems.evaluate_job import MOST_FAILURES, ask_all, evaluate_system
from rag.experiments.systems.formats.tables import Returned, ReturnedText
from rag.storage import Connection
from rag.storage import registries as rows
from tests.people import signed_in, view
from tests.runs import DOCUMENTS, SET, WORDS, handbook
from tests.servers import Reply, scripted
from tests.verbs import output_of

NOISE = "Why is there a grinding noise?"
GRINDING = "The Hollin pump makes a grinding noise when its bearing is dry."
ASKED = [Question(f"q{number}", f"Question {number}?") for number in range(7)]


def defined(url: str, **fields: object) -> HttpSystem:
    return HttpSystem.parse({"name": "rival", "url": f"{url}?q={{question}}", **fields})


def opened(home: Path) -> Workspace:
    """The workspace of the handbook, which may ask this machine."""
    handbook(home)[0].close()
    return Workspace(Settings.from_env({"TOUCHSTONE_ALLOW_PRIVATE_URLS": "1"}, home=home))


@contextmanager
def answering(*texts: str) -> Iterator[str]:
    with scripted(Reply(body=json.dumps([{"text": text} for text in texts]))) as server:
        yield server.url


def test_another_definition_is_another_version(home):
    systems = handbook(home)[1].systems
    first = systems.add(defined("https://one.example"))
    assert systems.add(defined("https://one.example")).version == 1
    second = systems.add(defined("https://two.example"))
    assert (first.version, second.version) == (1, 2)
    assert first.hash != second.hash
    assert [item.version for item in systems.list_all()] == [2]
    systems.remove("rival")
    with pytest.raises(NotFound, match="no system named 'rival'"):
        systems.get("rival")


def test_a_definition_keeps_the_hash_of_earlier_releases(home):
    stored = handbook(home)[1].systems.add(defined("https://one.example"))
    assert stored.hash == "69b6514c59d2b54f3e6292d62d6bcebf714bf959d107a5fa35b98c303b93e05d"


@pytest.mark.usefixtures("database")
def test_versions_that_are_added_at_once_get_two_numbers(home):
    workspace, base = handbook(home)
    with workspace._services.database.write() as connection, ThreadPoolExecutor(1) as pool:
        rows.add_system(connection, base.systems._base_id, "rival", "0" * 64, {})
        second = pool.submit(base.systems.add, defined("https://two.example"))
        with pytest.raises(TimeoutError):
            second.result(0.3)
        connection.commit()
        assert second.result(20).version == 2


def test_a_trial_locates_the_results(home, monkeypatch):
    workspace = opened(home)
    base = workspace.base("handbook")
    opened_at_once = _count_connections(workspace, monkeypatch)
    texts = f"**{GRINDING}**", "Bread is baked at 220 degrees for hours.", ""
    with answering(*texts) as url:
        trial = base.systems.test_definition(defined(url), NOISE)
    assert (trial.located, len(trial.results)) == (1, 3)
    first, second, _ = trial.results
    start = DOCUMENTS["pump.txt"].index(GRINDING)
    assert (first.document, first.place) == ("pump.txt", (start, start + len(GRINDING)))
    assert (second.located, second.document, second.place) == ("foreign", "", None)
    assert max(opened_at_once) == 1
    assert base.systems.list_all() == []


def _count_connections(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of open read connections whenever one is opened."""
    database, numbers, opened_now = workspace._services.database, list[int](), list[None]()
    read = database.read

    @contextmanager
    def counting() -> Iterator[Connection]:
        with read() as connection:
            opened_now.append(None)
            numbers.append(len(opened_now))
            try:
                yield connection
            finally:
                opened_now.pop()

    monkeypatch.setattr(database, "read", counting)
    return numbers


def test_private_addresses_are_refused_in_trials_and_jobs(home):
    workspace, base = handbook(home)
    with answering(GRINDING) as url:
        base.systems.add(defined(url))
        job = base.systems.start_evaluation(SET, "rival")
        workspace.jobs.run(job)
        row = workspace.jobs.get(job)
    assert row.status == "failed"
    assert "The first 5 questions failed" in row.message
    assert base.runs.list_all() == []


def test_a_job_stores_one_run(home):
    workspace = opened(home)
    base = workspace.base("handbook")
    with answering(GRINDING) as url:
        stored = base.systems.add(defined(url))
        job = base.systems.start_evaluation(SET, "rival", (1, 3))
        assert base.systems.start_evaluation(SET, "rival", (1, 3)) == job
        assert base.systems.start_evaluation(SET, "rival", (5,)) != job
        workspace.jobs.run(job)
    (run,) = base.runs.list_all()
    assert run.id == workspace.jobs.get(job).payload["run"]
    assert (run.system.version, run.system.hash) == (1, stored.hash)
    assert run.metrics["hit@1"] == 0.25
    latest = base.systems.latest_evaluation(SET, "rival")
    assert latest.payload["cutoffs"] == [5]
    own = base.runs.evaluate(SET, WORDS, (1, 3)).run
    with answering(GRINDING) as url:
        base.systems.add(defined(url))
        gate = base.systems.gate(SET, "rival", {"hit@1": 0.9}, own.id)
    assert gate.outcome == "failed"
    assert gate.evaluation.run.system is not None


def test_a_busy_system_is_asked_again_after_the_wait_that_it_names():
    waits, tries = list[float](), iter([1.25, 0.0])

    def ask(question: str) -> Returned:
        if (seconds := next(tries, None)) is not None:
            raise ProviderUnavailable("429", "Later.", seconds)
        return Returned(question, (ReturnedText("x"),))

    retrievals, errors = ask_all(ask, ASKED, lambda _done, _total: None, waits.append)
    assert (len(retrievals), errors) == (7, {})
    assert waits == [0.5, 0.5, 0.25]


def test_questions_that_fail_are_listed_and_the_others_go_on():
    def ask(question: str) -> Returned:
        if question.startswith(("Question 0", "Question 5")):
            raise ProviderUnavailable("Refused.", "", 3600.0)
        return Returned(question, ())

    retrievals, errors = ask_all(ask, ASKED, lambda _done, _total: None)
    assert errors == {"q0": "Refused.", "q5": "Refused."}
    assert [item.question_id for item in retrievals] == ["q1", "q2", "q3", "q4", "q6"]


def test_errors_of_systems_can_be_stored():
    def ask(question: str) -> Returned:
        if question.startswith("Question 0"):
            raise ProviderUnavailable("No\0 \ud800.", "")
        return Returned(question, ())

    _, errors = ask_all(ask, ASKED, lambda _done, _total: None)
    assert errors == {"q0": "No ?."}
    with (
        scripted(Reply(body='{"a\\u0000b\\ud800": 1}')) as server,
        pytest.raises(ProviderMisbehaved, match=r"It has: ab\?\."),
    ):
        ask_endpoint(defined(server.url, results="hits"), NOISE, {}, allow_private=True)


def test_a_job_moves_and_stops_while_it_locates(home):
    workspace = opened(home)
    base = workspace.base("handbook")
    moves = list[tuple[int, int, str]]()

    def report(*move: Any) -> None:
        moves.append(move)
        if move[0] == 7:
            raise Cancelled("Stopped.")

    with answering(GRINDING) as url:
        base.systems.add(defined(url))
        job = workspace.jobs.get(base.systems.start_evaluation(SET, "rival"))
        with pytest.raises(Cancelled):
            evaluate_system(workspace._services, job, SimpleNamespace(report=report))  # type: ignore[arg-type]
    assert [(done, total) for done, total, _ in moves] == [(place, 10) for place in range(8)]
    assert moves[3][2] == "3 of 5 questions asked"
    assert moves[7][2] == "2 of 5 questions located"
    assert base.runs.list_all() == []


def test_a_system_that_never_works_is_left_alone():
    questions: list[str] = []

    def ask(question: str) -> Returned:
        questions.append(question)
        raise ProviderRejected("It answers 401.", "Check its key.")

    with pytest.raises(FailedRetrieval, match="401") as caught:
        ask_all(ask, ASKED, lambda _done, _total: None)
    assert caught.value.hint == "Check its key."
    assert len(questions) == MOST_FAILURES


def test_a_wait_ends_when_the_job_is_cancelled():
    looks, asked = iter([None, None]), list[str]()

    def on_progress(_done: int, _total: int) -> None:
        if next(looks, "over") == "over":
            raise Cancelled("Stopped.")

    def ask(question: str) -> Returned:
        asked.append(question)
        raise ProviderUnavailable("429", "", 50.0)

    with pytest.raises(Cancelled):
        ask_all(ask, ASKED[:1], on_progress, lambda _seconds: None)
    assert asked == ["Question 0?"]


def test_only_administrators_name_keys_of_the_server(home):
    workspace, base = handbook(home)
    signed_in(workspace, "boss")
    editor = signed_in(workspace, "ed")
    base.access.add_member(editor.email, "editor")
    systems = view(workspace, editor).base("handbook").systems
    keyed = system_of("openai", "rival", "https://x.example", "s", key="TOUCHSTONE_TOOL_KEY")
    for call in (systems.add, lambda system: systems.test_definition(system, NOISE)):
        with pytest.raises(NotAllowed, match="TOUCHSTONE_TOOL_KEY"):
            call(keyed)
    assert systems.add(defined("https://x.example")).unset == ()
    assert base.systems.add(keyed).unset == ("TOUCHSTONE_TOOL_KEY",)


def test_systems_on_the_command_line(home, capsys, monkeypatch):
    handbook(home)[0].close()
    monkeypatch.setenv("TOUCHSTONE_ALLOW_PRIVATE_URLS", "1")
    with answering(GRINDING) as url:
        file = home.parent / "rival.json"
        file.write_text(json.dumps({"url": f"{url}?q={{question}}"}))
        add = ["systems", "handbook", "add", "rival", "--definition", str(file)]
        assert main([*add, "--question", NOISE]) == 0
        assert "pump.txt (exact)" in capsys.readouterr().out
        result = output_of(capsys, "evaluate", "handbook", SET, "--system", "rival", "--k", "1")
        assert (result["system"]["version"], result["metrics"]["hit@1"]) == (1, 0.25)
        gate = ["gate", "handbook", SET, "--system", "rival", "--against", result["run"]]
        gate += ["--min", "hit@1=0.2"]
        assert main(gate) == 0
        capsys.readouterr()
    (row,) = output_of(capsys, "systems", "handbook")["systems"]
    assert (row["name"], row["unset"]) == ("rival", [])
    assert main(["systems", "handbook", "remove", "rival"]) == 0
    assert main(["systems", "handbook", "add", "rival"]) == 2


def test_an_error_with_status_200_says_why(home):
    base = opened(home).base("handbook")
    reply = Reply(body=json.dumps({"code": 102, "message": "`dataset_ids` is required."}))
    with scripted(reply) as server:
        system = system_of("ragflow", "rival", server.url, "kb")
        with pytest.raises(Exception, match="It says: `dataset_ids` is required"):
            base.systems.test_definition(system, NOISE)


def test_a_new_system_names_its_form_or_definition():
    with pytest.raises(InvalidInput, match="needs a form and an address") as caught:
        NewSystem(name="rival", form="openai").parsed()
    assert "touchstone" in caught.value.hint
    assert "definition" in caught.value.hint


def test_a_definition_has_to_ask(home):
    with pytest.raises(InvalidInput, match="would not be sent"):
        HttpSystem.parse({"name": "rival", "url": "https://x.example"})
    assert handbook(home)[1].systems.list_all() == []


def test_a_hostile_system_costs_only_its_questions(home):
    workspace = opened(home)
    base = workspace.base("handbook")
    good = Reply(body=json.dumps([{"text": GRINDING, "score": float("nan")}, {"id": "x"}]))
    replies = (
        good,
        Reply(500, "no"),
        Reply(429, "busy", headers={"Retry-After": "0"}),
        good,
        Reply(body="<html>"),
        Reply(302, "", headers={"Location": "http://[::1]:1/"}),
    )
    with scripted(*replies) as server:
        base.systems.add(defined(server.url))
        job = base.systems.start_evaluation(SET, "rival")
        workspace.jobs.run(job)
    assert workspace.jobs.get(job).message.endswith("3 questions failed.")
    (run,) = base.runs.list_all()
    assert run.system.errors.keys() == {"q2", "q4", "q5"}
    assert "500" in run.system.errors["q2"]
    assert "did not answer with JSON" in run.system.errors["q4"]
    assert [item.question_id for item in base.runs.results(run.id)] == ["q1", "q3"]
