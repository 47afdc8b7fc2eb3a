"""A scripted model that answers and judges the questions of runs."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy import text

from rag import KnowledgeBase, Message, ProviderUnavailable, Recipe, Workspace
from rag.protocols import ChatModel
from rag.services.services import Models
from rag.types import Delta, Usage
from tests.runs import SET, WORDS

COUNT, ASKED = 5, 4  # questions of the handbook, and those of them that a model is asked
ASKING = WORDS.with_fields({"answer.provider": "ollama", "answer.model": "small"})
PRICED = WORDS.with_fields({"answer.provider": "openai", "answer.model": "gpt-4o-mini"})


class Chat:
    """Answers with one sentence for 110 tokens; or fails from some call on."""

    def __init__(self, fails_from: int = 1 << 30, fails_until: int = 1 << 30) -> None:
        self.calls = 0
        self.fails = range(fails_from, fails_until)
        self.prompts = list[str]()

    def reply(self, _prompt: str) -> str:
        """The text of every answer."""
        return "It is in the handbook [1]."

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        self.calls += 1
        if self.calls in self.fails:
            raise ProviderUnavailable("The server is away.", "Start it.")
        if "grade" in messages[0].content:
            assert temperature == 0.0
            yield Delta('{"reason": "so", "grade": 3}')
        else:
            self.prompts.append("\n".join(each.content for each in messages))
            yield Delta(self.reply(self.prompts[-1]))
        yield Delta(usage=Usage(100, 10))


def with_chat(
    monkeypatch: pytest.MonkeyPatch, chat: ChatModel, *, for_quotes: bool = False
) -> None:
    """Lets every provider be ``chat``; that of quotes too where the test says so."""

    def chosen(_models: Models, provider: str, _model: str | None) -> ChatModel | None:
        return None if provider == "extractive" and not for_quotes else chat

    monkeypatch.setattr(Models, "chat", chosen)


def judgements(workspace: Workspace, run_id: str) -> Sequence[Any]:
    """The grades that judges gave to the hits of a run, as they are stored."""
    statement = text("SELECT * FROM judgement WHERE run_id = :run ORDER BY id")
    with workspace._services.database.read() as connection:
        return connection.execute(statement, {"run": run_id}).all()


def evaluated(workspace: Workspace, base: KnowledgeBase, recipe: Recipe, **more: object) -> str:
    """Does an evaluation with answers; returns what the job says."""
    job = base.runs.start_answers(SET, recipe, **more)  # type: ignore[arg-type]
    done = workspace.jobs.run(job)
    assert done.status == "done", done.message
    return done.message
