"""JSON that is sent to an address, under the same checks as every request."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from rag.errors import InvalidInput, ProviderRejected, ProviderUnavailable, TouchstoneError
from rag.network.requests import checked_client, checked_url

SECONDS = 10.0
_AGENT = "Touchstone (reports to an address of its administrator)"


def post_json(url: str, content: Mapping[str, Any], *, allow_private: bool) -> None:
    """Send JSON; redirects are not followed, and messages name the server without the address.

    Raises InvalidInput, ProviderUnavailable, ProviderRejected.
    """
    import httpcore
    import httpx

    try:
        address = checked_url(url)
    except TouchstoneError:  # its message has the address, which may be a secret
        raise InvalidInput(
            "The address to send to is not a web address.",
            "Give the full address, starting with https:// or http://.",
        ) from None
    host = httpx.URL(address).host
    deadline = time.monotonic() + SECONDS
    body = json.dumps(content).encode()
    headers = {"User-Agent": _AGENT, "Content-Type": "application/json"}
    try:
        with (
            checked_client(
                headers, allow_private=allow_private, deadline=deadline, timeout=SECONDS
            ) as client,
            client.stream("POST", address, content=body) as response,
        ):
            status = response.status_code
    except (
        httpx.HTTPError,
        httpx.StreamError,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.TimeoutException,
    ) as error:
        raise ProviderUnavailable(
            f"{host} cannot be reached ({type(error).__name__}).", "Check whether it runs."
        ) from error
    if not 200 <= status < 300:
        raise ProviderRejected(f"{host} answers {status}.", "Check the address.")
