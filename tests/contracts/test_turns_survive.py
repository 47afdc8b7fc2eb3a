"""Whatever a model or a tool does, the user's question and what was said of its answer are kept."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from rag import HttpTool, KnowledgeBase, Settings, Turn, Workspace
from tests.servers import (
    Reply,
    Script,
    ollama_stream,
    openai_error,
    openai_stream,
    scripted,
)
from tests.workspaces import QUICK, add

QUESTION = "Until when may leave be carried over?"
OFF_TOPIC = "zebra xylophone quartz"
LEAVE = "Unused leave may be carried over until 30 June of the next year."
MORE = {f"more-{n}.md": f"Leave number {n} may be carried over. " * 20 for n in range(6)}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """A base whose home asks no server yet; ``_asked`` opens it again with one."""
    workspace = Workspace(Settings.from_env({}, home=tmp_path))
    made = workspace.create("handbook", QUICK)
    add(workspace, made, {"leave.md": LEAVE, **MORE})
    yield made
    workspace.close()


def _asked(
    home: Path,
    script: Script,
    question: str = QUESTION,
    mode: str = "strict",
    provider: str = "compatible",
    tool: HttpTool | None = None,
    stop_after: int | None = None,
    allowed: Mapping[str, Any] = MappingProxyType({"answer.tools": ["wiki"]}),
) -> Turn:
    """A turn as the chat makes it, read back from the database by another process's eyes."""
    variables = {
        "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL": f"{script.url}/v1",
        "OLLAMA_HOST": script.url,
        "TOUCHSTONE_ALLOW_PRIVATE_URLS": "1",
    }
    fields = {"answer.mode": mode, "answer.provider": provider, "answer.model": "m"}
    workspace = Workspace(Settings.from_env(variables, home=home))
    base = workspace.base("handbook")
    if tool is not None:
        workspace.tools.save(tool)
    recipe = QUICK.with_fields({**fields, **allowed, "search.threshold": 0.1})
    talk = base.conversations.open(None)
    turn = base.conversations.ask(talk, question, recipe)
    assert [each.question for each in base.conversations.turns(talk)] == [question]
    stream = base.answer(base.search(question, recipe), recipe)
    for _ in range(stop_after if stop_after is not None else 1000):
        if next(stream, None) is None:
            break
    stream.close()
    base.conversations.conclude(turn, stream.answer)
    workspace.close()
    again = Workspace(Settings.from_env({}, home=home))
    [stored] = again.base("handbook").conversations.turns(talk)
    again.close()
    assert stored.question == question
    return stored


@pytest.mark.usefixtures("base")
class TestAModelThatFails:
    def test_it_dies_in_mid_answer(self, tmp_path):
        for provider, reply in (
            ("compatible", openai_stream("Until 30 June [1]", finish=False, cut=True)),
            ("ollama", ollama_stream("Until 30 June [1]", done=False, cut=True)),
        ):
            with scripted(reply) as script:
                turn = _asked(tmp_path, script, provider=provider)
            assert (turn.status, turn.answer) == ("interrupted", "Until 30 June [1]")
            assert "broke off" in turn.note
            assert turn.citations[0].n == 1

    def test_it_is_busy_and_then_answers(self, tmp_path):
        busy = Reply(429, '{"error": {"message": "slow down"}}', {"Retry-After": "0"})
        with scripted(busy, openai_stream("Until 30 June [1].")) as script:
            turn = _asked(tmp_path, script)
        assert (turn.status, turn.answer) == ("complete", "Until 30 June [1].")
        assert len(script.requests) == 2

    def test_a_reader_stops_it(self, tmp_path):
        with scripted(openai_stream("Until ", "30 June [1].", " And more.")) as script:
            turn = _asked(tmp_path, script, stop_after=2)
        assert (turn.status, turn.answer) == ("interrupted", "Until 30 June [1].")

    @pytest.mark.parametrize(
        ("provider", "overflow"),
        [
            (
                "compatible",
                Reply(
                    400,
                    json.dumps(
                        {
                            "error": {
                                "message": "This model's maximum context length is 1000 tokens. "
                                "However, you requested 2000 tokens.",
                                "code": "context_length_exceeded",
                            }
                        }
                    ),
                ),
            ),
            (
                "compatible",
                openai_error(
                    400,
                    "request (2000 tokens) exceeds the available context size (1000 tokens), "
                    "try increasing it",
                ),
            ),
            ("ollama", Reply(400, '{"error": "input length exceeds maximum context length"}')),
        ],
        ids=["OpenAI", "llama.cpp", "Ollama"],
    )
    def test_its_context_is_too_small(self, tmp_path, provider, overflow):
        good = {"compatible": openai_stream, "ollama": ollama_stream}[provider]
        with scripted(overflow, good("Until 30 June [1].")) as script:
            turn = _asked(tmp_path, script, provider=provider)
        assert (turn.status, turn.answer) == ("complete", "Until 30 June [1].")
        assert [each.step for each in turn.details.decisions] == ["context"]
        assert "shortened" in turn.note
        first, second = (len(json.dumps(each["messages"])) for each in script.requests)
        assert second < first


