"""Embedders over the wire: what is sent, what is believed, and what each failure is called."""

import json
import threading
from collections.abc import Callable

import numpy as np
import ollama
import openai
import pytest

from rag import Recipe, Settings, Workspace, errors, providers
from rag.providers import RetryPolicy
from rag.providers.endpoint import Busy, with_retries
from tests.remote import KEY, SWIFT, chat, embedder, say, settings
from tests.servers import (
    Reply,
    ollama_stream,
    openai_error,
    openai_stream,
    openai_vectors,
    scripted,
)
from tests.workspaces import QUICK, add


class TestEmbedding:
    def test_rows_are_scaled_to_length_one_in_the_order_of_the_texts(self):
        with scripted(openai_vectors([3.0, 4.0], [0.0, 2.0], order=[1, 0])) as script:
            vectors = embedder(script).embed(["a", "b"], "document")
        assert vectors.tolist() == [[np.float32(0.6), np.float32(0.8)], [0.0, 1.0]]
        assert vectors.dtype == np.float32

    def test_request_names_model_texts_and_key(self):
        with scripted(openai_vectors([1.0], [1.0])) as script:
            embedder(script).embed(["a", ""], "query")
        assert script.paths == ["/v1/embeddings"]
        assert script.requests[0]["model"] == "m"
        assert script.requests[0]["input"] == ["a", " "]
        assert script.headers[0]["authorization"] == f"Bearer {KEY}"

    def test_known_models_get_their_prefixes(self):
        with scripted(openai_vectors([1.0])) as script:
            model = embedder(script, "openai:intfloat/e5-small")
            model.embed(["a"], "query")
            model.embed(["a"], "document")
        assert [request["input"] for request in script.requests] == [["query: a"], ["passage: a"]]

    def test_many_texts_are_sent_in_batches(self):
        first = openai_vectors(*([float(i + 1), 1.0] for i in range(64)))
        with scripted(first, openai_vectors([0.0, 5.0])) as script:
            vectors = embedder(script).embed([f"text {i}" for i in range(65)], "document")
        assert [len(request["input"]) for request in script.requests] == [64, 1]
        assert vectors[64].tolist() == [0.0, 1.0]
        assert vectors[2, 0] == pytest.approx(3 / np.sqrt(10))

    def test_no_texts_give_no_rows_of_the_right_width(self):
        with scripted(openai_vectors([1.0, 0.0, 0.0])) as script:
            assert embedder(script).embed([], "query").shape == (0, 3)

    def test_a_zero_vector_becomes_a_unit_vector(self):
        with scripted(openai_vectors([0.0, 0.0])) as script:
            assert embedder(script).embed(["a"], "query").tolist() == [[1.0, 0.0]]

    def test_waits_and_asks_again_after_429_and_500(self):
        replies = (openai_error(429, "slow"), openai_error(503, "busy"), openai_vectors([1.0]))
        with scripted(*replies) as script:
            assert embedder(script).embed(["a"], "query").tolist() == [[1.0]]
        assert len(script.requests) == 3

    def test_gives_up_after_the_last_try(self):
        with (
            scripted(openai_error(500, "broken")) as script,
            pytest.raises(errors.ProviderUnavailable, match=r"answered 500.*broken"),
        ):
            embedder(script).embed(["a"], "query")
        assert len(script.requests) == SWIFT.tries

    def test_a_wish_for_a_long_pause_ends_the_attempts(self):
        with (
            scripted(openai_error(429, "tomorrow", **{"Retry-After": "86400"})) as script,
            pytest.raises(errors.ProviderUnavailable, match="429"),
        ):
            embedder(script).embed(["a"], "query")
        assert len(script.requests) == 1

    def test_an_exhausted_quota_is_not_asked_again(self):
        with (
            scripted(openai_error(429, "insufficient_quota: pay")) as script,
            pytest.raises(errors.ProviderRejected) as caught,
        ):
            embedder(script).embed(["a"], "query")
        assert len(script.requests) == 1
        assert "quota" in caught.value.hint

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
    def test_a_refusal_is_not_asked_again(self, status):
        with (
            scripted(openai_error(status, "no such thing")) as script,
            pytest.raises(errors.ProviderRejected, match=f"{status}.*no such thing"),
        ):
            embedder(script).embed(["a"], "query")
        assert len(script.requests) == 1

    def test_a_slow_server_times_out(self):
        impatient = RetryPolicy(timeout=0.05, tries=1)
        with (
            scripted(Reply(delay=0.3)) as script,
            pytest.raises(errors.ProviderUnavailable, match=r"within 0\.05 s"),
        ):
            embedder(script, retry_policy=impatient).embed(["a"], "query")

    def test_another_dimension_than_before_is_not_believed(self):
        with scripted(openai_vectors([1.0, 0.0]), openai_vectors([1.0, 0.0, 0.0])) as script:
            model = embedder(script)
            assert model.dimension == 2
            with pytest.raises(errors.ProviderMisbehaved, match="3 dimensions where it answered 2"):
                model.embed(["a"], "query")

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(body="{not json"),
            Reply(body="<html>hello</html>", content_type="text/html"),
            Reply(body='{"data": "none"}'),
            Reply(body='{"data": []}'),
            openai_vectors([1.0]),
            openai_vectors([1.0], [1.0], order=[0, 0]),
            openai_vectors([1.0], [1.0, 2.0]),
            openai_vectors([float("nan")], [1.0]),
            openai_vectors([], []),
        ],
        ids=[
            "broken json",
            "a web page",
            "wrong type",
            "nothing",
            "too few",
            "same index twice",
            "ragged",
            "nan",
            "no numbers",
        ],
    )
    def test_unfit_answers_are_not_believed(self, reply):
        with scripted(reply) as script, pytest.raises(errors.ProviderMisbehaved):
            embedder(script).embed(["a", "b"], "query")

    def test_threads_that_start_together_agree(self):
        with scripted(openai_vectors([1.0, 0.0])) as script:
            model, found = embedder(script), list[float]()
            jobs = [
                threading.Thread(
                    target=lambda: found.append(float(model.embed(["a"], "query")[0, 0]))
                )
                for _ in range(8)
            ]
            for job in jobs:
                job.start()
            for job in jobs:
                job.join()
        assert found == [1.0] * 8

    def test_azure_addresses_the_deployment(self):
        with scripted(openai_vectors([2.0])) as script:
            embedder(script, "azure:mine").embed(["a"], "query")
        assert script.paths[0].startswith("/openai/deployments/mine/embeddings?api-version=")
        assert script.headers[0]["api-key"] == KEY

    def test_ollama(self):
        body = json.dumps({"model": "m", "embeddings": [[3.0, 4.0]]})
        with scripted(Reply(body=body)) as script:
            vectors = embedder(script, "ollama:nomic-embed-text").embed(["a"], "document")
        assert vectors[0] == pytest.approx([0.6, 0.8])
        assert script.paths == ["/api/embed"]
        assert script.requests[0]["input"] == ["search_document: a"]


