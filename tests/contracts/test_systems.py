"""Systems under test behind a real local server: their forms, and endpoints that misbehave."""

import json
import math
from typing import Any

import pytest

from rag import (
    BlockedAddress,
    HttpSystem,
    InvalidInput,
    ProviderUnavailable,
    system_of,
)
from rag.errors import ProviderMisbehaved
from rag.experiments.systems.endpoints import ask
from rag.experiments.systems.formats.tables import Returned, ReturnedText
from rag.network import addresses
from rag.network.addresses import resolve
from rag.providers.http_tools import calling
from tests.servers import Reply, scripted

ANSWERS: dict[str, Any] = {
    "dify-external": {
        "records": [
            {"content": "Leave lapses.", "score": 0.5, "title": "leave.md", "metadata": None},
            {"content": "Ask first.", "score": 0.25, "title": "ask.md"},
        ]
    },
    "dify-dataset": {
        "records": [
            {
                "score": 0.5,
                "segment": {"content": "Leave lapses.", "document": {"name": "leave.md"}},
            },
            {"score": 0.25, "segment": {"content": "Ask first.", "document": {"name": "ask.md"}}},
        ]
    },
    "openai": {
        "data": [
            {
                "filename": "leave.md",
                "score": 0.5,
                "content": [{"type": "text", "text": "Leave lapses."}],
            },
            {
                "filename": "ask.md",
                "score": 0.25,
                "content": [{"type": "image"}, {"type": "text", "text": "Ask first."}],
            },
        ]
    },
    "ragflow": {
        "code": 0,
        "data": {
            "chunks": [
                {"content": "Leave lapses.", "similarity": 0.5, "document_keyword": "leave.md"},
                {"content": "Ask first.", "similarity": 0.25, "document_keyword": "ask.md"},
            ]
        },
    },
}
REQUESTS = {
    "dify-external": (
        "/retrieval",
        {
            "knowledge_id": "kb",
            "query": "How long?",
            "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
        },
    ),
    "dify-dataset": ("/v1/datasets/kb/retrieve", {"query": "How long?"}),
    "openai": ("/vector_stores/kb/search", {"query": "How long?", "max_num_results": 5}),
    "ragflow": (
        "/api/v1/retrieval",
        {"question": "How long?", "dataset_ids": ["kb"], "page_size": 5},
    ),
}


@pytest.mark.parametrize("form", list(ANSWERS))
def test_each_form_sends_its_request_and_reads_the_same_results(form):
    with scripted(Reply(body=json.dumps(ANSWERS[form]))) as server:
        system = system_of(form, "rival", server.url + "/", "kb", 5, "TOUCHSTONE_TOOL_RIVAL")
        variables = {"TOUCHSTONE_TOOL_RIVAL": "s3cret"}
        returned = ask(system, "How long?", variables, allow_private=True)
    assert returned == Returned(
        "How long?",
        (
            ReturnedText("Leave lapses.", 0.5, title="leave.md"),
            ReturnedText("Ask first.", 0.25, title="ask.md"),
        ),
    )
    assert (server.paths[0], server.requests[0]) == REQUESTS[form]
    assert server.headers[0]["authorization"] == "Bearer s3cret"


def test_an_unknown_form_names_the_known_ones():
    with pytest.raises(InvalidInput) as caught:
        system_of("difi", "rival", "https://x.example", "kb")
    assert caught.value.hint == "Use dify-external, dify-dataset, openai, ragflow, touchstone, mcp."


def asked(reply: Reply, **fields: Any) -> tuple[ReturnedText, ...]:
    with scripted(reply) as server:
        definition = {"name": "rival", "url": f"{server.url}?q={{question}}", "score": "s"}
        system = HttpSystem.parse({**definition, "id": "id", **fields})
        return ask(system, "q", {}, allow_private=True).texts


def test_results_keep_their_rank_without_a_text_and_when_they_repeat():
    hits = [{"text": "One"}, {"id": 7}, {"text": "One"}, None, {"text": {"no": 1}}]
    texts = asked(Reply(body=json.dumps(hits)))
    assert [item.text for item in texts] == ["One", "", "One", "", ""]
    assert texts[1].id == "7"


def test_scores_that_are_no_finite_numbers_are_left_out():
    hits = [{"text": "x", "s": s} for s in (math.nan, -math.inf, "0.5", True, None, [1])]
    texts = asked(Reply(body=json.dumps(hits)))
    assert [item.score for item in texts] == [None, None, 0.5, None, None, None]


def test_ten_thousand_results_are_cut_and_long_texts_stay_whole():
    hits = [{"text": "x" * 20_000}] + [{"text": str(number)} for number in range(10_000)]
    texts = asked(Reply(body=json.dumps(hits)))
    assert (len(texts), len(texts[0].text), texts[99].text) == (100, 20_000, "98")


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (Reply(body="{oops"), ProviderMisbehaved, "The system rival did not answer with JSON."),
        (Reply(body="[" * 100_000), ProviderMisbehaved, "did not answer with JSON"),
        (Reply(body='{"hits": 1}'), ProviderMisbehaved, "results at its top. It has: hits."),
        (Reply(body="<html>", content_type="text/html"), ProviderMisbehaved, "instead of JSON"),
        (Reply(body="[]", delay=1.0), ProviderUnavailable, "did not answer within 0.3 s"),
        (Reply(503), ProviderUnavailable, "The system rival answers 503"),
    ],
)
def test_an_endpoint_that_misbehaves_is_described(reply, kind, message):
    with pytest.raises(kind) as caught:
        asked(reply, seconds=0.3 if reply.delay else 10)
    assert message in caught.value.message


def test_a_huge_answer_is_refused(monkeypatch):
    monkeypatch.setattr(calling, "MOST_BYTES", 1_000)
    with pytest.raises(ProviderMisbehaved, match="The response of the system rival is larger"):
        asked(Reply(body=json.dumps([{"text": "x" * 5_000}])))


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None)]
)
def test_the_wait_of_a_busy_endpoint_is_known(header, seconds):
    with pytest.raises(ProviderUnavailable) as caught:
        asked(Reply(429, headers={"Retry-After": header}))
    assert caught.value.retry_after == seconds


def test_a_redirect_into_the_private_network_is_refused(monkeypatch):
    def public(host: str, port: int, *, allow_private: bool) -> list[str]:
        if host == "public.example":
            return ["127.0.0.1"]
        return resolve(host, port, allow_private=allow_private)

    monkeypatch.setattr(addresses, "resolve", public)
    with scripted(Reply(307)) as server:
        server.replies[:] = [Reply(307, headers={"Location": f"{server.url}/secret"})]
        port = server.url.rpartition(":")[2]
        system = system_of("openai", "rival", f"http://public.example:{port}", "kb")
        with pytest.raises(BlockedAddress, match=r"127\.0\.0\.1"):
            ask(system, "q", {}, allow_private=False)
    assert len(server.paths) == 1
