"""Requests to addresses that users name, restricted to public networks at the connection.

Restriction of requests to public network addresses, enforced at the connection.

A name is resolved, every address it stands for is checked, and the connection goes to one of
exactly these addresses. With a check first and a connection by name later, a hostile name server
could answer differently the second time (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from rag.errors import BlockedAddress, InvalidInput

if TYPE_CHECKING:
    import httpx


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an IP address is a globally routable unicast one.

    6to4, Teredo and NAT64 addresses carry IPv4 addresses, which are judged too. IPv4-mapped ones
    are never public: no name server has a reason to give them. Nor are the site-local ones of old,
    which Python calls global.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv4Address):
        return _is_public(ip)
    if ip in _NAT64:
        return _is_public(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
    carried = [ip.sixtofour, *(ip.teredo or ())]
    inner = all(_is_public(address) for address in carried if address is not None)
    local = ip.ipv4_mapped is not None or ip.is_site_local
    return not local and inner and _is_public(ip)


def _is_public(ip: _Address) -> bool:
    return ip.is_global and not (
        ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_loopback
    )


def resolve(host: str, port: int, *, allow_private: bool) -> list[str]:
    """Addresses of ``host``. Raises BlockedAddress if any of them is not public, OSError."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    if not allow_private and not all(map(is_public, addresses)):
        raise BlockedAddress(
            f"“{host}” is an address inside this computer or its network. Requests to such "
            "addresses are off.",
            "If you trust everybody who uses this server, set TOUCHSTONE_ALLOW_PRIVATE_URLS=1 in "
            "its environment and start it again.",
        )
    return addresses


class CheckedBackend(httpcore.NetworkBackend):
    """A network backend that connects to checked addresses only, and lets no operation last
    beyond ``deadline``.

    ``deadline`` is a time.monotonic() value. TLS and the Host header keep the name of the URL.
    """

    def __init__(self, *, allow_private: bool, deadline: float) -> None:
        self._allow_private = allow_private
        self._deadline = deadline
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers. Raises httpcore.ConnectError, ..."""
        try:
            addresses = resolve(host, port, allow_private=self._allow_private)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"no address for {host}") from error
        failure: Exception = httpcore.ConnectError(f"no address for {host}")
        for address in addresses:
            try:
                limited = remaining_seconds(self._deadline, timeout)
                stream = self._plain.connect_tcp(address, port, limited, None, socket_options)
                return _TimedStream(stream, self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


def remaining_seconds(deadline: float, timeout: float | None) -> float:
    """Seconds for the next operation. Raises httpcore.ReadTimeout when none are left."""
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise httpcore.ReadTimeout("out of time")
    return remaining if timeout is None else min(timeout, remaining)


class _TimedStream(httpcore.NetworkStream):
    """A server that sends a byte now and then passes any timeout per read; not this one."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, remaining_seconds(self._deadline, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, remaining_seconds(self._deadline, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        limited = remaining_seconds(self._deadline, timeout)
        secure = self._stream.start_tls(ssl_context, server_hostname, limited)
        return _TimedStream(secure, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class CheckedTransport(httpx.BaseTransport):
    """A transport that sends requests through a CheckedBackend. Raises what that raises,
    untranslated.
    """

    def __init__(self, *, allow_private: bool, deadline: float) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            network_backend=CheckedBackend(allow_private=allow_private, deadline=deadline),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One request, one response; redirects are the caller's business."""
        answer = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Stream(answer),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class _Stream(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


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
