"""A role that is taken, a link that is over: what was opened before does not go on."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rag import (
    NOBODY_SIGNS_IN as NOBODY,
)
from rag import (
    SCOPES,
    KnowledgeBase,
    NotAllowed,
    NotFound,
    Principal,
    ScopedWorkspace,
    Workspace,
)
from rag.workspace import authorization, scoped
from tests.answer_runs import with_chat
from tests.people import signed_in, view
from tests.scripted_chat import ScriptedChat
from tests.workspaces import QUICK, stocked


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return stocked(tmp_path, {"leave.md": "Unused leave lapses in March."}, name="manuals")[0]


def _change(base: KnowledgeBase) -> Callable[..., Any]:
    return base.access.change_member


@pytest.mark.parametrize(
    ("act", "given"),
    [
        (_change, ("ann@example.org", "viewer")),
        (lambda base: base.access.create_link, ()),
        (lambda base: base.recipes.save, (QUICK,)),
        (lambda base: base.documents.delete_documents, (["x"],)),
        (lambda base: base.documents.read_again, ()),
        (lambda base: base.tuning.fits.start, ("mine", QUICK.index)),
    ],
)
def test_a_button_that_was_drawn_for_an_owner_does_nothing_for_a_viewer(workspace, act, given):
    ann, ben = signed_in(workspace, "ann"), signed_in(workspace, "ben")
    base = view(workspace, ann).base("manuals")
    base.access.add_member("ben@example.org", "owner")
    pressed = act(view(workspace, ben).base("manuals"))
    base.access.change_member("ben@example.org", "viewer")
    with pytest.raises(NotAllowed, match="as viewer: it takes the role"):
        pressed(*given)


def test_what_is_open_is_not_there_any_more_for_who_was_removed(workspace, monkeypatch):
    monkeypatch.setattr(authorization, "_ROLE_SECONDS", 0.0)
    ann, ben = signed_in(workspace, "ann"), signed_in(workspace, "ben")
    base = view(workspace, ann).base("manuals")
    base.access.add_member("ben@example.org", "owner")
    drawn = view(workspace, ben).base("manuals")
    base.access.remove_member("ben@example.org")
    for act in (
        lambda: drawn.search("leave", QUICK),
        lambda: drawn.documents.builds(),
        lambda: drawn.access.add_member("ben@example.org", "owner"),
    ):
        with pytest.raises(NotFound, match="knowledge base is gone"):
            act()


def test_what_a_link_shows_ends_with_it(workspace, monkeypatch):
    monkeypatch.setattr(authorization, "_ROLE_SECONDS", 0.0)
    base = workspace.base("manuals")
    _, row = base.access.create_link("fair", 3)
    guest = ScopedWorkspace(workspace, Principal(link=row, via="link", key_id=row.id))
    drawn = guest.base("manuals")
    assert drawn.search("leave", QUICK).hits
    base.access.revoke_link(row.id)
    _nothing(guest)
    with pytest.raises(NotFound):
        drawn.search("leave", QUICK)
    _, row = base.access.create_link("fair", 3)
    over = replace(row, expires=datetime.now(UTC) - timedelta(seconds=1))
    _nothing(ScopedWorkspace(workspace, Principal(link=over, via="link", key_id=over.id)))


@pytest.mark.parametrize("members", [False, True])
def test_what_a_token_opened_ends_with_it(workspace, monkeypatch, members):
    monkeypatch.setattr(authorization, "_ROLE_SECONDS", 0.0)
    monkeypatch.setattr(scoped, "_LET_IN_SECONDS", 0.0)
    if members:
        signed_in(workspace, "ann")
    owner = view(workspace, signed_in(workspace, "ann")).principal.person if members else NOBODY
    _, row = workspace.access.tokens.create("program", SCOPES, owner=owner.id)
    program = ScopedWorkspace(workspace, Principal(owner, "api", row.id, token=row))
    base = program.base("manuals")
    job = base.documents.add_text("more", "Cats purr.")
    assert base.search("leave", QUICK).hits
    assert program.jobs.get(job).status == "queued"
    workspace.access.tokens.revoke(row.id)
    for act in (
        lambda: base.search("leave", QUICK),
        lambda: base.recipes.save(QUICK),
        lambda: program.jobs.get(job),
        lambda: program.base("manuals"),
    ):
        with pytest.raises(NotAllowed, match="expired or was revoked"):
            act()


def test_a_token_that_is_over_is_noticed_at_once(workspace):
    _, row = workspace.access.tokens.create("program", SCOPES)
    over = row.model_copy(update={"expires": datetime.now(UTC) - timedelta(seconds=1)})
    with pytest.raises(NotAllowed, match="expired or was revoked"):
        ScopedWorkspace(workspace, Principal(via="api", key_id=row.id, token=over)).base("manuals")


@pytest.mark.parametrize("taken", ["role", "link", "token"])
def test_an_answer_is_not_written_on_for_who_may_not_ask_any_more(workspace, monkeypatch, taken):
    monkeypatch.setattr(authorization, "_ROLE_SECONDS", 0.0)
    monkeypatch.setattr(scoped, "_LET_IN_SECONDS", 0.0)
    chat = ScriptedChat("Unused leave lapses in March [1].")
    with_chat(monkeypatch, chat, for_quotes=True)
    if taken == "role":
        signed_in(workspace, "ann")  # who owns it from now on
    base = workspace.base("manuals")
    _, link = base.access.create_link("fair", 3)
    _, token = workspace.access.tokens.create("program", SCOPES)
    base.access.add_member("ben@example.org")
    ben = signed_in(workspace, "ben") if taken == "role" else NOBODY
    principal, take = {
        "role": (Principal(ben), lambda: base.access.remove_member("ben@example.org")),
        "link": (Principal(link=link), lambda: base.access.revoke_link(link.id)),
        "token": (Principal(token=token), lambda: workspace.access.tokens.revoke(token.id)),
    }[taken]
    stream = ScopedWorkspace(workspace, principal).base("manuals").ask("leave", QUICK)
    assert next(stream) == "Unused "
    take()
    with pytest.raises((NotAllowed, NotFound)):
        next(stream)
    assert (stream.answer.status, stream.answer.text) == ("interrupted", "Unused ")


def _nothing(guest: ScopedWorkspace) -> None:
    assert guest.bases() == []
    with pytest.raises(NotFound):
        guest.base("manuals")
