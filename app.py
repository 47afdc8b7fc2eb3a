"""The server: ``streamlit run app.py`` or ``python app.py``.

The dashboard's entry script is ``pages/frame.py`` and not this file: with a ``pages`` folder beside
the entry script, Streamlit would run a page without its frame when a fresh server is first asked
for that page's address.
"""

import asyncio
import logging
import re
import sys
import threading
from argparse import ArgumentParser
from base64 import b64encode
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st
from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from streamlit.auth_util import get_secrets_auth_section
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState

from pages.components.shell.cookies import (
    COME_IN,
    LEAVE,
    LEFT,
    SHARED,
    SIGN_OUT,
    VISITOR,
    is_key,
    is_secret,
    kept,
    last_base,
    left,
    new_key,
    sets_sign_in,
    sign_in_key,
    visitor_cookie,
)
from rag import Settings, TouchstoneError, write_log_lines
from rag.api.connections import Hosts, Sockets, bound_connections, misdirected
from rag.api.mounting import Api
from rag.api.scarcity import refusal, scarcity

if TYPE_CHECKING:
    from rag import Workspace

log = logging.getLogger(__name__)

SOCKETS = Sockets(BackMsg(rerun_script=ClientState()).SerializeToString())
"""Those of people who signed in: a page runs again when the sign-in ended, and says so."""
SECONDS_TO_FOLLOW = 10.0
SESSION_CHECK = "/_stcore/host-config"
"""Streamlit's page reads it before it opens a session, and shows the text of an error."""
MOVED = {
    "/": ("chat", {}),
    "/upload": ("documents", {}),
    "/tours": ("tour", {}),
    "/arena": ("runs", {"compare": "Arena"}),
    "/review": ("usage", {"usage": "Review"}),
    "/operations": ("usage", {"usage": "Operations"}),
    "/memory": ("usage", {"usage": "Memory"}),
    "/audit": ("settings", {"settings": "Audit log"}),
}
"""Pages by addresses that lead on to them, with the parameters that are added."""
MOST_REFUSED = 100
_REFUSED = set[tuple[str, str]]()
SCRIPT = Path(__file__).resolve().parent / "pages" / "frame.py"
INDEX = Path(st.__file__).parent / "static" / "index.html"
INCOMPLETE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>This link is not complete</title>
<style>
:root { color-scheme: light dark; }
body { max-width: 32rem; margin: 15vh auto; padding: 0 1.5rem; font: 1rem/1.5 system-ui; }
</style>
</head>
<body>
<h1>This link is not complete</h1>
<p>A part of its address is missing or was changed, for example when it was copied from a
message.</p>
<p>Copy the whole link again. If that does not help, ask the person who sent it for a new one.</p>
</body>
</html>
"""


def headers(index: str) -> dict[str, str]:
    """The security headers of every response.

    Of inline scripts, the policy allows only those of Streamlit's own page, ``index``.
    """
    inline = re.findall(r"<script>(.*?)</script>", index, re.DOTALL)
    digests = [b64encode(sha256(script.encode()).digest()).decode() for script in inline]
    allowed = ["'self'", "'unsafe-eval'", "blob:", *(f"'sha256-{digest}'" for digest in digests)]
    policy = {
        "default-src": "'self'",
        # Plotly compiles what it draws by WebGL, such as the map; blobs are Streamlit's components.
        "script-src": " ".join(allowed),
        "style-src": "'self' 'unsafe-inline'",  # Streamlit styles by elements made as it runs
        "font-src": "'self' data:",
        "img-src": "'self' data: blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'self'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN",
        "Referrer-Policy": "same-origin",
    }


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Warm up beside the first visitor, and hand unfinished jobs back at the end."""
    write_log_lines("rag", "pages", __name__)
    limit_uploads()
    threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
    following = asyncio.create_task(_follow_sign_outs())
    yield
    following.cancel()
    from pages.components.shell import warm_up

    warm_up.stop()


def limit_uploads() -> None:
    """Give Streamlit the largest file of the settings, the only place that states it."""
    with suppress(TouchstoneError):  # the page says what is wrong with the settings
        config.set_option("server.maxUploadSize", Settings.from_env().max_upload_mb)


def _warm_up() -> None:
    # Imported here, or the server would answer only after everything is imported.
    from pages.components.shell import warm_up

    warm_up.warm_up()


