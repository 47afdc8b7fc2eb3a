"""Who becomes an administrator by signing in, who is taken for whom, and known browsers."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select, update
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app import Guard
from pages.components.shell.cookies import VISITOR, is_key, new_key, stored_key
from pages.components.shell.identity import is_loopback, visitor_of
from rag import LOCAL, Claims, NotAllowed, SessionOwner, Settings, Workspace
from rag.storage import Connection
from rag.storage.access import people
from rag.workspace.maintenance import forget_old
from tests.people import signed_in, view
from tests.workspaces import QUICK, workspace_at


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = workspace_at(tmp_path)
    found.create("manuals", QUICK)
    return found


def test_of_two_who_sign_in_at_once_one_is_the_first(workspace, monkeypatch):
    asked, both = people.any_signed_in, threading.Barrier(2)

    def slowly(connection: Connection) -> bool:
        found = asked(connection)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return found

    monkeypatch.setattr(people, "any_signed_in", slowly)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(partial(signed_in, workspace), ("ann", "ben")))
    assert sorted(person.administrator for person in found) == [False, True]


@pytest.mark.parametrize("email", ["bo\u017fs@example.org", "boss@e\u017fample.org"])
def test_an_address_that_only_looks_alike_is_another_one(tmp_path, email):
    given = {"TOUCHSTONE_ADMINS": "Boss@example.org, boss@esample.org"}
    workspace = Workspace(Settings.from_env(given, home=tmp_path))
    found = workspace.access.people
    assert not found.sign_in(Claims("i", "eve", email, verified=True)).administrator
    assert found.sign_in(Claims("i", "boss", "BOSS@example.org", verified=True)).administrator
    workspace.close()


def test_nobody_inherits_the_administration(workspace):
    ann, _ = signed_in(workspace, "ann"), signed_in(workspace, "ben")
    workspace.delete("manuals")
    view(workspace, ann).forget(ann)
    workspace.create("of nobody", QUICK)
    found = [signed_in(workspace, name) for name in ("ben", "eve", "ann")]
    assert [person.administrator for person in found] == [False, False, False]
    assert [view(workspace, person).bases() for person in found] == [[], [], []]


def claims(at: datetime | None) -> Claims:
    return Claims("https://id.example", "ben", "ben@example.org", "Ben", verified=True, issued=at)


@pytest.mark.parametrize("who", ["ann", "ben"])
def test_who_was_deleted_does_not_come_back_by_the_sign_in_of_before(workspace, who):
    ann, before = signed_in(workspace, "ann"), datetime.now(UTC)
    found = workspace.access.people
    ben = found.sign_in(claims(before))
    by = {"ann": ann, "ben": ben}[who]  # an administrator, or oneself
    view(workspace, by).forget(ben)
    for issued in (before, before - timedelta(days=20), None):
        with pytest.raises(NotAllowed, match="This account was deleted"):
            found.sign_in(claims(issued))
    assert [person.email for person in found.list_all()] == ["ann@example.org"]
    anew = found.sign_in(claims(datetime.now(UTC)))
    assert anew.id != ben.id
    assert view(workspace, anew).bases() == []
    assert found.sign_in(claims(before)).id == anew.id  # by another browser: the account is there


def test_who_is_invited_after_a_deletion_signs_in_anew(workspace):
    ann, found = signed_in(workspace, "ann"), workspace.access.people
    before = datetime.now(UTC)
    view(workspace, ann).forget(found.sign_in(claims(before)))
    view(workspace, ann).base("manuals").access.add_member("ben@example.org")
    with pytest.raises(NotAllowed, match="This account was deleted"):
        found.sign_in(claims(before))
    ben = found.sign_in(claims(datetime.now(UTC)))
    assert [info.name for info in view(workspace, ben).bases()] == ["manuals"]


def test_a_deletion_is_forgotten_when_no_browser_can_bring_the_sign_in_back(workspace):
    ann, found = signed_in(workspace, "ann"), workspace.access.people
    before = datetime.now(UTC)
    view(workspace, ann).forget(found.sign_in(claims(before)))
    services = workspace._services
    for days, kept in ((30, 1), (32, 0)):
        with services.database.write() as connection:
            at = before - timedelta(days=days)
            connection.execute(update(people.deleted_account).values(at=at))
        forget_old(services)
        with services.database.read() as connection:
            assert len(connection.execute(select(people.deleted_account)).all()) == kept


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
    assert is_key(client.cookies[VISITOR])
    assert "set-cookie" not in client.get("/chat", headers=PAGE).headers


def test_a_key_goes_over_tls_alone_where_the_page_does(client):
    behind = {**PAGE, "x-forwarded-proto": "https"}
    assert client.get("/", headers=behind).headers["set-cookie"].endswith("; Secure")


@pytest.mark.parametrize("accept", ["*/*", "image/png", "application/json"])
def test_what_is_no_page_gives_no_key(client, accept):
    assert "set-cookie" not in client.get("/static/x", headers={"accept": accept}).headers


@pytest.mark.parametrize("held", ["", "x", "a" * 42, "a" * 44, "a" * 42 + ";"])
def test_a_key_that_was_not_made_here_is_replaced(client, held):
    answer = client.get("/", headers={**PAGE, "cookie": f"{VISITOR}={held}"})
    assert VISITOR in answer.headers["set-cookie"]


def test_a_visitor_from_elsewhere_sees_only_what_the_key_has():
    far = {"Origin": "https://kb.example", "Host": "kb.example"}
    assert visitor_of(far, {VISITOR: KEY}, "10.0.0.7") == SessionOwner(MINE, (MINE,))
    assert KEY not in MINE


def test_a_browser_on_this_machine_sees_what_the_command_line_asked():
    assert visitor_of(HERE, {VISITOR: KEY}, None) == SessionOwner(MINE, (MINE, LOCAL.key))
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
    assert visitor_of(headers, {VISITOR: KEY}, address).keys == (MINE,)


def test_browsers_without_cookies_are_strangers_to_each_other():
    one, other = visitor_of(HERE, {}, "10.0.0.7"), visitor_of(HERE, {VISITOR: "?"}, "10.0.0.7")
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
