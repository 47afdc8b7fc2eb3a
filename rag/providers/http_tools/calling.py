"""One question to a tool: the request, guarded as every request to a named address is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

from rag.errors import (
    InvalidInput,
    ProviderMisbehaved,
    ProviderRejected,
    ProviderUnavailable,
)
from rag.network.requests import TooLarge, body_of, checked_client, checked_url, failures
from rag.providers.http_tools.definition import (
    QUESTION,
    SECRET,
    HttpTool,
    ToolResult,
    parse_results,
)

if TYPE_CHECKING:
    import httpx

Answer = TypeVar("Answer")

MOST_BYTES = 5_000_000
_REDIRECTS = 3
_AGENT = "Touchstone (asks services that its users name)"
_REPEATED = {307, 308}  # redirects that keep method and body


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """``results`` in the service's order; ``empty`` counts those that had no text."""

    results: tuple[ToolResult, ...]
    empty: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request; ``headers`` go to the first server only."""

    method: str
    url: str
    content: bytes | None
    headers: Mapping[str, str] = field(default_factory=dict)


def call(
    tool: HttpTool, question: str, variables: Mapping[str, str], *, allow_private: bool
) -> ToolOutcome:
    """Ask a tool. ``variables`` has the environment variables that its headers name.

    Raises BlockedAddress, and ProviderError: unavailable (refused, timed out, 5xx), rejected (4xx,
    a variable is not set), misbehaved (no JSON, nothing at its paths, too large).
    """
    started = time.monotonic()
    data = answer_of(tool, question, variables, allow_private=allow_private)
    results, empty = parse_results(tool, data)
    return ToolOutcome(tuple(results), empty, time.monotonic() - started)


def answer_of(
    tool: HttpTool, question: str, variables: Mapping[str, str], *, allow_private: bool
) -> bytes:
    """The body of the answer. Raises what ``call`` raises, except for the contents of the body."""
    secrets = secret_headers(tool, variables)
    request = Exchange(tool.method, url_for(tool, question), body_for(tool, question))
    plain = {"User-Agent": _AGENT, "Accept": "application/json"}
    deadline = time.monotonic() + tool.seconds
    with checked_client(
        plain, allow_private=allow_private, deadline=deadline, timeout=tool.seconds
    ) as client:
        return exchange(client, tool, request, secrets, partial(_received, tool))


def url_for(tool: HttpTool, question: str) -> str:
    """The address with the question as one percent-encoded piece (RFC 3986).

    Raises ProviderRejected for a piece of the path that would mean another one: no encoding keeps
    servers from taking dots for a step up.
    """
    piece = quote(question, safe="", errors="replace")
    for part in urlsplit(tool.url).path.split("/"):
        if QUESTION in part and part.replace(QUESTION, piece) in (".", ".."):
            raise ProviderRejected(
                f"The {tool.label} needs a question with words.", "Ask in words."
            )
    return tool.url.replace(QUESTION, piece)


def body_for(tool: HttpTool, question: str) -> bytes | None:
    """The body as JSON; the question goes into its strings, so no sign of it is syntax."""
    if tool.method != "POST":
        return None
    content = json.loads(tool.body) if tool.body else {}
    return json.dumps(_filled(content, question)).encode()


def _filled(content: Any, question: str) -> Any:
    if isinstance(content, dict):
        return {name: _filled(value, question) for name, value in content.items()}
    if isinstance(content, list):
        return [_filled(value, question) for value in content]
    return content.replace(QUESTION, question) if isinstance(content, str) else content


def secret_headers(tool: HttpTool, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a tool with their values. Raises ProviderRejected for unset ones."""
    headers = {}
    for name, value in tool.headers.items():
        match = SECRET.fullmatch(value)
        if match is None:  # a field of a user
            headers[name] = value
            continue
        scheme, variable = match.groups()
        secret = variables.get(variable, "")
        if not secret:
            raise ProviderRejected(
                f"The {tool.label} needs {variable}, which is not set.",
                "Set it in the environment of the server and start it again.",
            )
        if not (secret.isascii() and secret.isprintable()):
            raise ProviderRejected(
                f"{variable} has characters that are not allowed in a header.",
                "Set it again without them.",
            )
        headers[name] = f"{scheme} {secret}" if scheme else secret
    return headers


