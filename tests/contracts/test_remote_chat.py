"""Replies over the wire: what is sent, what comes in pieces, and what each failure is called."""

import pytest

from rag import Message, errors
from rag.providers import endpoint
from rag.types import Delta, Usage
from tests.remote import HELLO, chat, say
from tests.servers import Reply, ollama_stream, openai_error, openai_stream, scripted


@pytest.mark.parametrize(
    ("provider", "reply"),
    [("openai", openai_stream("Good ", "day")), ("ollama", ollama_stream("Good ", "day"))],
)
def test_streams_text_then_usage(provider, reply):
    with scripted(reply) as script:
        deltas = say(chat(script, provider))
    assert deltas == [Delta("Good "), Delta("day"), Delta(usage=Usage(7, 3))]
    assert [delta.model for delta in deltas] == ["", "", "m"]  # as the server names itself


def test_request():
    with scripted(openai_stream("a")) as script:
        say(chat(script))
    request = script.requests[0]
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello?"},
    ]
    assert (request["temperature"], request["max_tokens"]) == (0.0, 9)
    assert request["stream_options"] == {"include_usage": True}


def test_a_server_that_tells_no_usage():
    with scripted(openai_stream("a", usage=None)) as script:
        assert say(chat(script)) == [Delta("a")]


def test_fields_that_a_server_refuses_are_replaced():
    replies = (
        openai_error(400, "unknown field stream_options"),
        openai_error(400, "Unsupported parameter: max_tokens"),
        openai_stream("a"),
    )
    with scripted(*replies) as script:
        assert say(chat(script))[0] == Delta("a")
    assert "stream_options" not in script.requests[2]
    assert script.requests[2]["max_completion_tokens"] == 9
    assert "max_tokens" not in script.requests[2]


def test_ollama_gets_a_window_for_prompt_and_reply():
    long = [Message("user", "x" * 9000)]
    with scripted(ollama_stream("a")) as script:
        list(chat(script, "ollama").stream(long, temperature=0.5, max_tokens=800))
    assert script.requests[0]["options"] == {
        "temperature": 0.5,
        "num_predict": 800,
        "num_ctx": 4096,
    }


@pytest.mark.parametrize(
    ("provider", "reply"),
    [
        ("openai", openai_stream("half", finish=False)),
        ("openai", openai_stream("half", finish=False, cut=True)),
        ("ollama", ollama_stream("half", done=False)),
        ("ollama", ollama_stream("half", done=False, cut=True)),
    ],
    ids=["openai ends", "openai is cut", "ollama ends", "ollama is cut"],
)
def test_a_reply_that_breaks_off(provider, reply):
    with scripted(reply) as script:
        stream = chat(script, provider).stream(HELLO, temperature=0.0, max_tokens=9)
        assert next(stream) == Delta("half")
        with pytest.raises(errors.ProviderUnavailable, match="broke off in the middle"):
            next(stream)
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("provider", "reply"),
    [
        ("openai", Reply(body="data: {nonsense\n\n", content_type="text/event-stream")),
        (
            "openai",
            Reply(body='data: {"error": {"message": "no"}}\n\n', content_type="text/event-stream"),
        ),
        ("ollama", Reply(body="{nonsense\n")),
        ("ollama", Reply(body='{"error": "no"}\n')),
    ],
)
def test_nonsense(provider, reply):
    with scripted(reply) as script, pytest.raises(errors.ProviderMisbehaved):
        say(chat(script, provider))


def test_a_second_try_before_the_first_word():
    with scripted(openai_error(503, "busy"), openai_stream("a")) as script:
        assert say(chat(script))[0] == Delta("a")


def test_a_missing_model_of_ollama_names_the_command():
    with (
        scripted(Reply(404, '{"error": "model \'m\' not found"}')) as script,
        pytest.raises(errors.ProviderRejected, match="not found") as caught,
    ):
        say(chat(script, "ollama"))
    assert "ollama pull m" in caught.value.hint


OVERFLOW = "request (6114 tokens) exceeds the available context size (1024 tokens)"


@pytest.mark.parametrize(
    ("provider", "reply"),
    [
        ("openai", f'data: {{"error": {{"message": "Error code: 400 - {OVERFLOW}"}}}}\n\n'),
        ("ollama", f'{{"error": "Error code: 400 - {OVERFLOW}", "done": true}}\n'),
        ("ollama", f'{{"error": "{OVERFLOW}"}}\n'),
    ],
)
def test_an_overflow_that_is_told_inside_of_a_reply(provider, reply):
    with (
        scripted(Reply(body=reply, content_type="text/event-stream")) as script,
        pytest.raises(errors.ContextOverflow, match="answered 400") as caught,
    ):
        say(chat(script, provider))
    assert caught.value.share == pytest.approx(1024 / 6114)
    assert len(script.requests) == 1


def test_a_proxy_of_ollama_that_is_busy_says_so_inside_of_a_reply():
    busy = Reply(body='{"error": "Error code: 429 - slow down", "done": true}\n')
    with scripted(busy, ollama_stream("a")) as script:
        assert say(chat(script, "ollama"))[0] == Delta("a")


@pytest.mark.parametrize(
    ("provider", "reply"),
    [
        ("openai", openai_stream("half", finish=False).body + 'data: {"error": "gone"}\n\n'),
        ("ollama", ollama_stream("half", done=False).body + '{"error": "Connection error."}\n'),
    ],
)
def test_an_error_in_the_middle_of_a_reply(provider, reply):
    with scripted(Reply(body=reply, content_type="text/event-stream")) as script:
        stream = chat(script, provider).stream(HELLO, temperature=0.0, max_tokens=9)
        assert next(stream) == Delta("half")
        with pytest.raises(errors.ProviderUnavailable, match=r"of its reply\. It said"):
            next(stream)


@pytest.mark.parametrize("wait", ["0.05", "a while"])
def test_ollama_that_is_busy_is_asked_again_when_it_says(wait, monkeypatch):
    waits = list[float | None]()
    made = endpoint.Busy.__init__

    def noting(self: endpoint.Busy, message: str, hint: str, wait: float | None) -> None:
        waits.append(wait)
        made(self, message, hint, wait)

    monkeypatch.setattr(endpoint.Busy, "__init__", noting)
    refused = openai_error(429, "slow down", **{"Retry-After": wait})
    with scripted(refused, ollama_stream("a")) as script:
        assert say(chat(script, "ollama"))[0] == Delta("a")
    assert waits == [0.05 if wait == "0.05" else None]
