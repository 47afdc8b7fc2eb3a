"""Limits on concurrent requests and requests per minute, and a circuit breaker, for each provider.

All models of one address share a limiter, in all threads of the process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

from rag import telemetry
from rag.errors import ProviderRejected
from rag.providers.endpoint import LONGEST_WAIT, Busy, Endpoint, with_retries

T = TypeVar("T")
Service = Literal["embedding", "chat", "reranking", "decision"]

FAILURES_IN_A_ROW = 5
PAUSE = 30.0
"""Seconds in which a provider that failed so often is not asked; then one request tries it."""


class RequestLimiter:
    """The bounds of one service at one address."""

    def __init__(
        self,
        label: str,
        at_once: int,
        per_minute: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``per_minute`` 0 is without a bound."""
        self._label = label
        self._slots = threading.BoundedSemaphore(at_once)
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._next = 0.0  # when the next request may be sent
        self._failures = 0
        self._closed_until = 0.0
        self._said = ""

    @contextmanager
    def turn(self, timeout: float) -> Iterator[None]:
        """One request with all its tries. Raises Busy where there is no slot within ``timeout``
        seconds, or the provider failed too often.
        """
        with self._lock:
            wait = self._closed_until - self._clock()
            if wait > 0:
                raise Busy(
                    f"{self._said} It failed {self._failures} times in a row. The next "
                    f"request is possible in {wait:.0f} s.",
                    "The problem is at the provider. Try again then.",
                )
            if self._closed_until:  # this one tries; others wait for what it learns
                self._closed_until = self._clock() + PAUSE
        if not self._slots.acquire(timeout=timeout):
            raise Busy(
                f"{self._label} already has the maximum number of concurrent requests.",
                "Try again, or raise TOUCHSTONE_PROVIDER_AT_ONCE.",
            )
        try:
            yield
        except Busy as error:
            self._failed(error)
            raise
        except ProviderRejected:
            self._answered()
            raise
        else:
            self._answered()
        finally:
            self._slots.release()

    def call_paced(self, call: Callable[[], T]) -> T:
        """The result of ``call`` when its time has come. Raises Busy where that is too far off."""
        if self._gap:
            with self._lock:
                now = self._clock()
                at = max(now, self._next)
                if at - now > LONGEST_WAIT:
                    raise Busy(
                        f"More requests to {self._label} are waiting than the limit per "
                        "minute allows.",
                        "Try again later, or raise TOUCHSTONE_PROVIDER_RATE.",
                    )
                self._next = at + self._gap
            self._sleep(at - now)
        return call()

    def _failed(self, error: Busy) -> None:
        with self._lock:
            self._failures += 1
            self._said = error.message
            if self._failures >= FAILURES_IN_A_ROW:
                self._closed_until = self._clock() + PAUSE

    def _answered(self) -> None:
        with self._lock:
            self._failures, self._closed_until = 0, 0.0


_cares: dict[tuple[str, str, Service, int, int], RequestLimiter] = {}
_guard = threading.Lock()


def care_of(endpoint: Endpoint, service: Service) -> RequestLimiter:
    """Return the request limiter that all models of an endpoint share for one service."""
    at_once, per_minute = endpoint.at_once, endpoint.per_minute
    key = endpoint.row.name, endpoint.base_url, service, at_once, per_minute
    with _guard:
        if key not in _cares:
            _cares[key] = RequestLimiter(endpoint.row.label, at_once, per_minute)
        return _cares[key]


def call_with_limits(endpoint: Endpoint, service: Service, call: Callable[[], T]) -> T:
    """The result of ``call`` within the bounds of its provider, tried again while that may help.

    Raises ProviderError.
    """
    with limited_call(endpoint, service, call) as result:
        return result


@contextmanager
def limited_call(endpoint: Endpoint, service: Service, call: Callable[[], T]) -> Iterator[T]:
    """The same for what goes on after the call, as a stream does: its slot is free at the end."""
    care, started, outcome = care_of(endpoint, service), time.perf_counter(), "failed"
    try:
        with care.turn(endpoint.retry_policy.timeout):
            yield with_retries(lambda: care.call_paced(call), endpoint.retry_policy)
        outcome = "answered"
    except ProviderRejected:
        outcome = "refused"
        raise
    except GeneratorExit:  # the caller has heard enough
        outcome = "left"
        raise
    finally:
        labels = {"provider": endpoint.row.name, "service": service, "outcome": outcome}
        telemetry.note_work("provider", time.perf_counter() - started, **labels)
