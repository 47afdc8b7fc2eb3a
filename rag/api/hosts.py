"""The names by which browsers may address the server.

A page of another site can have its own name resolved to this machine after it was loaded (DNS
rebinding). For the browser, that page and the dashboard are then one site. Where nobody signs in,
only the header ``Host`` tells them apart.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Scope

_VARIABLE = "TOUCHSTONE_HOSTS"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY = "*"


@dataclass(frozen=True)
class Hosts:
    """The accepted host names. With ``addresses``, a browser may also use any IP address: no name
    was resolved then."""

    names: frozenset[str]
    addresses: bool = False

    @classmethod
    def of(cls, listed: Collection[str], listens: str | None, *, signs_in: bool) -> Hosts:
        """Return the hosts of a server that ``listens`` on an address, None for all of them.

        ``listed`` are the names that the administrator gave, in lower case.
        """
        local = _is_loopback(listens or "")
        if signs_in or not (listed or local):
            return cls(frozenset({_ANY}))
        return cls(_LOCAL.union(listed), addresses=not local)

    def accept(self, scope: Scope) -> bool:
        """Whether a request or a WebSocket is for this server."""
        try:
            name = urlsplit(f"//{_host(scope)}").hostname or ""
        except ValueError:
            name = ""
        return _ANY in self.names or name in self.names or (self.addresses and _is_address(name))


def misdirected(scope: Scope) -> Response:
    """Return the answer to a request for another host: status 421."""
    detail = f"This server does not answer requests for the host {_host(scope)!r}."
    hint = f"If people reach it by that name, add the name to the variable {_VARIABLE}."
    if "text/html" in Headers(scope=scope).get("accept", ""):
        return PlainTextResponse(f"{detail} {hint}", 421)
    from rag.api import problems  # with FastAPI, which the first page does not wait for

    return problems.answer(scope["path"], problems.problem(421, detail, hint))


def _host(scope: Scope) -> str:
    return Headers(scope=scope).get("host", "")


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
