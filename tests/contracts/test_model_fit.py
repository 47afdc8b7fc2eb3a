"""A model of unknown size reads passages if it answers three questions from some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rag import KnowledgeBase, Recipe, Settings, Workspace
from rag.answering.prompting import NO_ANSWER
from rag.search import model_fit
from tests.handbook import visit
from tests.servers import Reply, Script, openai_stream, scripted
from tests.workspaces import add

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
def base(home: Path, server: Script, monkeypatch: pytest.MonkeyPatch) -> Iterator[KnowledgeBase]:
    monkeypatch.setenv("TOUCHSTONE_LLAMA_CPP_URL", f"{server.url}/v1")
    workspace = Workspace(Settings.from_env(home=home))
    base = workspace.create("handbook", Recipe())
    add(workspace, base, {"office.md": b"# Office\n\nTickets are refunded within 14 days."})
    fields = {"answer.provider": "llamacpp", "answer.model": "m", "search.threshold": None}
    base.save_recipe(base.recipe().with_fields(fields))
    yield base
    workspace.close()


def evidence(base: KnowledgeBase) -> str:
    recipe = base.recipe()
    assert recipe.answer.evidence == "auto"
    answer = base.ask("Within how many days are tickets refunded?", recipe).answer
    assert answer.state == "answered"
    assert answer.mode == {"passages": "strict", "quotes": "sentence"}[answer.decisions[0].chosen]
    return answer.decisions[0].chosen


def test_a_model_that_answers_three_questions_reads_passages(
    base: KnowledgeBase, server: Script
) -> None:
    says(server, RIGHT)
    assert evidence(base) == "passages"
    asked = len([path for path in server.paths if path.endswith("/chat/completions")])
    says(server, {"refunded": RIGHT["refunded"]})
    assert evidence(base) == "passages"  # by what is stored
    again = len([path for path in server.paths if path.endswith("/chat/completions")])
    assert (asked, again) == (4, 5)


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
