"""Tokens: made once, kept as a digest, over in time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rag import AlreadyExists, InvalidInput, Made, NotFound, Workspace
from rag.access import tokens as module
from rag.storage import Database
from tests.workspaces import workspace_at

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_at(tmp_path)


def test_a_token_opens_until_it_is_revoked(workspace):
    secret, row = workspace.access.tokens.create(" reports ", ["ask", "read"], 30)
    assert row.name == "reports"
    assert row.scopes == ("read", "ask")
    assert row.expires == row.created + timedelta(days=30)
    found = workspace.access.tokens.holder(secret)
    assert (found.id, found.scopes) == (row.id, ("read", "ask"))
    (kept,) = workspace.access.tokens.list_all()
    assert kept.used is not None
    assert datetime.now(UTC) - kept.used < timedelta(minutes=1)
    workspace.access.tokens.revoke(row.id)
    assert workspace.access.tokens.holder(secret) is None
    assert [each.valid for each in workspace.access.tokens.list_all()] == [False]


def test_a_request_waits_for_no_writer(workspace, tmp_path, monkeypatch):
    """When a token was used is stored after the answer, for all tokens together."""
    tokens = workspace.access.tokens
    secrets = [tokens.create(f"t{number}", ["read"])[0] for number in range(3)]
    with monkeypatch.context() as moment:
        moment.setattr(Database, "write", lambda _: pytest.fail("a request wrote"))
        assert all(tokens.holder(secret) for secret in secrets)
    tokens.store_uses()
    stored = workspace_at(tmp_path).access.tokens.list_all()
    assert all(row.used is not None for row in stored)


def test_a_token_expires(workspace, monkeypatch):
    class Earlier(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) - timedelta(days=2)

    monkeypatch.setattr(module, "datetime", Earlier)
    over, _ = workspace.access.tokens.create("over", ["read"], 1)
    lasting, _ = workspace.access.tokens.create("lasting", ["read"], None)
    monkeypatch.undo()
    assert workspace.access.tokens.holder(over) is None
    assert workspace.access.tokens.holder(lasting) is not None
    assert [workspace.access.tokens.ended(each) for each in (over, lasting, "x")] == [
        True,
        False,
        False,
    ]


def test_nobody_gets_in_without_the_very_token(workspace):
    secret, row = workspace.access.tokens.create("a", ["read"])
    for wrong in ("", secret[:-1], secret + "x", secret.lower(), row.id, "\ud800"):
        assert workspace.access.tokens.holder(wrong) is None


def test_bad_tokens_are_refused(workspace):
    for name, scopes, days in (
        ("", ["read"], 9),
        ("x" * 81, ["read"], 9),
        ("a\n", [], 9),
        ("a", ["fly"], 9),
        ("a", ["read"], 0),
        ("a", ["read"], 3651),
    ):
        with pytest.raises(InvalidInput):
            workspace.access.tokens.create(name, scopes, days)
    with pytest.raises(NotFound):
        workspace.access.tokens.revoke("nobody")
    assert workspace.access.tokens.list_all() == []


def test_a_request_is_done_once(workspace):
    _, row = workspace.access.tokens.create("a", ["write"])
    _, other = workspace.access.tokens.create("b", ["write"])
    made: list[int] = []

    def make() -> Made:
        made.append(len(made))
        return Made(201, {"made": len(made)}, "/there")

    once = workspace.access.replies.make_or_repeat
    first = once(row.id, "key", {"name": "x"}, make)
    assert first == once(row.id, "key", {"name": "x"}, make) == Made(201, {"made": 1}, "/there")
    with pytest.raises(InvalidInput, match="another request"):
        once(row.id, "key", {"name": "y"}, make)
    assert once(row.id, "key 2", {"name": "x"}, make).body == {"made": 2}
    assert once(other.id, "key", {"name": "x"}, make).body == {"made": 3}
    assert once(other.id, "x" * 255, {}, make).body == {"made": 4}
    assert once(other.id, "x", {}, make).body == {"made": 5}
    for bad in ("", "a\n", "x" * 256):
        with pytest.raises(InvalidInput):
            once(row.id, bad, {}, make)


def test_what_fails_may_be_asked_again_and_what_is_at_work_may_not(workspace):
    _, row = workspace.access.tokens.create("a", ["write"])

    def failing() -> Made:
        with pytest.raises(AlreadyExists, match="still in progress"):
            workspace.access.replies.make_or_repeat(row.id, "key", 1, failing)
        raise NotFound("Nothing there.")

    with pytest.raises(NotFound):
        workspace.access.replies.make_or_repeat(row.id, "key", 1, failing)
    assert workspace.access.replies.make_or_repeat(row.id, "key", 1, lambda: Made(200, 5)).body == 5
