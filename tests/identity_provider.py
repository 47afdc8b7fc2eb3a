"""A tiny OpenID Connect provider: whoever comes is the person whose name is clicked."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey
from playwright.sync_api import Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.api import serving

CLIENT = "touchstone"


class Provider:
    """The endpoints that a client of OpenID Connect asks."""

    def __init__(self, people: tuple[str, ...]) -> None:
        self._people = people
        self._key = RSAKey.generate_key(2048, {"kid": "test", "use": "sig", "alg": "RS256"})
        self._codes: dict[str, tuple[str, str]] = {}
        self.address = ""

    def routes(self) -> list[Route]:
        """The routes of the server."""
        return [
            Route("/.well-known/openid-configuration", self._metadata),
            Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
            Route("/jwks", self._keys),
        ]

    async def _metadata(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.address,
                "authorization_endpoint": f"{self.address}/authorize",
                "token_endpoint": f"{self.address}/token",
                "jwks_uri": f"{self.address}/jwks",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    async def _authorize(self, request: Request) -> Response:
        asked = request.query_params
        if name := asked.get("as"):
            code = secrets.token_urlsafe(8)
            self._codes[code] = (name, asked.get("nonce", ""))
            back = urlencode({"code": code, "state": asked["state"]})
            return RedirectResponse(f"{asked['redirect_uri']}?{back}", 303)
        links = (f'<a href="{request.url}&as={name}">{name}</a>' for name in self._people)
        return HTMLResponse("<h1>Who are you?</h1>" + " ".join(links))

    async def _token(self, request: Request) -> Response:
        form = await request.form()
        name, nonce = self._codes.pop(str(form["code"]))
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.address,
            "aud": CLIENT,
            "sub": name,
            "email": f"{name.lower()}@example.org",
            "email_verified": True,
            "name": name,
            "nonce": nonce,
            "iat": now,
            "exp": now + 600,
        }
        signed = jwt.encode({"alg": "RS256", "kid": "test"}, claims, self._key)
        return JSONResponse({"access_token": "x", "token_type": "Bearer", "id_token": signed})

    async def _keys(self, _: Request) -> Response:
        return JSONResponse({"keys": [self._key.as_dict(private=False)]})


@contextmanager
def providing(*people: str) -> Iterator[str]:
    """The address of a provider that knows some people."""
    provider = Provider(people)
    app = Starlette(routes=provider.routes())
    with serving(app) as provider.address:
        yield provider.address


def secrets_file(address: str, server: str = "http://127.0.0.1:{port}") -> str:
    """The content of ``.streamlit/secrets.toml`` for a provider and the address of a server."""
    return f"""[auth]
redirect_uri = "{server}/oauth2callback"
cookie_secret = "{secrets.token_urlsafe(32)}"
client_id = "{CLIENT}"
client_secret = "{secrets.token_urlsafe(8)}"
server_metadata_url = "{address}/.well-known/openid-configuration"
"""


def sign_in(page: Page, address: str, name: str) -> None:
    """Sign in as a person whom the provider knows."""
    page.goto(f"{address}/settings")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=name).click()
    expect(page.get_by_test_id("stSidebar").get_by_text(name)).to_be_visible()
