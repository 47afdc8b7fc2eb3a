"""Who becomes an administrator by signing in, and who is taken for whom."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select, update

from rag import Claims, NotAllowed, Settings, Workspace
from rag.storage import Connection
from rag.storage.access import people
from rag.workspace.maintenance.check import forget_old
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
