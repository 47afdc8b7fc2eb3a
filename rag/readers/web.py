"""Fetches a file from a web address without becoming a way into the network it runs in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.errors import BlockedAddress, InvalidInput, UnreadableDocument
from rag.network.requests import (
    FetchLimits,
    TooLarge,
    body_of,
    checked_client,
    checked_url,
)
from rag.readers.page_names import name_for

if TYPE_CHECKING:
    import httpx

_AGENT = "Touchstone (reads pages that its users name)"
_ACCEPT = "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched file or page; ``name`` has an extension that ``read`` supports.

    ``requested_url`` is the requested address. ``url`` is the address after redirects.
    """

    data: bytes
    requested_url: str
    url: str
    name: str
    content_type: str


_DEFAULT = FetchLimits()


def fetch(url: str, *, allow_private: bool, limits: FetchLimits = _DEFAULT) -> Fetched:
    """Get ``url`` over http or https, following redirects; every address on the way is checked.

    Raises BlockedAddress, also for one that holds credentials, or UnreadableDocument: unreachable,
    timed_out, too_large, unsupported_type, empty.
    """
    import httpx

    deadline = time.monotonic() + limits.seconds
    requested = target = _parse(url)
    with checked_client(
        {"User-Agent": _AGENT, "Accept": _ACCEPT},
        allow_private=allow_private,
        deadline=deadline,
        timeout=limits.timeout,
    ) as client:
        for _ in range(limits.redirects + 1):
            with _translated(target), client.stream("GET", target) as response:
                if not response.has_redirect_location:
                    return _receive(requested, response, limits)
                target = _parse(str(httpx.URL(target).join(response.headers["location"])))
    raise _unreachable(f"{url} redirects more than {limits.redirects} times")


def _parse(url: str) -> str:
    try:
        return checked_url(url)
    except InvalidInput as error:
        raise _unreachable(error.message) from error


@contextmanager
def _translated(url: str) -> Iterator[None]:
    import httpcore
    import httpx

    try:
        yield
    except BlockedAddress as error:
        hint = f"{error.hint} You can also save the page and add it as a file."
        raise BlockedAddress(error.message, hint) from error
    except (httpx.TimeoutException, httpcore.TimeoutException) as error:
        raise UnreadableDocument(
            f"{url} did not answer in time.",
            "Try again later, or download it yourself and add the file.",
            reason="timed_out",
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise _unreachable(f"{url} cannot be reached ({error or type(error).__name__})") from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise _unreachable(f"{url} cannot be reached ({error or type(error).__name__})") from error


def _receive(requested: str, response: httpx.Response, limits: FetchLimits) -> Fetched:
    url = str(response.url)
    if not response.is_success:
        raise _unreachable(f"{url} answers {response.status_code} {response.reason_phrase}")
    content_type = response.headers.get("content-type", "")
    name = name_for(requested, content_type, response.headers.get("content-disposition", ""), url)
    try:
        data = body_of(response, limits.max_bytes)
    except TooLarge as error:
        raise _too_large(url, limits) from error
    if not data:
        raise UnreadableDocument(f"{url} is empty.", "Check the address.", reason="empty")
    return Fetched(data, requested, url, name, content_type)


def _too_large(url: str, limits: FetchLimits) -> UnreadableDocument:
    return UnreadableDocument(
        f"{url} is larger than {limits.max_bytes / 1e6:,.1f} MB.",
        "Download it yourself, split it, and add the parts.",
        reason="too_large",
    )


def _unreachable(what: str) -> UnreadableDocument:
    return UnreadableDocument(
        f"{what}.",
        "Check the address in your browser. If it opens there, download it and add the file.",
        reason="unreachable",
    )