class Guard:
    """Middleware that adds headers, and hides figures of the server unless they are asked for.

    It refuses requests for other hosts. A browser that is here first gets a key to be known by
    again.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = headers(INDEX.read_text("utf-8"))
        self._shows_metrics = _shows_metrics()
        self._hosts = _hosts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        accepted = self._hosts.accept(scope)
        if scope["type"] == "websocket":  # its messages are many, and none has headers
            if not accepted or _is_elsewhere(scope):
                _note_refusal(scope)
                await send({"type": "websocket.close", "code": 1008})
            elif key := sign_in_key(HTTPConnection(scope).cookies):
                await SOCKETS.run(key, self._app, scope, receive, send)
            else:
                await self._app(scope, receive, send)
            return

        set_cookie, by_tls = _new_visitor(scope), _by_tls(HTTPConnection(scope))
        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                answer = MutableHeaders(scope=message)
                answer.update(self._headers)
                if set_cookie:
                    answer.append("Set-Cookie", set_cookie)
                if by_tls:
                    message["headers"] = [_secured(*header) for header in message["headers"]]
                if any(map(sets_sign_in, answer.getlist("Set-Cookie"))):
                    await _end_sign_in(sign_in_key(HTTPConnection(scope).cookies))
            await send(message)

        try:
            await self._answer(scope, receive, guarded, accepted=accepted)
        except Exception as error:
            lack = scarcity(error)
            if begun or not lack:
                raise
            log.error("%s %r", lack[0], error)
            await refusal(lack)(scope, receive, guarded)

    async def _answer(
        self, scope: Scope, receive: Receive, guarded: Send, *, accepted: bool
    ) -> None:
        hidden = not self._shows_metrics and scope["path"].endswith("/_stcore/metrics")
        if not accepted:
            await misdirected(scope)(scope, receive, guarded)
        elif scope["path"] == SESSION_CHECK and _is_elsewhere(scope):
            refused = JSONResponse(_note_refusal(scope), 421)  # text would not be shown
            await refused(scope, receive, guarded)
        elif hidden:
            await PlainTextResponse("Not found", 404)(scope, receive, guarded)
        elif scope["path"] == SIGN_OUT:
            await _sign_out(self._app, scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)


async def _sign_out(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Let Streamlit end a sign-in, but only if its own page asks: a link of another site is a GET.

    The answer has the address to open next, which may be one of the identity provider.
    """
    if scope["method"] != "POST":
        refused = PlainTextResponse("Use the button to sign out.", 405, {"Allow": "POST"})
        await refused(scope, receive, send)
        return
    if _is_elsewhere(scope):
        await PlainTextResponse("Another site asks to sign out.", 403)(scope, receive, send)
        return

    async def translated(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message["headers"])
            answer = JSONResponse({"location": headers.get("location", "/")})
            for cookie_text in headers.getlist("set-cookie"):
                answer.headers.append("set-cookie", cookie_text)
            await answer(scope, receive, send)

    await app({**scope, "method": "GET"}, receive, translated)


async def _end_sign_in(key: str) -> None:
    """End what a browser has no cookie for any more, in all its tabs."""
    if not key:
        return
    try:
        await to_thread.run_sync(_workspace().access.sign_ins.end, key)
    except TouchstoneError:  # the browser has no cookie any more
        log.warning("A sign-out could not be stored.", exc_info=True)
    SOCKETS.notify([key])


async def _follow_sign_outs() -> None:
    """Let pages know of sign-ins that ended in another process."""
    while True:
        await asyncio.sleep(SECONDS_TO_FOLLOW)
        if keys := SOCKETS.keys():
            with suppress(TouchstoneError):  # asked again soon
                SOCKETS.notify(await to_thread.run_sync(_ended, keys))


def _ended(keys: Collection[str]) -> set[str]:
    return _workspace().access.sign_ins.ended(keys)


def _hosts() -> Hosts:
    try:
        settings = Settings.from_env()
        listed, sign_in = set(settings.hosts), settings.sign_in
    except TouchstoneError:  # the page says what is wrong with the settings
        listed, sign_in = set(), True
    if config.is_manually_set("browser.serverAddress"):
        listed.add(str(config.get_option("browser.serverAddress")).lower())
    signs_in = sign_in and bool(get_secrets_auth_section())
    return Hosts.of(listed, config.get_option("server.address"), signs_in=signs_in)


def _note_refusal(scope: Scope) -> str:
    """Return why a session is refused. Log it once: a browser that is refused asks every second."""
    pair = Headers(scope=scope).get("host", ""), _origin(scope)
    reason = (
        "A session is refused: its Host {!r} and Origin {!r} differ, or the Host is not one of "
        "this server. A proxy has to forward Host with its port (docs/deployment.md)."
    ).format(*pair)
    if pair not in _REFUSED and len(_REFUSED) < MOST_REFUSED:
        _REFUSED.add(pair)
        log.warning(reason)
    return reason


def _origin(scope: Scope) -> str:
    """The address of the page that sends a request, without its path; "" if it does not say."""
    headers = Headers(scope=scope)
    return headers.get("origin") or "/".join(headers.get("referer", "").split("/")[:3])


