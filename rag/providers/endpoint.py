"""Endpoints and clients of remote providers, and the translation of failures into messages."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Protocol, TypeVar, cast
from urllib.parse import urlsplit

from rag.errors import (
    ContextOverflow,
    InvalidRecipe,
    MissingDependency,
    ProviderError,
    ProviderMisbehaved,
    ProviderRejected,
    ProviderUnavailable,
)
from rag.providers.table import ProviderRow, Variables

T = TypeVar("T")

LONGEST_WAIT = 60.0
"""Seconds. A server that asks for more is given up on, and the user told."""
CONNECT_SECONDS = 10.0
BATCH_CHARACTERS = 200_000
"""About 50,000 tokens: hosted services refuse requests of more than a few hundred thousand."""
AT_ONCE = 8
"""Requests to one service of a provider that may be under way, where nobody says otherwise."""
LONGEST_DETAIL = 300
"""Characters of a server's own words that are passed on."""


_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length"
    r"|exceeds? the (?:available |model'?s )?(?:maximum )?context|exceeds? (?:maximum )?context"
    r"|(?:prompt|input|request) is too (?:long|large)|context (?:window|size|length) exceeded"
    r"|exceeded (?:the )?max(?:imum)? context",
    re.IGNORECASE,
)
"""How servers say that a prompt is too long: OpenAI, llama.cpp, Ollama, vLLM and their kin."""
_TOKENS = re.compile(r"(?<!\d)(?<!\d,)(\d[\d,]*+) tokens")
_COUNT = re.compile(r"\d[\d,]{3,}")
_CODE = re.compile(r"Error code: ([45]\d\d)\b")
"""The form of a status inside a reply: in the words of the openai package, by those between."""


_EXTRAS = {"boto3": "-bedrock", "botocore": "-bedrock", "google": "-google", "requests": "-google"}
"""Packages that are not in requirements.txt, and the end of the name of the file that has them."""


class Busy(ProviderUnavailable):
    """A failure that may pass."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The timeout of a request, the number of attempts, and the first wait; times in seconds."""

    timeout: float = 60.0
    tries: int = 4
    first_wait: float = 0.5


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's row, resolved against the settings. The key is left out of ``repr``."""

    row: ProviderRow
    base_url: str
    key: str = field(repr=False)
    api_version: str = ""
    lacks: str = ""
    region: str = ""
    at_once: int = AT_ONCE
    per_minute: int = 0
    retry_policy: RetryPolicy = RetryPolicy()

    @property
    def origin(self) -> str:
        """Scheme, host and port: what may be shown, whatever else the address holds.

        "" where a part of the address is not set.
        """
        if self.lacks:
            return ""
        parts = urlsplit(self.base_url if "://" in self.base_url else f"//{self.base_url}")
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}" if parts.scheme else host

    @property
    def missing(self) -> str:
        """The variable that must be set before it can be used, or ""."""
        row = self.row
        if row.key_variable and not row.key_optional and not self.key:
            return row.key_variable
        return self.lacks or (row.base_url_variable if not self.base_url else "")

    def cause(self, error: Exception) -> Exception | None:
        """``error`` for ``raise ... from``, or None where its text would give the key away."""
        return None if self.key and self.key in f"{error!r} {error}" else error

    def unreachable(self) -> ProviderError:
        """The error for a refused or broken connection."""
        hint = f"Check that {self.origin} is right and can be reached from here."
        if self.row.wire == "ollama":
            where = self.row.base_url_variable
            hint = f"Start it with: ollama serve. Its address is read from {where}."
        return Busy(f"{self.row.label} does not answer at {self.origin}.", hint)

    def without_credentials(self) -> ProviderError:
        """The error where a cloud's own package finds nothing to sign in with."""
        return ProviderRejected(
            f"There are no credentials for {self.row.label}.",
            "Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
        )

    def timed_out(self) -> ProviderError:
        """The error for an answer that did not come in time."""
        seconds = f"{self.retry_policy.timeout:g} s"
        return Busy(
            f"{self.row.label} did not answer within {seconds}.",
            "The server may be loading a model or be overloaded. Try again.",
        )

    def broke_off(self, detail: str = "") -> ProviderError:
        """The error for a reply that ended in the middle, with what the server said of it."""
        quoted = f" It said: {self._clean(detail)}" if detail.strip() else ""
        return ProviderUnavailable(
            f"{self.row.label} broke off in the middle of its reply.{quoted}", "Ask again."
        )

    def within(self, detail: str, model: str, *, begun: bool) -> ProviderError:
        """The error for one that is inside a reply whose status was good.

        ``begun`` says that some of the reply came before it.
        """
        if begun:
            return self.broke_off(detail)
        code = _CODE.search(detail)
        if code or _OVERFLOW.search(detail):
            return self.status(int(code[1]) if code else 400, detail, model)
        return self.misbehaved(f"an error: {detail}")

    def misbehaved(self, what: str) -> ProviderError:
        """The error for an answer that is not what was asked for."""
        return ProviderMisbehaved(
            f"{self.row.label} answered {self._clean(what).rstrip('.')}.",
            f"Check that {self.origin} is the right address and the model the right kind.",
        )

    def status(
        self, code: int, detail: str, model: str, retry_after: str | None = None
    ) -> ProviderError:
        """The error for an HTTP status. ``retry_after`` is that header."""
        quoted = f" It said: {self._clean(detail)}" if detail.strip() else ""
        message = f"{self.row.label} answered {code} for model {model!r}.{quoted}"
        if code in (400, 413, 422, 500) and _OVERFLOW.search(detail):
            # The limit that a server tells over what it was sent; 0 where it does not tell both
            matches = _TOKENS.findall(detail)
            matches = matches if len(matches) > 1 else _COUNT.findall(detail)
            counts = [int(match.replace(",", "")) for match in matches]
            least, most = min(counts, default=0), max(counts, default=0)
            return ContextOverflow(
                message,
                "Lower answer.context_tokens or top-k, or give the model a larger context.",
                share=(least / most if least < most else 0.0),
            )
        if code in (408, 409, 425, 429) and "insufficient_quota" not in detail:
            return Busy(message, "Wait a little, or use another key.", _seconds(retry_after))
        if code >= 500:
            return Busy(
                message, "The problem is at the provider. Try again.", _seconds(retry_after)
            )
        return ProviderRejected(message, self._advice(code, model))

    def _advice(self, code: int, model: str) -> str:
        if code in (401, 403) and self.row.key_variable:
            return f"Check the key in {self.row.key_variable}."
        if code == 429:
            return "The quota of this key is used up."
        if code == 404 and self.row.wire == "ollama":
            return f"Fetch the model with: ollama pull {model}"
        return "Check the name of the model and the address."

    def _clean(self, text: str) -> str:
        text = " ".join(text.split())
        if self.key:
            text = text.replace(self.key, "***")
        return text if len(text) <= LONGEST_DETAIL else text[:LONGEST_DETAIL] + "…"