def exchange(
    client: httpx.Client,
    tool: HttpTool,
    request: Exchange,
    secrets: Mapping[str, str],
    read: Callable[[httpx.Response], Answer],
) -> Answer:
    """Send a request, follow its redirects, and read the last response.

    What is secret goes to the first server only. Raises what ``call`` and ``read`` raise.
    """
    import httpx

    first = httpx.URL(request.url)
    for _ in range(_REDIRECTS + 1):
        target = httpx.URL(request.url)
        same = (target.scheme, target.host, target.port) == (first.scheme, first.host, first.port)
        headers = {**secrets, **request.headers} if same else {}
        if request.content is not None:
            headers["Content-Type"] = "application/json"
        with (
            _translated(tool),
            client.stream(
                request.method, request.url, content=request.content, headers=headers
            ) as response,
        ):
            if not response.has_redirect_location:
                return read(response)
            request = _redirected(request, response)
    raise ProviderMisbehaved(
        f"The {tool.label} redirects more than {_REDIRECTS} times.", "Check its address."
    )


def _redirected(request: Exchange, response: httpx.Response) -> Exchange:
    url = checked_url(str(response.url.join(response.headers["location"])))
    if response.status_code in _REPEATED:
        return replace(request, url=url)
    return Exchange("GET", url, None)


def _received(tool: HttpTool, response: httpx.Response) -> bytes:
    checked_status(tool, response)
    return read_within(tool, response, MOST_BYTES, ("text/plain",))


def checked_status(tool: HttpTool, response: httpx.Response) -> None:
    """Raise ProviderUnavailable or ProviderRejected for a status other than success."""
    status = response.status_code
    if not response.is_success:
        message = f"The {tool.label} answers {status} {response.reason_phrase[:80]}".rstrip() + "."
        if status >= 500 or status == 429:
            wait = _seconds(response.headers.get("retry-after", ""))
            raise ProviderUnavailable(message, "Try again later.", wait)
        raise ProviderRejected(message, "Check its address, its headers and its body.")


def read_within(
    tool: HttpTool, response: httpx.Response, most: int, media_types: Collection[str]
) -> bytes:
    """The body of a response with JSON, or of one of these types. Raises ProviderMisbehaved."""
    import httpx

    kind_of = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind_of and not (kind_of.endswith(("/json", "+json")) or kind_of in media_types):
        raise ProviderMisbehaved(
            f"The {tool.label} returned {kind_of[:80]} instead of JSON.", "Check its address."
        )
    try:
        return body_of(response, most)
    except TooLarge as error:
        raise ProviderMisbehaved(
            f"The response of the {tool.label} is larger than {MOST_BYTES / 1e6:.0f} MB.",
            "Request fewer or shorter results.",
        ) from error
    except httpx.DecodingError as error:
        raise ProviderMisbehaved(
            f"The answer of the {tool.label} cannot be unpacked ({error}).",
            "Make it respond without compression, or with gzip once.",
        ) from error


def _seconds(header: str) -> float | None:
    """A ``Retry-After`` header in seconds; None for its other form, a date."""
    return float(header) if header.isdecimal() and len(header) < 10 else None


@contextmanager
def _translated(tool: HttpTool) -> Iterator[None]:
    import httpcore
    import httpx

    try:
        yield
    except (httpx.TimeoutException, httpcore.TimeoutException) as error:
        raise ProviderUnavailable(
            f"The {tool.label} did not answer within {tool.seconds:g} s.",
            "Try again later, or allow more time.",
        ) from error
    except failures(InvalidInput) as error:  # or a redirect to what is no address
        raise ProviderUnavailable(
            f"The {tool.label} cannot be reached ({type(error).__name__}).",
            "Check its address, and whether it runs.",
        ) from error
