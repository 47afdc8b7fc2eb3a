"""Whoever was deleted is out, and does not come back by a browser that is still signed in."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from pages.components.shell import door, identity
from tests.members import said
from tests.people import signed_in


def test_whoever_is_deleted_is_out_with_the_next_click(visit, world):
    gone = signed_in(world.workspace, "gone")
    world.base.access.add_member(gone.email, "owner")
    app = visit("gone", "settings.py", kb="handbook", settings="Access")
    assert "Sharing by link" in {each.value for each in app.header}
    world.workspace.access.people.forget(gone)
    app.run()
    assert "This account was deleted" in said(app)
    assert "handbook" not in said(app)
    assert "gone@example.org" not in [
        each.email for each in world.workspace.access.people.list_all()
    ]


def test_a_deleted_account_is_not_made_again_by_the_same_sign_in(visit, world, caplog):
    gone = signed_in(world.workspace, "returning")
    before = datetime.now(UTC)
    visit("returning", "settings.py", settings="Access", issued=before)
    world.workspace.access.people.forget(gone)
    again = {"settings": "Access", "issued": before}  # another tab, the same cookie
    app = visit("returning", "settings.py", **again)
    assert "This account was deleted" in said(app)
    assert "A sign-in was refused: This account was deleted." in caplog.messages
    every = world.workspace.access.people.list_all
    assert gone.email not in [each.email for each in every()]
    app = visit("returning", "settings.py", settings="Access", issued=datetime.now(UTC))
    assert "Your account" in {each.value for each in app.header}
    world.workspace.access.people.forget(world.workspace.access.people.by_email(gone.email))


def test_who_deletes_the_own_account_is_signed_out(visit, world, monkeypatch):
    signed_in(world.workspace, "leaving")
    out: list[str] = []
    monkeypatch.setattr(door, "_sign_out", lambda **options: out.append(options["data"]))
    app = visit("leaving", "settings.py", settings="Access", issued=datetime.now(UTC))
    app.button(key="account_delete").click().run()
    app.button(key="account_delete_really").click().run()
    assert out == ["/auth/logout"]
    emails = [each.email for each in world.workspace.access.people.list_all()]
    assert "leaving@example.org" not in emails


@pytest.mark.parametrize(
    ("told", "moment"),
    [
        (1_700_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("1700000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (None, None),
        ("yesterday", None),
        ("1e400", None),
    ],
)
def test_when_somebody_signed_in_is_what_the_provider_says(told, moment, monkeypatch):
    user = {"is_logged_in": True, "sub": "s", "email": "ann@example.org", "iat": told}
    monkeypatch.setattr(identity.st, "user", SimpleNamespace(to_dict=lambda: user))
    found = identity.claims()
    assert found.issued == moment