@pytest.mark.usefixtures("base")
class TestATool:
    CALL = '{"use": "tool", "tool": "wiki", "arguments": {"question": "zebra"}, "why": "w"}'

    def test_its_decision_is_malformed_twice(self, tmp_path):
        tool = HttpTool(name="wiki", url="http://127.0.0.1:9/?q={question}")
        broken = openai_stream('{"use": "tool", "tool": ')
        with scripted(broken, broken, openai_stream("I know it.")) as script:
            turn = _asked(tmp_path, script, OFF_TOPIC, "auto", tool=tool)
        assert (turn.status, turn.mode, turn.answer) == ("complete", "general", "I know it.")
        [decision] = turn.details.decisions
        assert decision.failed
        assert "no JSON object" in decision.why

    def test_it_hangs(self, tmp_path):
        with scripted(Reply(delay=30)) as service:
            tool = HttpTool(name="wiki", url=f"{service.url}/?q={{question}}", seconds=0.3)
            knows = '{"use": "knowledge", "why": "it hangs"}'
            replies = map(openai_stream, (self.CALL, knows, "I know it."))
            with scripted(*replies) as script:
                turn = _asked(tmp_path, script, OFF_TOPIC, "auto", tool=tool)
        assert (turn.status, turn.mode, turn.answer) == ("complete", "general", "I know it.")
        failed = [each for each in turn.details.decisions if each.failed]
        assert [each.step for each in failed] == ["tool"]
        assert "did not answer within 0.3 s" in failed[0].why
        assert "did not answer within 0.3 s" in turn.note

    @pytest.mark.parametrize(
        ("allowed", "told"),
        [
            ({"answer.tools": None}, {"wiki", "pumps"}),
            ({"answer.tools": ["pumps"]}, {"pumps"}),
            ({"answer.tools": [], "search.tools": ["wiki"]}, {"wiki"}),
            ({"answer.tools": ["gone"]}, set()),
        ],
    )
    def test_a_recipe_says_which_may_be_called(self, tmp_path, allowed, told):
        with closing(Workspace(Settings.from_env({}, home=tmp_path))) as workspace:
            for name in ("wiki", "pumps"):
                workspace.tools.save(HttpTool(name=name, url="http://127.0.0.1:9/?q={question}"))
        knows = openai_stream('{"use": "knowledge", "why": "w"}')
        with scripted(knows, openai_stream("I know it.")) as script:
            turn = _asked(tmp_path, script, OFF_TOPIC, "auto", allowed=allowed)
        assert (turn.status, turn.mode) == ("complete", "general")
        asked = script.requests[0]["messages"][0]["content"]
        assert {name for name in ("wiki", "pumps") if f"- {name}: " in asked} == told
        assert len(script.requests) == (2 if told else 1)

    def test_its_result_is_cited(self, tmp_path):
        with scripted(Reply(body='[{"text": "A zebra has stripes."}]')) as service:
            tool = HttpTool(name="wiki", url=f"{service.url}/?q={{question}}")
            replies = map(openai_stream, (self.CALL, "It has stripes [1]."))
            with scripted(*replies) as script:
                turn = _asked(tmp_path, script, OFF_TOPIC, "auto", tool=tool)
        assert (turn.status, turn.mode) == ("complete", "tool")
        assert turn.citations[0].text == "A zebra has stripes."
