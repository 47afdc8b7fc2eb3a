"""The spans of what is asked: how they hang together, and what they tell of it."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from rag import HttpTool, KnowledgeBase, Settings, Workspace, spanning, telemetry
from tests.api import client
from tests.runs import WORDS, handbook
from tests.servers import Script, openai_error, openai_stream, scripted
from tests.traces import EVERYTHING, traced

QUESTION = "How long may unused leave be carried over?"
ASKED = WORDS.with_fields(
    {"answer.provider": "openai", "answer.model": "m", "answer.mode": "strict"}
)
SAID = "Until 30 June [1]."
WORDS_OF_TEXTS = ("leave", "June", "carried")


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return handbook(home)[0]


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("handbook")


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted(openai_stream("Until 30 ", "June [1].", usage=(41, 6))) as answering:
        yield answering


def with_model(home: Path, script: Script) -> KnowledgeBase:
    variables = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": f"{script.url}/v1"}
    return Workspace(Settings.from_env(variables, home=home)).base("handbook")


def told(span: ReadableSpan) -> str:
    """Everything that a span says, as one text."""
    return json.dumps(json.loads(span.to_json()), ensure_ascii=False)


def test_the_spans_of_one_question(home, base, script):
    with traced() as spans:
        answer = with_model(home, script).ask(QUESTION, ASKED).answer
    assert answer.text == SAID
    retrieved = ("retrieve", [("embeddings fake", [])])
    assert spans.tree() == [("ask", [retrieved, ("answer", [("chat m", [])])])]
    assert len({span.context.trace_id for span in spans.list_all()}) == 1
    assert all(span.status.status_code is StatusCode.UNSET for span in spans.list_all())

    ask = spans.attributes("ask")
    assert ask == {
        "openinference.span.kind": "CHAIN",
        "touchstone.knowledge_base.id": base.id,
        "gen_ai.data_source.id": str(base.id),
        "touchstone.recipe": ASKED.hash,
        "touchstone.mode": "strict",
        "touchstone.outcome": "complete",
        "touchstone.decisions": ("sources",) if answer.decisions else (),
        "touchstone.citations": 1,
        "touchstone.citations.unsupported": 0,
    }
    hit = answer.trace.hits[0]
    retrieve = spans.attributes("retrieve")
    assert retrieve["openinference.span.kind"] == "RETRIEVER"
    assert retrieve["gen_ai.operation.name"] == "retrieval"
    assert retrieve["retrieval.documents.0.document.id"] == hit.chunk.id
    assert retrieve["retrieval.documents.0.document.score"] == hit.score
    assert retrieve["touchstone.from_cache"] is False
    assert [event.name for event in spans.named("retrieve").events] == [
        stage.name for stage in answer.trace.stages if stage.name not in ("question", "context")
    ]
    embed = spans.attributes("embeddings fake")
    assert embed["openinference.span.kind"] == "EMBEDDING"
    assert embed["embedding.model_name"] == embed["gen_ai.request.model"] == "fake"
    assert embed["gen_ai.operation.name"] == "embeddings"
    chat = spans.attributes("chat m")
    assert chat.pop("gen_ai.response.time_to_first_chunk") > 0
    assert chat == {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m",
        "llm.provider": "openai",
        "llm.invocation_parameters": '{"temperature": 0.0, "max_tokens": 800}',
        "llm.token_count.prompt": 41,
        "llm.token_count.completion": 6,
        "llm.token_count.total": 47,
        "llm.finish_reason": "stop",
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.system": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 800,
        "gen_ai.usage.input_tokens": 41,
        "gen_ai.usage.output_tokens": 6,
        "gen_ai.response.finish_reasons": ("stop",),
    }
    assert spans.named("chat m").kind is SpanKind.CLIENT


def test_without_being_asked_spans_hold_no_text(home, base, script):
    with traced() as spans:
        assert with_model(home, script).ask(QUESTION, ASKED).answer.text == SAID
    for span in spans.list_all():
        assert not [word for word in (*WORDS_OF_TEXTS, "handbook") if word in told(span)]


def test_with_content_spans_hold_question_passages_prompt_and_answer_and_no_key(home, base, script):
    with traced(EVERYTHING) as spans:
        answer = with_model(home, script).ask(QUESTION, ASKED).answer
    ask, chat = spans.attributes("ask"), spans.attributes("chat m")
    assert (ask["input.value"], ask["output.value"]) == (QUESTION, SAID)
    retrieve = spans.attributes("retrieve")
    assert retrieve["gen_ai.retrieval.query.text"] == QUESTION
    assert retrieve["retrieval.documents.0.document.content"] == answer.trace.hits[0].chunk.text
    assert retrieve["retrieval.documents.0.document.name"] == "leave.md"
    text = "embedding.embeddings.0.embedding.text"
    assert spans.attributes("embeddings fake")[text] == QUESTION
    asked = script.requests[0]["messages"]
    for number, message in enumerate(asked):
        at = f"llm.input_messages.{number}.message"
        assert (chat[f"{at}.role"], chat[f"{at}.content"]) == (message["role"], message["content"])
    assert json.loads(chat["gen_ai.input.messages"]) == [
        {"role": each["role"], "parts": [{"type": "text", "content": each["content"]}]}
        for each in asked
    ]
    assert chat["llm.output_messages.0.message.content"] == SAID
    assert json.loads(chat["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": SAID}]}
    ]
    assert not [span.name for span in spans.list_all() if "sk-secret" in told(span)]


def test_a_provider_that_fails_is_an_error_of_its_span_and_of_the_whole(home, base):
    with (
        scripted(openai_error(401, f"no such key, you asked: {QUESTION}")) as script,
        traced() as s,
    ):
        answer = with_model(home, script).ask(QUESTION, ASKED).answer
    assert answer.status == "failed"
    failed = {span.name for span in s.list_all() if span.status.status_code is StatusCode.ERROR}
    assert failed == {"ask", "answer", "chat m"}
    assert s.attributes("chat m")["error.type"] == "ProviderRejected"
    assert s.attributes("ask")["touchstone.outcome"] == "failed"
    assert not [span.name for span in s.list_all() if "leave" in told(span)]


def test_a_reranker_that_is_a_model_is_asked_below_the_search(home, base):
    reranking = ASKED.with_fields({"search.rerank": "chat", "search.rerank_depth": 3})
    replies = openai_stream("[2] [1] [3]"), openai_stream("Grease it [1].")
    with scripted(*replies) as script, traced(EVERYTHING) as spans:
        answer = with_model(home, script).ask("What of leave and the bearing?", reranking).answer
    tree = spans.tree()
    assert [(name, [below for below, _ in inner]) for name, inner in tree[0][1]] == [
        ("retrieve", ["embeddings fake", "rerank chat", "chat m"]),
        ("answer", ["chat m"]),
    ]
    rerank = spans.attributes("rerank chat")
    assert rerank["openinference.span.kind"] == "RERANKER"
    assert rerank["reranker.top_k"] == 3
    read = sorted(
        (hit for hit in answer.trace.hits if "rerank" in hit.parts),
        key=lambda hit: -hit.parts["rerank"],
    )
    for number, hit in enumerate(read):
        at = f"reranker.output_documents.{number}.document"
        assert rerank[f"{at}.id"] == hit.chunk.id
        assert rerank[f"{at}.score"] == hit.parts["rerank"]


def test_a_conversation_is_a_session_and_its_log_names_the_trace(base, caplog):
    talks = base.conversations
    session = talks.open(None)
    turn = talks.ask(session, QUESTION, WORDS)
    labels = {"base": base.id, "question": QUESTION, "recipe": WORDS}
    caplog.set_level(logging.INFO, "touchstone.turns")
    with (
        traced() as spans,
        spanning("turn", {**labels, "session": session, "turn": turn}),
    ):
        talks.conclude(turn, base.answer(base.search(QUESTION, WORDS), WORDS).answer)
    ask = spans.attributes("ask")
    assert ask["session.id"] == ask["gen_ai.conversation.id"] == str(session)
    assert ask["touchstone.turn.id"] == turn
    assert ask["touchstone.outcome"] == "complete"
    # Exporters of other tests may log that their server is gone.
    (line,) = (json.loads(one.message) for one in caplog.records if one.name == "touchstone.turns")
    assert line["trace_id"] == f"{spans.named('ask').context.trace_id:032x}"
    talks.conclude(turn, base.ask(QUESTION, WORDS).answer)
    *_, last = (one.message for one in caplog.records if one.name == "touchstone.turns")
    assert "trace_id" not in json.loads(last)


def test_a_request_goes_on_with_the_trace_of_who_asks(workspace):
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    path = "/api/v1/knowledge-bases/handbook/ask"
    route = "POST /knowledge-bases/{kb}/ask"
    with traced() as spans:
        asking = client(workspace, "ask")
        asked = {"question": QUESTION, "stream": True}
        reply = asking.post(path, json=asked, headers={"traceparent": caller})
        assert reply.status_code == 200
        assert asking.post(path, json=asked, headers={"traceparent": "nonsense"}).status_code == 200
    first, second = (span for span in spans.list_all() if span.name == route)
    assert first.parent.is_remote
    assert f"{first.context.trace_id:032x}" == caller.split("-")[1]
    asked = [("retrieve", [("embeddings fake", [])]), ("answer", [])]
    assert spans.tree(first) == [("ask", asked)]
    assert first.kind is SpanKind.SERVER
    assert dict(first.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/knowledge-bases/{kb}/ask",
        "http.response.status_code": 200,
    }
    assert second.parent is None


def test_a_job_is_one_span_with_its_counts(workspace, base):
    with traced() as spans:
        job = base.documents.add_text("new.txt", "Canteens open at noon.")
        assert workspace.jobs.run(job).status == "done"
        evaluation = base.runs.start_evaluation("handbook questions", WORDS)
        assert workspace.jobs.run(evaluation).status == "done"
    ingest = spans.attributes("job ingest")
    assert ingest["touchstone.job.id"] == job
    assert ingest["touchstone.job.status"] == "done"
    assert ingest["touchstone.job.items.added"] == 1
    assert ingest["touchstone.knowledge_base.id"] == base.id
    evaluated = spans.attributes("job evaluate")
    assert (evaluated["touchstone.job.done"], evaluated["touchstone.job.total"]) == (5, 5)


def test_an_answer_that_is_stopped_ends_its_spans(home, base, script):
    with traced() as spans:
        stream = with_model(home, script).ask(QUESTION, ASKED)
        assert next(stream) == "Until 30 "
        stream.close()
    assert spans.attributes("ask")["touchstone.outcome"] == "interrupted"
    assert {span.name for span in spans.list_all()} >= {"ask", "answer", "chat m"}
    assert spans.named("chat m").status.status_code is StatusCode.UNSET


def test_nothing_is_kept_where_nobody_follows(base):
    assert not telemetry.is_followed()
    with spanning("turn", {}) as span:
        assert base.ask(QUESTION, WORDS).answer.status == "complete"
    assert (span.kept, span.trace_id, telemetry.trace_id()) == (None, "", "")
    assert telemetry.current() is None


def test_a_tool_is_a_span_in_the_thread_that_asks_it(home, base):
    workspace = Workspace(Settings.from_env({"TOUCHSTONE_ALLOW_PRIVATE_URLS": "1"}, home=home))
    with scripted(openai_error(500, "down")) as script:
        url = f"{script.url}/?q={{question}}"
        workspace.tools.save(HttpTool.parse({"name": "wiki", "url": url}))
        asked = WORDS.with_fields({"search.tools": ["wiki"]})
        with traced(EVERYTHING) as spans:
            workspace.base("handbook").search(QUESTION, asked)
    ((_, below),) = spans.tree()
    assert sorted(name for name, _ in below) == ["embeddings fake", "execute_tool wiki"]
    tool = spans.attributes("execute_tool wiki")
    assert tool["openinference.span.kind"] == "TOOL"
    assert tool["tool.name"] == tool["gen_ai.tool.name"] == "wiki"
    assert tool["input.value"] == QUESTION
    assert tool["error.type"] == "ProviderUnavailable"