def resolve(row: ProviderRow, settings: Variables, retry_policy: RetryPolicy) -> Endpoint:
    """The endpoint of a row; whether its key is there is checked when it is used."""
    configured = settings.variable(row.base_url_variable) if row.base_url_variable else None
    parts = {name: settings.variable(name) or value for name, value in row.address.items()}
    address = row.base_url.format(**parts) if parts else row.base_url
    lacking = [name for name, value in parts.items() if not value]
    return Endpoint(
        row=row,
        base_url=configured or address or row.local_url,
        lacks=lacking[0] if lacking and not configured else "",
        region=parts.get("AWS_REGION", ""),
        at_once=int(settings.variable(f"TOUCHSTONE_PROVIDER_AT_ONCE[{row.name}]") or AT_ONCE),
        per_minute=int(settings.variable(f"TOUCHSTONE_PROVIDER_RATE[{row.name}]") or 0),
        key=(settings.variable(row.key_variable) or "") if row.key_variable else "",
        api_version=settings.variable("OPENAI_API_VERSION") or "2024-10-21",
        retry_policy=retry_policy,
    )


def require_configured(endpoint: Endpoint) -> None:
    """Raise ProviderRejected, naming the variable, when the key or the address is not set."""
    if endpoint.missing:
        raise ProviderRejected(
            f"{endpoint.row.label} is not set up: {endpoint.missing} is not set.",
            f"Set the environment variable {endpoint.missing} and restart.",
        )


def model_of(row: ProviderRow, model: str, settings: Variables) -> str:
    """``model``, else the one that the settings name. Raises InvalidRecipe without either."""
    configured = settings.variable(row.model_variable) if row.model_variable else None
    if not (model or configured):
        raise InvalidRecipe(
            f"{row.label} needs the name of a model.",
            f"Name it in the recipe, or set {row.model_variable}.",
        )
    return model or str(configured)


def with_retries(
    call: Callable[[], T], retry_policy: RetryPolicy, sleep: Callable[[float], None] = time.sleep
) -> T:
    """The result of ``call``, asked again after failures that may pass.

    Waits double from ``first_wait`` with a random half on top ("full jitter" would sometimes not
    wait at all), or as long as the server asks for. Raises what the last try raised.
    """
    for turn in range(1, retry_policy.tries + 1):
        try:
            return call()
        except Busy as error:
            wait = retry_policy.first_wait * 2 ** (turn - 1) * random.uniform(1.0, 1.5)
            wait = max(wait, error.retry_after or 0.0)
            if turn == retry_policy.tries or wait > LONGEST_WAIT:
                raise
            sleep(wait)
    raise ValueError("patience.tries must be at least 1")


def batches(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    """Runs of at most ``most`` texts and of a bounded length; a longer text makes its own."""
    batch, characters = list[str](), 0
    for text in texts:
        if batch and (len(batch) == most or characters + len(text) > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def import_required(name: str) -> ModuleType:
    """A package, imported when it is first used. Raises MissingDependency."""
    try:
        return import_module(name)
    except ImportError as error:
        extra = _EXTRAS.get(name.partition(".")[0], "")
        raise MissingDependency(
            f"The package {name} is not installed.", f"Run: pip install -r requirements{extra}.txt"
        ) from error


def _seconds(header: str | None) -> float | None:
    """A ``Retry-After`` header in seconds; its other form, a date, counts as not told."""
    try:
        seconds = float(header) if header else None
    except ValueError:
        return None
    return seconds if seconds is not None and seconds >= 0 else None


class Client(Protocol):
    """A client with open connections to a server."""

    def close(self) -> None:
        """Ends them."""


Made = TypeVar("Made", bound=Client)


class Clients:
    """Made when first needed and shared by all models of an endpoint. Safe to share."""

    def __init__(self) -> None:
        self._made: dict[Endpoint, Client] = {}
        self._lock = threading.Lock()

    def of(self, endpoint: Endpoint, make: Callable[[Endpoint], Made]) -> Made:
        """The client of an endpoint; ``make`` is the same for all calls with that endpoint."""
        with self._lock:
            if endpoint not in self._made:
                self._made[endpoint] = make(endpoint)
            return cast("Made", self._made[endpoint])

    def close(self) -> None:
        """Ends all connections."""
        with self._lock:
            for client in self._made.values():
                client.close()
            self._made.clear()
