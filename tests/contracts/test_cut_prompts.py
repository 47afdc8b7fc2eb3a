"""Servers that read less of a prompt than was sent, over the wire of each provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag import KnowledgeBase, Recipe, Settings, Workspace
from rag.conversations.turn_metrics import turn_metrics
from rag.providers import chat_model
from rag.types import Message, Usage
from tests import hosted, remote
from tests.contracts.test_bedrock import event_stream
from tests.servers import Reply, Script, ollama_stream, openai_stream, scripted
from tests.workspaces import add

LONG = [Message("system", "Be brief."), Message("user", "port " * 2000)]
WIRES = ("openai", "azure", "ollama", "cohere", "gemini", "bedrock")


def _reply(provider: str, read: int) -> Reply:
    if provider == "ollama":
        return ollama_stream("At nine.", usage=(read, 3))
    if provider == "bedrock":
        usage = {"inputTokens": read, "outputTokens": 3, "totalTokens": read + 3}
        text = {"contentBlockIndex": 0, "delta": {"text": "At nine."}}
        ends = ("messageStop", {"stopReason": "end_turn"}), ("metadata", {"usage": usage})
        return event_stream([("contentBlockDelta", text), *ends])
    return openai_stream("At nine.", usage=(read, 3))


@pytest.fixture
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-aws")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.usefixtures("_credentials")
@pytest.mark.parametrize("provider", WIRES)
@pytest.mark.parametrize(
    ("read", "cuts"),
    [(300, [(300, 2002)]), (2002, []), (3100, []), (17, [])],
    ids=["cut", "whole", "more, by its tokenizer", "what was not in its cache"],
)
def test_a_prompt_that_was_cut_is_told(
    provider: str, read: int, cuts: list[tuple[int, int]]
) -> None:
    seen = list[tuple[int, int]]()
    with scripted(_reply(provider, read)) as script:
        there = provider in hosted.BASES
        settings = hosted.settings(provider, script) if there else remote.settings(script)
        chat = chat_model(
            provider, "m", settings, remote.SWIFT, on_cut=lambda *cut: seen.append(cut)
        )
        assert chat is not None
        deltas = list(chat.stream(LONG, temperature=0.0, max_tokens=9))
    assert seen == cuts
    assert deltas[-1].usage == Usage(read, 3, 2002 - read if cuts else 0)


@pytest.fixture
def server() -> Iterator[Script]:
    """A server that reads the last 400 tokens of a prompt."""

    def reply(path: str) -> Reply:
        if not path.endswith("/chat/completions"):
            return Reply(404)
        words = len(" ".join(m["content"] for m in script.requests[-1]["messages"]).split())
        return openai_stream("The office opens at nine [1].", usage=(min(words * 2, 400), 5))

    with scripted() as script:
        script.reply_to = reply
        yield script


@pytest.fixture
def base(home: Path, server: Script) -> Iterator[KnowledgeBase]:
    variables = {"TOUCHSTONE_LLAMA_CPP_URL": f"{server.url}/v1", "TOUCHSTONE_FIND_MODELS": "0"}
    workspace = Workspace(Settings.from_env(variables, home=home))
    base = workspace.create("harbour", Recipe())
    filler = "Boats moor at the quay and pay the fee there before noon. " * 12
    files = {
        f"office-{n}.md": f"# Office {n}\n\nThe office of quay {n} opens at nine. {filler}".encode()
        for n in range(8)
    }
    add(workspace, base, files)
    fields = {"provider": "llamacpp", "model": "m", "evidence": "passages"}
    recipe = base.recipe().with_fields({f"answer.{name}": value for name, value in fields.items()})
    base.recipes.save(recipe.with_fields({"search.threshold": None, "search.top_k": 8}))
    yield base
    workspace.close()


@pytest.mark.parametrize("mode", ["strict", "grounded"])
def test_later_prompts_are_as_long_as_the_server_reads(
    base: KnowledgeBase, server: Script, mode: str
) -> None:
    recipe = base.recipe().with_fields({"answer.mode": mode})
    first, second = (
        base.ask(f"When does the office of quay {n} open?", recipe).answer for n in (3, 4)
    )
    assert first.usage.prompt_tokens == 400 < first.usage.unread_tokens
    assert f"{400 + first.usage.unread_tokens:,}" in first.note
    assert turn_metrics(first)["unread_tokens"] == first.usage.unread_tokens
    assert (second.usage.unread_tokens, second.status) == (0, "complete")
    assert ("context", "at most 320 tokens") in [(one.step, one.chosen) for one in second.decisions]
    assert len(str(server.requests[-1])) < len(str(server.requests[0])) / 2