@pytest.mark.parametrize("provider", ["openai", "azure", "ollama"])
def test_a_server_that_is_not_there(provider):
    once = RetryPolicy(timeout=60, tries=1)
    asks: list[Callable[[], object]] = [
        lambda: embedder(None, f"{provider}:m", once).embed(["a"], "query"),
        lambda: say(chat(None, provider, once)),
    ]
    for ask in asks:
        with pytest.raises(errors.ProviderUnavailable, match=r"127\.0\.0\.1:9") as caught:
            ask()
        assert ("ollama serve" in caught.value.hint) == (provider == "ollama")


def test_a_key_never_shows():
    """Not even when the server repeats it: neither in the message nor in the chain of causes."""
    with scripted(openai_error(401, f"Incorrect key {KEY}")) as script:
        model = embedder(script)
        with pytest.raises(errors.ProviderRejected) as caught:
            model.embed(["a"], "query")
    error = caught.value
    assert "***" in error.message
    assert error.__suppress_context__
    assert error.__cause__ is None
    assert KEY not in f"{error.message} {error.hint} {error!r} {settings()!r} {vars(model)!r}"


def test_a_stranger_is_not_sent_the_key_of_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with scripted(openai_vectors([1.0])) as script:
        variables = {"TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL": f"{script.url}/v1"}
        providers.embedder("compatible:m", Settings.from_env(variables)).embed(["a"], "query")
    assert KEY not in json.dumps(script.headers)


class TestPatience:
    def test_waits_longer_each_time(self):
        waits = list[float]()

        def busy() -> None:
            raise Busy("busy")

        with pytest.raises(Busy):
            with_retries(busy, RetryPolicy(tries=4, first_wait=1.0), waits.append)
        for wait, least in zip(waits, (1.0, 2.0, 4.0), strict=True):
            assert least <= wait <= 1.5 * least

    def test_waits_as_long_as_the_server_asks(self):
        waits = list[float]()

        def busy() -> None:
            raise Busy("busy", retry_after=30.0)

        with pytest.raises(Busy):
            with_retries(busy, RetryPolicy(tries=2, first_wait=1.0), waits.append)
        assert waits == [30.0]

    def test_a_refusal_is_raised_at_once(self):
        def rejected() -> None:
            raise errors.ProviderRejected("no")

        with pytest.raises(errors.ProviderRejected):
            with_retries(rejected, RetryPolicy(), lambda _: pytest.fail("waited"))


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
