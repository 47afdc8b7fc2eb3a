"""Models that run on this computer: offered where answers are quotes, used by one click."""

import json
from collections.abc import Iterator

import pytest

from pages.components.shell.text import plain
from rag import KnowledgeBase, LocalServer, Recipe
from tests.handbook import LEAVE, ask, visit
from tests.servers import Reply, scripted

OLLAMA = {
    "/api/version": {"version": "0.12.3"},
    "/api/tags": {"models": [{"name": "qwen3:1.7b"}, {"name": "nomic-embed-text"}]},
    "/api/show": {},
}
USE = "use_model_ollama_qwen3:1.7b"


@pytest.fixture
def _ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with scripted() as script:
        script.reply_to = lambda path: Reply(body=json.dumps(OLLAMA[path]))
        monkeypatch.setenv("TOUCHSTONE_FIND_MODELS", "1")
        monkeypatch.setenv("OLLAMA_HOST", script.url)
        yield


@pytest.mark.usefixtures("_ollama")
def test_the_first_answer_offers_a_model_and_one_click_saves_it(base: KnowledgeBase) -> None:
    app = ask(visit("chat.py"), LEAVE)
    assert base.recipe().answer.provider == "extractive"
    app.button(key=USE).click().run()
    assert not app.exception
    answer = base.recipe().answer
    assert (answer.provider, answer.model) == ("ollama", "qwen3:1.7b")
    assert answer.evidence == "auto"
    assert USE not in {button.key for button in app.button}


@pytest.mark.usefixtures("_ollama")
def test_later_answers_offer_no_model(base: KnowledgeBase) -> None:
    app = ask(ask(visit("chat.py"), LEAVE), "What may a hotel cost?")
    assert USE not in {button.key for button in app.button}


@pytest.mark.usefixtures("_ollama")
def test_the_next_step_leads_to_settings_which_list_the_models(base: KnowledgeBase) -> None:
    for item in base.questions.list_all():
        base.questions.delete_set(item.name)
    app = visit("chat.py")
    app.button(key="frame_next_go").click().run()
    shown = "\n".join(one.value for one in app.markdown)
    assert plain("ollama:nomic-embed-text") in shown
    app.button(key=USE).click().run()
    assert base.recipe().answer.model == "qwen3:1.7b"


def test_a_model_that_is_called_by_its_file_is_shown_without_folders(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = ("/cache/2e5f/qwen-1.5b.gguf", "Qwen/Qwen3-1.7B")
    server = LocalServer("llamacpp", "llama.cpp", "http://127.0.0.1:8080", True, models, ())
    monkeypatch.setenv("TOUCHSTONE_FIND_MODELS", "1")
    monkeypatch.setattr("rag.providers.find_local_servers", lambda _settings: [server])
    shown = "\n".join(one.value for one in visit("settings.py").markdown)
    assert plain("qwen-1.5b.gguf and Qwen/Qwen3-1.7B") in shown
    assert "2e5f" not in shown
    answer = {"answer.provider": "llamacpp", "answer.model": models[0]}
    named = base.runs.recipe_name(Recipe().with_fields(answer))
    assert "qwen-1.5b.gguf" in named
    assert "2e5f" not in named


def test_settings_without_a_server_name_the_command_that_gets_one(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHSTONE_FIND_MODELS", "1")
    monkeypatch.setattr("rag.providers.find_local_servers", lambda _settings: [])
    shown = "\n".join(one.value for one in visit("settings.py").caption)
    assert "ollama pull" in shown
