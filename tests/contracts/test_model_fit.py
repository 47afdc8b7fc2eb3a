"""A model of unknown size reads passages if it answers three questions from some."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rag import Answer, KnowledgeBase, Recipe, Settings, Workspace
from rag.answering.asking.prompt import NO_ANSWER
from rag.search import model_fit
from tests.handbook import visit
from tests.servers import Reply, Script, openai_stream, scripted
from tests.workspaces import add

QUESTION = "Within how many days are tickets refunded?"
RIGHT = {
    "notice": "You give three months' notice [1].",
    "power": "It costs 0.29 EUR per kWh [2].",
    "guests": NO_ANSWER,
    "refunded": "Within 14 days [1].",
}


@pytest.fixture
def server() -> Iterator[Script]:
    """A server that tells nothing of its model, which answers as ``said`` says."""
    with scripted() as script:
        yield script


def says(server: Script, said: Mapping[str, str], delay: float = 0.0) -> None:
    """Let the model reply by a word of the question."""

    def reply(path: str) -> Reply:
        if not path.endswith("/chat/completions"):
            return Reply(404)
        question = server.requests[-1]["messages"][-1]["content"].rpartition("Question:")[2]
        text = next((said[word] for word in said if word in question), RIGHT["refunded"])
        return openai_stream(text, delay=delay)

    server.reply_to = reply


@pytest.fixture
def workspace(home: Path, server: Script, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("TOUCHSTONE_LLAMA_CPP_URL", f"{server.url}/v1")
    workspace = Workspace(Settings.from_env(home=home))
    yield workspace
    workspace.close()


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    base = workspace.create("handbook", Recipe())
    add(workspace, base, {"office.md": b"# Office\n\nTickets are refunded within 14 days."})
    fields = {"answer.provider": "llamacpp", "answer.model": "m", "search.threshold": None}
    base.recipes.save(base.recipe().with_fields(fields))
    return base


def evidence(base: KnowledgeBase) -> str:
    """What a model reads once it was tried, which its first answer does not wait for."""
    recipe = base.recipe()
    assert recipe.answer.evidence == "auto"
    while (answer := _asked(base, recipe)).decisions[0].why == model_fit.NOT_TRIED:
        assert answer.mode == "sentence"
        time.sleep(0.05)
    return answer.decisions[0].chosen


def _asked(base: KnowledgeBase, recipe: Recipe) -> Answer:
    answer = base.ask(QUESTION, recipe).answer
    assert answer.state == "answered"
    assert answer.mode == {"passages": "strict", "quotes": "sentence"}[answer.decisions[0].chosen]
    return answer


def _calls(server: Script) -> int:
    return len([path for path in server.paths if path.endswith("/chat/completions")])


def test_a_model_that_answers_three_questions_reads_passages(
    base: KnowledgeBase, server: Script
) -> None:
    says(server, RIGHT)
    assert evidence(base) == "passages"
    asked = _calls(server)
    says(server, {"refunded": RIGHT["refunded"]})
    assert evidence(base) == "passages"  # by what is stored
    assert _calls(server) == asked + 1


def test_the_first_answer_does_not_wait_for_the_trial_of_a_model(
    base: KnowledgeBase, server: Script
) -> None:
    says(server, RIGHT)
    stream = base.ask(QUESTION, base.recipe())
    next(stream)
    assert _calls(server) == 1
    assert stream.answer.mode == "sentence"
    assert evidence(base) == "passages"


def test_all_answers_of_a_run_read_the_same(
    workspace: Workspace, base: KnowledgeBase, server: Script
) -> None:
    says(server, RIGHT)
    rows = [{"id": str(n), "text": f"{n}: {QUESTION}", "answerable": False} for n in range(3)]
    base.questions.import_file("checks", "x.jsonl", "\n".join(map(json.dumps, rows)))
    recipe = base.recipe()
    workspace.jobs.run(base.runs.start_answers("checks", recipe))
    [run] = base.runs.list_all()
    assert {one.mode for one in base.runs.answers(run.id).values()} == {"strict"}
    assert _calls(server) == 6


@pytest.mark.parametrize(
    "wrong",
    [
        {"notice": "You give three months' notice."},
        {"power": "It costs 0.29 EUR per kWh [3]."},
        {"power": "It is deducted from the salary [2]."},
        {"guests": "Guests are announced two days before [3]."},
    ],
    ids=["no citation", "another passage", "no value", "an invention"],
)
def test_one_wrong_answer_gets_quotes(
    base: KnowledgeBase, server: Script, wrong: Mapping[str, str]
) -> None:
    says(server, {**RIGHT, **wrong})
    assert evidence(base) == "quotes"


def test_a_model_that_is_too_slow_gets_quotes(
    base: KnowledgeBase, server: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_fit, "PROBE_SECONDS", 0.001)
    says(server, RIGHT, delay=0.01)
    assert evidence(base) == "quotes"


@pytest.mark.usefixtures("own_dashboard")
def test_settings_show_what_was_learned_and_try_the_model_again(
    base: KnowledgeBase, server: Script
) -> None:
    says(server, {**RIGHT, "guests": "Two days before [3]."})
    assert evidence(base) == "quotes"
    app = visit("settings.py")
    assert any("**m** (llamacpp)" in one.value and "quotes" in one.value for one in app.markdown)
    says(server, RIGHT)
    app.button(key=f"settings_try_llamacpp_m_{server.url}").click().run()
    assert not app.exception
    assert evidence(base) == "passages"
