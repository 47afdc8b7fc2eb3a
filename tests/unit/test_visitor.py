"""A browser is known again by a key that nobody can guess, read or take from the database."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app import Guard
from pages.components.shell.visitor import is_loopback, visitor_of
from pages.components.shell.visitor_key import COOKIE, is_key, new_key, stored_key
from rag import LOCAL, SessionOwner

PAGE = {"accept": "text/html,application/xhtml+xml"}
HERE = {"Origin": "http://localhost:8501", "Host": "localhost:8501"}
KEY = new_key()
MINE = stored_key(KEY)


@pytest.fixture
def client() -> TestClient:
    routes = [Route("/{rest:path}", lambda _: PlainTextResponse("here"))]
    return TestClient(Guard(Starlette(routes=routes)), "http://localhost:8501")


def test_a_new_browser_gets_a_key_and_keeps_it(client):
    given = client.get("/chat", headers=PAGE).headers["set-cookie"]
    assert "; HttpOnly; SameSite=Lax" in given
    assert "Secure" not in given
    assert is_key(client.cookies[COOKIE])
    assert "set-cookie" not in client.get("/chat", headers=PAGE).headers


def test_a_key_goes_over_tls_alone_where_the_page_does(client):
    behind = {**PAGE, "x-forwarded-proto": "https"}
    assert client.get("/", headers=behind).headers["set-cookie"].endswith("; Secure")


@pytest.mark.parametrize("accept", ["*/*", "image/png", "application/json"])
def test_what_is_no_page_gives_no_key(client, accept):
    assert "set-cookie" not in client.get("/static/x", headers={"accept": accept}).headers


@pytest.mark.parametrize("held", ["", "x", "a" * 42, "a" * 44, "a" * 42 + ";"])
def test_a_key_that_was_not_made_here_is_replaced(client, held):
    answer = client.get("/", headers={**PAGE, "cookie": f"{COOKIE}={held}"})
    assert COOKIE in answer.headers["set-cookie"]


def test_a_visitor_from_elsewhere_sees_only_what_the_key_has():
    far = {"Origin": "https://kb.example", "Host": "kb.example"}
    assert visitor_of(far, {COOKIE: KEY}, "10.0.0.7") == SessionOwner(MINE, (MINE,))
    assert KEY not in MINE


def test_a_browser_on_this_machine_sees_what_the_command_line_asked():
    assert visitor_of(HERE, {COOKIE: KEY}, None) == SessionOwner(MINE, (MINE, LOCAL.key))
    assert visitor_of({}, {}, None) == LOCAL


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        (HERE, "10.0.0.7"),
        ({**HERE, "Origin": "https://kb.example"}, None),
        ({**HERE, "X-Forwarded-For": "10.0.0.7"}, None),
        ({"Host": "localhost:8501"}, None),
    ],
)
def test_a_proxy_on_this_machine_is_no_browser_on_it(headers, address):
    assert visitor_of(headers, {COOKIE: KEY}, address).keys == (MINE,)


def test_browsers_without_cookies_are_strangers_to_each_other():
    one, other = visitor_of(HERE, {}, "10.0.0.7"), visitor_of(HERE, {COOKIE: "?"}, "10.0.0.7")
    assert one.key != other.key
    assert one.keys == (one.key,)


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://localhost:8501/share/x", True),
        ("http://app.localhost/share/x", True),
        ("http://127.0.0.5:8501", True),
        ("http://[::1]:8501", True),
        ("https://kb.example/share/x", False),
        ("http://192.168.1.7:8501", False),
        ("http://localhost.example", False),
        ("/share/x", False),
    ],
)
def test_addresses_of_this_machine_alone_are_known(url, loopback):
    assert is_loopback(url) is loopback
