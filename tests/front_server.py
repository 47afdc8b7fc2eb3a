"""A small HTTP server in front of another one: it can hold back, and see who hangs up."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

import httpx

from tests.servers import Handler, http_server

_WORD = re.compile(rb'"content": ?"[^"]')  # of a reply in pieces, in either wire format


@dataclass
class Front:
    """A reverse proxy.

    Until ``open`` is set, it pauses a reply after the first word. ``bodies`` are those of the
    requests. ``hung_up`` is set when a client disconnects before the end of a reply.
    """

    url: str
    open: Event = field(default_factory=Event)
    hung_up: Event = field(default_factory=Event)
    bodies: list[str] = field(default_factory=list)


@contextmanager
def in_front_of(upstream: str) -> Iterator[Front]:
    front = Front("")
    front.open.set()

    class Proxy(Handler):
        def respond(self) -> None:
            body = self.body()
            front.bodies.append(body.decode())
            kind = {"Content-Type": self.headers["Content-Type"]}
            with httpx.stream(
                "POST", upstream + self.path, content=body, headers=kind, timeout=120
            ) as reply:
                self.send_response(reply.status_code)
                self.send_header("Content-Type", reply.headers["Content-Type"])
                self.send_header("Connection", "close")
                self.end_headers()
                self._pass_on(reply)

        def _pass_on(self, reply: httpx.Response) -> None:
            try:
                for piece in reply.iter_raw():
                    self.wfile.write(piece)
                    if _WORD.search(piece):
                        self._hold()
            except OSError:
                front.hung_up.set()

        def _hold(self) -> None:
            """Waits until it is open, or nobody reads any more."""
            self.connection.settimeout(0.05)
            while not front.open.is_set():
                try:
                    if not self.connection.recv(1):
                        raise ConnectionResetError
                except TimeoutError:
                    continue
            self.connection.settimeout(None)

    with http_server(Proxy) as front.url:
        try:
            yield front
        finally:
            front.open.set()
