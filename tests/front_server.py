"""A small HTTP server in front of another one: it can be busy, hold back, and see who hangs up."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from threading import Event

import httpx

from tests.servers import http_server

_WORD = re.compile(rb'"content": ?"[^"]')  # of a reply in pieces, in either wire format


@dataclass
class Front:
    """A reverse proxy that refuses the first ``busy`` requests and forwards the others.

    It refuses a request with status 429 and the header Retry-After: ``retry_after`` seconds. Until
    ``open`` is set, it pauses a reply after the first word. ``asked`` are the times of the
    requests, on the clock of ``time.monotonic``, and ``bodies`` are their bodies. ``hung_up`` is
    set when a client disconnects before the end of a reply.
    """

    url: str
    busy: int = 0
    retry_after: int = 1
    open: Event = field(default_factory=Event)
    hung_up: Event = field(default_factory=Event)
    asked: list[float] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)


@contextmanager
def in_front_of(upstream: str) -> Iterator[Front]:
    front = Front("")
    front.open.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            front.asked.append(time.monotonic())
            front.bodies.append(body.decode())
            if front.busy:
                front.busy -= 1
                self._refuse()
                return
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

        def _refuse(self) -> None:
            said = b'{"error": {"message": "slow down", "type": "rate_limit"}}'
            self.send_response(429)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.send_header("Retry-After", str(front.retry_after))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    with http_server(Handler) as front.url:
        try:
            yield front
        finally:
            front.open.set()