def _is_elsewhere(scope: Scope) -> bool:
    """Whether a page of another server opens a session: Streamlit would let in every port of this
    machine, and so every program that shows pages on it."""
    origin = _origin(scope)
    place = origin.partition("://")[2]
    if (
        not origin
        or place == Headers(scope=scope).get("host")
        or not config.get_option("server.enableCORS")
    ):
        return False
    listed = {origin_.strip() for origin_ in config.get_option("server.corsAllowedOrigins")}
    named = config.is_manually_set("browser.serverAddress")
    address = config.get_option("browser.serverAddress") if named else None
    return origin not in listed and address not in (place, place.rpartition(":")[0])


def _new_visitor(scope: Scope) -> str:
    """The cookie for a browser that opens a page and has no key yet; else ""."""
    if "text/html" not in Headers(scope=scope).get("accept", ""):
        return ""
    request = HTTPConnection(scope)
    if is_key(request.cookies.get(VISITOR, "")):
        return ""
    return visitor_cookie(new_key(), secure=_by_tls(request))


def _secured(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A header of an answer by TLS: browsers send its cookie by TLS alone.

    Streamlit has no setting for that: its cookies of a sign-in lack the attribute.
    """
    attributes = {part.strip().lower() for part in value.split(b";")[1:]}
    if name.lower() == b"set-cookie" and b"secure" not in attributes:
        value += b"; Secure"
    return name, value


def _by_tls(request: HTTPConnection) -> bool:
    """Whether the browser uses TLS; of several proxies, the first tells what it saw."""
    forwarded = request.headers.get("x-forwarded-proto", "").split(",")[0].strip()
    return "https" in (request.url.scheme, forwarded)


async def lead_on(request: Request) -> RedirectResponse:
    """Send the root and old addresses on, with their parameters: Back then needs one press."""
    page, added = MOVED[request.url.path]
    parameters = [
        (name, at) for name, at in request.query_params.multi_items() if name not in added
    ]
    if request.url.path == "/" and (name := last_base(request.cookies)):
        parameters += [("kb", name)] if "kb" not in request.query_params else []
    query = urlencode([*parameters, *added.items()])
    place = f"/{page}?{query}" if query else f"/{page}"
    return RedirectResponse(place, 307, headers={"Cache-Control": "no-store"})


async def open_link(request: Request) -> Response:
    """Keep what a link shows in a cookie, so that its secret stands in no further address.

    A link to a tour leads to it. An incomplete link gets a page that says so.
    """
    secret, tour = request.path_params["secret"], request.path_params.get("tour")
    if not is_secret(secret):
        return await incomplete_link(request)
    place = "/" if tour is None else f"/tour?tour={tour}"
    answer = RedirectResponse(place, 303, headers={"Cache-Control": "no-store"})
    answer.set_cookie(**kept(secret, secure=_by_tls(request)))
    answer.delete_cookie(LEFT)
    return answer


async def incomplete_link(_: Request) -> Response:
    """Say that an address is no link, which Streamlit would call a missing page."""
    return HTMLResponse(INCOMPLETE, 404, headers={"Cache-Control": "no-store"})


async def leave_link(request: Request) -> RedirectResponse:
    """Forget the link that was opened, and end the visit: where nobody signs in, whoever comes
    without a link has the whole application."""
    answer = RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
    answer.delete_cookie(SHARED)
    answer.set_cookie(**left(secure=_by_tls(request)))
    return answer


async def come_in(_: Request) -> RedirectResponse:
    """Forget that a visit ended."""
    answer = RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
    answer.delete_cookie(LEFT)
    return answer


def _shows_metrics() -> bool:
    try:
        return Settings.from_env().metrics
    except TouchstoneError:  # the page says what is wrong with the settings
        return False


def _workspace() -> "Workspace":
    """The one that the pages have; imported here as in ``_warm_up``."""
    from pages.components.shell.session import opened

    return opened()


def refuse_prefix() -> None:
    """End the program where Streamlit is told of a path prefix: only its own routes have one."""
    if prefix := config.get_option("server.baseUrlPath"):
        sys.exit(
            f"server.baseUrlPath is {prefix!r}, but Touchstone works at the root of a host only. "
            "Remove the option, and give Touchstone a host name of its own in the proxy."
        )


refuse_prefix()
bound_connections()
api = Api(_workspace, figures=_shows_metrics())
app = st.App(
    SCRIPT,
    routes=[
        *api.routes(),
        *(Route(path, lead_on) for path in MOVED),
        Route(LEAVE, leave_link),
        Route(COME_IN, come_in),
        Route("/share/{secret}", open_link),
        Route("/share/{secret}/tour/{tour:int}", open_link),
        Route("/share", incomplete_link),
        Route("/share/{rest:path}", incomplete_link),
    ],
    lifespan=lifespan,
    middleware=[Middleware(Guard)],
)

if __name__ == "__main__":
    ArgumentParser(
        description="Start the dashboard.",
        epilog="For options of the server, such as its port: streamlit run app.py --server.port "
        "8502. For the command line: python -m rag --help.",
    ).parse_args()
    app.run()
