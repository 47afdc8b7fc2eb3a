"""Requests to user-supplied addresses: checks, client and limits."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.errors import BlockedAddress, InvalidInput

if TYPE_CHECKING:
    import httpx

_CREDENTIALS = re.compile(r"\s*+(?:[a-z][a-z0-9+.-]*+:)?[/\\]*+[^/?#@]*+@", re.IGNORECASE)
_STEP = 65_536  # bytes unpacked at a time


class TooLarge(Exception):
    """A body is longer than allowed, whatever its header said."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Bounds on one fetch. ``seconds`` is for all of it, ``timeout`` for one silent stretch."""

    max_bytes: int = 50_000_000
    seconds: float = 60.0
    timeout: float = 15.0
    redirects: int = 5


def refuse_credentials(url: str) -> None:
    """Raise BlockedAddress, which does not repeat it, for an address with a name or password."""
    if _CREDENTIALS.match(url):
        raise BlockedAddress(
            "An address with a user name or password is not fetched, because it would be stored.",
            "Remove the part before the @, or download the file yourself and add it.",
        )


def checked_url(url: str) -> str:
    """An http or https address without its fragment. Raises BlockedAddress, InvalidInput."""
    import httpx

    refuse_credentials(url)
    try:
        parsed = httpx.URL(url.strip())
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidInput(f"“{url[:200]}” is not a web address") from error
    if "://" not in url:
        raise BlockedAddress(
            f"“{url[:200]}” is not a full web address.",
            "Give the full address, starting with https:// or http://.",
        )
    if parsed.scheme not in ("http", "https"):
        raise BlockedAddress(
            f"Only http and https addresses are fetched, not “{parsed.scheme or url[:50]}”.",
            "Give the full address, starting with https://.",
        )
    if not parsed.host:
        raise InvalidInput(f"“{url[:200]}” names no server")
    return str(parsed.copy_with(fragment=None))


@contextmanager
def checked_client(
    headers: Mapping[str, str], *, allow_private: bool, deadline: float, timeout: float
) -> Iterator[httpx.Client]:
    """A client that connects to checked addresses only; redirects are the caller's business.

    ``deadline`` is a time.monotonic() value. Raises what httpx, httpcore and the check raise.
    """
    import httpx

    from rag.network.transport import CheckedTransport

    headers = {"Accept-Encoding": "gzip", **headers}
    with (
        CheckedTransport(allow_private=allow_private, deadline=deadline) as transport,
        httpx.Client(
            transport=transport, headers=headers, timeout=timeout, trust_env=False
        ) as client,
    ):
        yield client


def body_of(response: httpx.Response, max_bytes: int) -> bytes:
    """The unpacked body. Raises TooLarge as soon as it is known to be, httpx.DecodingError."""
    if _declared_length(response) > max_bytes:
        raise TooLarge
    data = bytearray()
    for block in unpacked_blocks(response):
        data += block
        if len(data) > max_bytes:
            raise TooLarge
    return bytes(data)


def unpacked_blocks(response: httpx.Response) -> Iterator[bytes]:
    """The body in small blocks: httpx itself unpacks any number of layers, each block at once."""
    import httpx

    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing in ("", "identity"):
        yield from response.iter_raw()
    elif packing in ("gzip", "x-gzip"):
        unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            for packed in response.iter_raw():
                while packed and not unpack.eof:
                    yield unpack.decompress(packed, _STEP)
                    packed = unpack.unconsumed_tail
            yield unpack.flush()
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error
    else:
        raise httpx.DecodingError(f"Content-Encoding: {packing[:80]} is not read here")


def _declared_length(response: httpx.Response) -> int:
    length = response.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 0


def failures(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """The exceptions of a request without an answer, those of time-outs among them, and others."""
    import httpcore
    import httpx

    return (
        *(httpx.HTTPError, httpx.InvalidURL, httpx.StreamError),
        *(httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException),
        *others,
    )
