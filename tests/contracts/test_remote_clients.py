"""Connections to providers: one client for an endpoint, whoever asks, and none left open."""

import ollama
import openai
import pytest

from rag import Recipe, Settings, Workspace
from tests.servers import ollama_stream, openai_stream, scripted
from tests.workspaces import QUICK, add


def recipe(provider: str, model: str) -> Recipe:
    return QUICK.with_fields({"answer.provider": provider, "answer.model": model})


@pytest.mark.parametrize("provider", ["compatible", "ollama"])
def test_questions_share_a_client_that_is_closed_at_the_end(provider, home, monkeypatch):
    made: list[openai.OpenAI | ollama.Client] = []
    package = openai.OpenAI if provider == "compatible" else ollama.Client
    begin = package.__init__

    def counted(self: openai.OpenAI, *values: object, **options: object) -> None:
        begin(self, *values, **options)
        made.append(self)

    monkeypatch.setattr(package, "__init__", counted)
    reply = (
        openai_stream("Until June [1].") if provider == "compatible" else ollama_stream("June [1].")
    )
    with scripted(reply) as server:
        variables = {
            "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL": f"{server.url}/v1",
            "OLLAMA_HOST": server.url,
        }
        workspace = Workspace(Settings.from_env(variables, home=home))
        base = workspace.create("notes", QUICK)
        add(workspace, base, {"leave.txt": "Unused leave may be carried over until June."})
        for model in ("small", "large", "small"):
            answer = "".join(base.ask("Until when is leave kept?", recipe(provider, model)))
            assert "June" in answer
        assert [each["model"] for each in server.requests] == ["small", "large", "small"]
        assert len(made) == 1
        # The packages' own clients keep theirs of httpx under the same name.
        assert [each._client.is_closed for each in made] == [False]
        workspace.close()
    assert [each._client.is_closed for each in made] == [True]
