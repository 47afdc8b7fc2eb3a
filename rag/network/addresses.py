"""Restriction of requests to public network addresses, enforced at the connection.

A name is resolved, every address it stands for is checked, and the connection goes to one of
exactly these addresses. With a check first and a connection by name later, a hostile name server
could answer differently the second time (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore

from rag.errors import BlockedAddress

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
