"""The wire forms of reranking services, and everything such a service can do wrong."""

import json
from typing import Any

import pytest

from rag import ProviderUnavailable, Settings, providers
from rag.errors import ProviderMisbehaved, ProviderRejected
from rag.protocols import Reranker
from rag.providers import RetryPolicy
from tests.servers import Reply, Script, scripted

KEY = "rr-secret-0123456789"
SWIFT = RetryPolicy(timeout=0.3, tries=1)
TEXTS = ["one", "two", "three"]


def service(
    script: Script | None, name: str = "service", batch: int = 16, retry_policy: RetryPolicy = SWIFT
) -> Reranker:
    url = script.url if script else "http://127.0.0.1:9"
    variables = {"TOUCHSTONE_RERANK_URL": url, "TOUCHSTONE_RERANK_API_KEY": KEY}
    return providers.reranker(name, batch, Settings.from_env(variables), retry_policy)


def results(*pairs: tuple[Any, Any], name: str = "relevance_score", wrap: str = "results") -> Reply:
    listed = [{"index": index, name: score} for index, score in pairs]
    return Reply(body=json.dumps({wrap: listed, "usage": {}} if wrap else listed))


RIGHT = ((2, 0.9), (0, 0.5), (1, -0.25))


@pytest.mark.parametrize(
    "reply",
    [
        results(*RIGHT),
        results(*RIGHT, name="score"),
        results(*RIGHT, wrap="data"),
        results(*RIGHT, name="score", wrap=""),
    ],
)
def test_scores_come_back_in_the_order_of_the_texts(reply):
    with scripted(reply) as script:
        assert service(script, "service:m").scores("q", TEXTS).tolist() == [0.5, -0.25, 0.9]
    assert script.paths == ["/rerank"]
    assert script.headers[0]["authorization"] == f"Bearer {KEY}"
    assert script.requests == [
        {
            "model": "m",
            "query": "q",
            "documents": TEXTS,
            "top_n": 3,
            "return_documents": False,
        }
    ]


def test_a_server_that_wants_texts_is_asked_in_its_own_form_from_then_on():
    refusal = Reply(422, '{"error": "missing field `texts` at line 1", "error_type": "Validation"}')
    with scripted(refusal, results(*RIGHT, name="score", wrap="")) as script:
        model = service(script)
        model.scores("q", TEXTS)
        assert model.scores("q", TEXTS).tolist() == [0.5, -0.25, 0.9]
    assert [sorted(request) for request in script.requests] == [
        ["documents", "query", "return_documents", "top_n"],
        ["query", "texts", "truncate"],
        ["query", "texts", "truncate"],
    ]


def test_long_lists_go_in_batches():
    with scripted(results((0, 1.0), (1, 0.0)), results((0, 0.5))) as script:
        assert service(script, batch=2).scores("q", TEXTS).tolist() == [1.0, 0.0, 0.5]
    assert [request["documents"] for request in script.requests] == [["one", "two"], ["three"]]


def test_an_address_may_end_in_rerank_and_empty_texts_are_sent_as_a_space():
    with scripted(results((0, 1.0))) as script:
        settings = Settings.from_env({"TOUCHSTONE_RERANK_URL": f"{script.url}/v2/rerank"})
        providers.reranker("service", 4, settings, SWIFT).scores("q", [""])
    assert script.paths == ["/v2/rerank"]
    assert script.requests[0]["documents"] == [" "]
    assert "authorization" not in script.headers[0]


def test_nothing_is_asked_about_nothing():
    assert service(None).scores("q", []).tolist() == []


@pytest.mark.parametrize(
    ("reply", "error", "said"),
    [
        (Reply(body="<html>"), ProviderMisbehaved, "not JSON"),
        (Reply(body="7"), ProviderMisbehaved, "no list of results"),
        (Reply(body='{"results": {}}'), ProviderMisbehaved, "no list of results"),
        (Reply(body="[1, 2, 3]"), ProviderMisbehaved, "number the passages"),
        (results((0, 1.0), (1, 1.0)), ProviderMisbehaved, "2 scores for 3 passages"),
        (results((0, 1.0), (1, 1.0), (3, 1.0)), ProviderMisbehaved, "number the passages"),
        (results((0, 1.0), (1, 1.0), (1, 1.0)), ProviderMisbehaved, "number the passages"),
        (results((0, 1.0), (1, 1.0), (-1, 1.0)), ProviderMisbehaved, "number the passages"),
        (results((0, 1.0), (1, 1.0), (True, 1.0)), ProviderMisbehaved, "number the passages"),
        (results((0, 1.0), (1, 1.0), (2, "high")), ProviderMisbehaved, "not numbers"),
        (results((0, 1.0), (1, 1.0), (2, None)), ProviderMisbehaved, "not numbers"),
        (results((0, 1.0), (1, 1.0), (2, float("nan"))), ProviderMisbehaved, "not numbers"),
        (Reply(body="[" + " " * 9_000_000), ProviderMisbehaved, "more than such a reply"),
        (Reply(401, '{"message": "invalid api token"}'), ProviderRejected, "invalid api token"),
        (Reply(429, "slow down"), ProviderUnavailable, "slow down"),
        (Reply(503, "loading"), ProviderUnavailable, "loading"),
        (Reply(302, "", {"Location": "http://127.0.0.1:9/"}), ProviderMisbehaved, "redirection"),
        (Reply(body="[]", cut=True), ProviderUnavailable, "broke off"),
        (Reply(delay=1.0), ProviderUnavailable, "did not answer within 0.3 s"),
    ],
)
def test_what_goes_wrong_is_said_in_words(reply, error, said):
    retry_policy = SWIFT if reply.delay else RetryPolicy(timeout=60, tries=1)
    with scripted(reply) as script, pytest.raises(error) as caught:
        service(script, retry_policy=retry_policy).scores("q", TEXTS)
    assert said in caught.value.message
    assert caught.value.hint
    assert KEY not in f"{caught.value.message} {caught.value.hint} {caught.value.__cause__!r}"


def test_a_refused_connection_names_the_address():
    with pytest.raises(ProviderUnavailable, match=r"does not answer at http://127\.0\.0\.1:9"):
        service(None).scores("q", TEXTS)


def test_without_an_address_the_variable_is_named():
    model = providers.reranker("service", 4, Settings.from_env({}))
    with pytest.raises(ProviderRejected, match="TOUCHSTONE_RERANK_URL is not set"):
        model.scores("q", TEXTS)


def test_a_failure_that_may_pass_is_tried_again():
    again = RetryPolicy(timeout=60, tries=2, first_wait=0.001)
    with scripted(Reply(503, "loading"), results(*RIGHT)) as script:
        assert service(script, retry_policy=again).scores("q", TEXTS)[2] == 0.9
    assert len(script.requests) == 2


def test_the_check_of_the_settings_page_really_ranks():
    with scripted(results((0, 0.1), (1, 0.8))) as script:
        settings = Settings.from_env({"TOUCHSTONE_RERANK_URL": script.url})
        assert "service puts 'Annual leave is 29 days.' first" in providers.check(
            "service", settings
        )
        (status,) = [each for each in providers.statuses(settings) if each.name == "service"]
        assert (status.reranks, status.ready, status.embedding_model) == (True, True, "")
