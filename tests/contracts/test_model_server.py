"""A real model behind a real OpenAI-compatible server: protocol, streaming, usage, errors."""

from collections.abc import Generator

import numpy as np
import pytest

from rag import Message, ProviderError, Settings, providers
from rag.providers import RetryPolicy

pytestmark = pytest.mark.server


@pytest.fixture(scope="session")
def server(model_server: str) -> Settings:
    """Settings that point at the server of this session."""
    return Settings.from_env(
        {
            "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL": f"{model_server}/v1",
            "TOUCHSTONE_OPENAI_COMPATIBLE_MODEL": "smollm2",
        }
    )


def test_streams_a_reply_with_usage(server):
    chat = providers.chat_model("compatible", None, server)
    deltas = list(chat.stream([Message("user", "Count to three.")], temperature=0.0, max_tokens=6))
    pieces = [delta.text for delta in deltas if delta.text]
    assert len(pieces) > 1
    usage = deltas[-1].usage
    assert 0 < usage.completion_tokens <= 6
    assert usage.prompt_tokens > 0


def test_a_reply_can_be_closed_early(server):
    chat = providers.chat_model("compatible", None, server)
    stream = chat.stream([Message("user", "Count to ten.")], temperature=0.0, max_tokens=32)
    first = next(delta.text for delta in stream if delta.text)
    assert first
    assert isinstance(stream, Generator)
    stream.close()
    assert list(stream) == []


def test_embeds(server):
    model = providers.embedder("compatible", server)
    texts = ["a freezer", "annual leave", "a freezer"]
    vectors = model.embed(texts, "document")
    assert vectors.shape == (3, model.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[2] > 0.99
    assert vectors[0] @ vectors[1] < vectors[0] @ vectors[2]


def test_check_says_what_it_saw(server):
    assert "embeds into 576 dimensions" in providers.check("compatible", server)
    assert " answers " in providers.check("compatible", server, "chat")


def test_a_prompt_that_is_too_long_is_an_error_with_words(server):
    chat = providers.chat_model("compatible", None, server, RetryPolicy(tries=1))
    assert chat is not None
    with pytest.raises(ProviderError, match=r"context|large|exceed"):
        list(chat.stream([Message("user", "word " * 9000)], temperature=0.0, max_tokens=4))
