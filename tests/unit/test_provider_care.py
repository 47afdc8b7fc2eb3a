"""Requests at once, requests a minute, and a provider that is left alone after failures."""

import threading

import pytest

from rag import InvalidInput, ProviderUnavailable, Settings, providers
from rag.errors import ProviderRejected
from rag.providers import RetryPolicy
from rag.providers.endpoint import Busy
from rag.providers.request_limiter import FAILURES_IN_A_ROW, PAUSE, RequestLimiter
from tests.servers import Reply, openai_error, openai_vectors, scripted


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def care(clock: Clock, at_once: int = 8, per_minute: int = 0) -> RequestLimiter:
    return RequestLimiter("Somebody", at_once, per_minute, clock, clock.sleep)


def fail(bounds: RequestLimiter) -> None:
    with pytest.raises(Busy, match="away"), bounds.turn(1.0):
        raise Busy("It is away.")


def test_requests_are_spread_over_the_minute():
    clock = Clock()
    bounds = care(clock, per_minute=30)
    assert [bounds.call_paced(clock) for _ in range(4)] == [100.0, 102.0, 104.0, 106.0]
    clock.now = 200.0
    assert bounds.call_paced(clock) == 200.0


def test_too_long_a_queue_is_refused():
    clock = Clock()
    bounds = RequestLimiter("Somebody", 8, 1, clock, lambda _: None)
    bounds.call_paced(clock)
    bounds.call_paced(clock)
    with pytest.raises(Busy, match="limit per minute allows") as told:
        bounds.call_paced(clock)
    assert "TOUCHSTONE_PROVIDER_RATE" in told.value.hint


def test_after_failures_in_a_row_it_is_left_alone_and_then_tried_once():
    clock = Clock()
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
    clock = Clock()
    bounds = care(clock)
    for _ in range(FAILURES_IN_A_ROW):
        fail(bounds)
    clock.now += PAUSE + 1
    fail(bounds)
    with pytest.raises(Busy, match="6 times"), bounds.turn(1.0):
        pytest.fail("asked")


def test_an_answer_between_failures_counts_anew():
    bounds = care(Clock())
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
    bounds = care(Clock(), at_once=2)
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
