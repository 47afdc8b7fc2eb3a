"""Plain JSON over HTTP, for services that no package here speaks to.

Tokens of Google Cloud come by the credentials that its own tools find on this machine.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag.errors import ProviderRejected, ProviderUnavailable
from rag.providers.endpoint import CONNECT_SECONDS, Endpoint, import_required, require_configured

if TYPE_CHECKING:
    import httpx

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_lock = threading.Lock()
_credentials: list[Any] = []


def google_token() -> str:
    """A token that is valid now; fetched anew when it runs out.

    Raises MissingDependency without the package google-auth, ProviderRejected without credentials,
    ProviderUnavailable.
    """
    auth, web = import_required("google.auth"), import_required("google.auth.transport.requests")
    failures = import_required("google.auth.exceptions")
    with _lock:
        try:
            if not _credentials:
                _credentials.append(auth.default(scopes=[_SCOPE])[0])
            credentials = _credentials[0]
            if not credentials.valid:
                credentials.refresh(web.Request())
        except failures.TransportError as error:
            raise ProviderUnavailable(
                "Google's sign-in does not answer.", "Check the connection to the internet."
            ) from error
        except failures.GoogleAuthError as error:
            raise ProviderRejected(
                "There are no credentials for Google Cloud.",
                "Run: gcloud auth application-default login, or name a service account's file in "
                "GOOGLE_APPLICATION_CREDENTIALS.",
            ) from error
        return str(credentials.token)


LARGEST_REPLY = 64_000_000
"""Bytes: 64 vectors of 4,096 dimensions take about 6 MB, and some services send texts back."""


def post(
    endpoint: Endpoint,
    path: str,
    request: Mapping[str, Any],
    model: str,
    headers: Mapping[str, str] | None = None,
    largest: int = LARGEST_REPLY,
) -> Any:
    """Send ``request`` to ``path`` of the service's address, once, and return the reply.

    The key is sent as a bearer token unless ``headers`` are given. Raises ProviderError.
    """
    import httpx

    require_configured(endpoint)
    seconds = endpoint.retry_policy.timeout
    timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
    base = endpoint.base_url.rstrip("/")
    url = base if base.endswith(path) else f"{base}{path}"
    bearer = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    try:
        with (
            httpx.Client(timeout=timeout) as client,
            client.stream("POST", url, json=request, headers=headers or bearer) as reply,
        ):
            body = _read(endpoint, reply, seconds, largest)
            _raise_for_status(endpoint, reply, body, model)
    except httpx.TimeoutException as error:
        raise endpoint.timed_out() from endpoint.cause(error)
    except httpx.ConnectError as error:
        raise endpoint.unreachable() from endpoint.cause(error)
    except httpx.TransportError as error:
        raise endpoint.broke_off() from endpoint.cause(error)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise endpoint.misbehaved("something that is not HTTP") from endpoint.cause(error)
    try:
        return json.loads(body)
    except ValueError as error:
        raise endpoint.misbehaved("something that is not JSON") from error


def _read(endpoint: Endpoint, reply: httpx.Response, timeout: float, largest: int) -> bytes:
    """The body; one that drips is given up on after the same time as one that is silent."""
    body, end = bytearray(), time.monotonic() + timeout
    for piece in reply.iter_bytes():
        body += piece
        if len(body) > largest:
            raise endpoint.misbehaved("more than such a reply can be")
        if time.monotonic() > end:
            raise endpoint.timed_out()
    return bytes(body)


def _raise_for_status(endpoint: Endpoint, reply: httpx.Response, body: bytes, model: str) -> None:
    if reply.is_success:
        return
    if reply.is_redirect:
        raise endpoint.misbehaved("a redirection")
    wait = reply.headers.get("retry-after")
    raise endpoint.status(reply.status_code, body.decode("utf-8", "replace"), model, wait)
