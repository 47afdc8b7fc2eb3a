"""Pages by every role: whoever signs in sees what is theirs, by the address of anything too."""

from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.shell import identity, session
from rag import ROLES
from tests.handbook import FRAME
from tests.members import said

PAGES = (
    *("documents.py", "chat.py", "inspector.py", "metrics.py"),
    *("tuning.py", "runs.py", "usage.py", "settings.py"),
    "tour.py",
)
SECRETS = ("carried over", "goggles", "second class", "leave.md", "handbook")
"""Words of the knowledge base and its name."""


def test_nobody_gets_past_the_sign_in(visit, world):
    app = visit("", "", **world.parameters)
    assert [each.value for each in app.title] == ["Sign in"]
    assert [each.label for each in app.button] == ["Sign in"]
    assert not any(word in said(app) for word in SECRETS)


@pytest.mark.parametrize("page", PAGES)
def test_a_stranger_finds_nothing_on_any_page(page, visit, world):
    app = visit("stranger", page, **world.parameters)
    assert not app.exception
    found = said(app).replace(world.parameters["question"], "")
    # The name that the address gave is said to be not here.
    found = found.replace("There is no knowledge base **handbook** here", "")
    assert [word for word in SECRETS if word in found] == []


@pytest.mark.parametrize("page", PAGES)
def test_ids_of_another_base_show_nothing_in_ones_own(page, visit, world):
    app = visit("ben", page, **{**world.parameters, "kb": "mine"})
    assert not app.exception
    assert app.selectbox(key="kb").options == ["mine"]
    found = said(app).replace(world.parameters["question"], "")
    assert [word for word in SECRETS if word in found] == []


@pytest.mark.parametrize("role", ROLES)
def test_members_see_what_their_role_lets_them(role, visit, world):
    app = visit(role, "settings.py", kb="handbook", settings="Access")
    assert not app.exception
    assert [tab.label for tab in app.tabs] == ["Models", "Prompts", "Access", "Audit log"]
    headers = {each.value for each in app.header}
    assert {"Members", "Tokens", "Your account"} <= headers
    assert ("Sharing by link" in headers) == (role == "owner")
    assert "People" not in headers
    keys = {each.key for each in app.text_input}
    assert ("members_email_0" in keys) == (role == "owner")
    told = "You can view" in said(app)
    assert told == (role in ("viewer", "labeller"))


@pytest.mark.parametrize("role", ROLES)
def test_usage_opens_with_what_the_role_may_see(role, visit, world):
    app = visit(role, "usage.py", kb="handbook")
    labels = [each.label for each in app.tabs]
    assert labels == (["Operations"] if role == "viewer" else ["Review", "Operations"])
    assert "takes the role" not in said(app)


EDITOR, LABELLER, OWNER = ("editor", "owner"), ("labeller", "editor", "owner"), ("owner",)
OFFERED = {
    "documents.py": {
        "documents_rename": EDITOR,
        "documents_duplicate": OWNER,
        "documents_delete_base": OWNER,
    },
    "chat.py": {"chat_collect_": LABELLER},
    "inspector.py": {
        "inspector_collect": LABELLER,
        "inspector_unanswerable": LABELLER,
        "inspector_evidence": LABELLER,
    },
    "metrics.py": {
        "metrics_evaluate": EDITOR,
        "judging_": LABELLER,
    },
    "metrics.py#Question sets": {
        "metrics_import": LABELLER,
        "questions_edit": LABELLER,
        "questions_make": LABELLER,
        "set_manage": LABELLER,
    },
    "tuning.py": {"tuning_search": EDITOR},
    "runs.py": {"runs_pin": EDITOR, "runs_note": EDITOR, "runs_delete": EDITOR},
    "settings.py#Prompts": {"prompt_save": EDITOR},
}
"""The roles that a button is for, by page and its tab, and the key that it begins with."""
EVERYWHERE = {"frame_recipe_name_": EDITOR}


def buttons(app: AppTest, key: str) -> list[Any]:
    found = [each for each in app.button if str(each.key).startswith(key)]
    return found + [each for each in app.text_input if str(each.key).startswith(key)]


def opened(app: AppTest, page: str) -> AppTest:
    """A page with something to work on."""
    if page == "chat.py":
        app.chat_input[0].set_value("Where are trains booked?").run()
    if page == "inspector.py":
        app.text_input(key="q").set_value("Where are trains booked?").run()
    assert not app.exception
    return app


@pytest.mark.parametrize("page", OFFERED)
@pytest.mark.parametrize("role", ROLES)
def test_what_a_role_may_not_do_is_not_offered(role, page, visit, world):
    found = {name: world.parameters[name] for name in ("kb", "set", "run", "runs")}
    file, _, tab = page.partition("#")
    app = opened(visit(role, file, **found, metrics=tab, settings=tab), page)
    for key, roles in (OFFERED[page] | EVERYWHERE).items():
        held = buttons(app, key)
        assert held, key
        for each in held:
            assert each.disabled == (role not in roles), (key, each.label)
            if each.disabled:
                why = f"You may not do this as {role}: it takes the role {roles[0]}."
                assert each.help == f"{why} Ask an owner of the knowledge base.", key
    if page == "documents.py":
        offered = bool(app.get("file_uploader"))
        assert offered == (role in EDITOR)
        assert ("it takes the role editor" in said(app)) != offered


def test_a_single_local_user_is_offered_everything(visit, world, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_HOME", str(world.workspace.settings.home))
    monkeypatch.setenv("TOUCHSTONE_SIGN_IN", "0")
    session.opened.clear()
    for page, keys in OFFERED.items():
        app = AppTest.from_file(str(FRAME), default_timeout=300)
        for name in ("kb", "set", "run", "runs"):
            app.query_params[name] = world.parameters[name]
        file, _, tab = page.partition("#")
        app.query_params["metrics"] = app.query_params["settings"] = tab
        app = opened(app.switch_page(file).run(), page)
        for key in (*keys, *EVERYWHERE):
            held = buttons(app, key)
            assert held, (page, key)
            assert not any("You may not" in str(each.help) for each in held), (page, key)
            assert not any(each.disabled for each in held), (page, key)
        assert "You may not" not in said(app)
    session.opened.clear()


def test_a_link_shows_chat_and_runs_alone(visit, world, monkeypatch):
    other = world.workspace.create("hidden")
    secret, row = world.base.access.create_link("fair")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    for page in ("chat.py", "runs.py"):
        app = visit("stranger", page)
        assert not app.exception
        assert [each.value for each in app.error] == []
        assert "Shown to you by a link until" in said(app)
        assert app.selectbox(key="kb").options == ["handbook"]
        assert "frame_new" not in {each.key for each in app.button}
    world.base.access.revoke_link(row.id)
    app = visit("", "")
    assert "This link is not valid" in said(app)
    assert "handbook" not in said(app)
    world.workspace.delete(other.name)


def test_a_sign_in_that_is_not_set_up_any_more_opens_nothing(visit, world, monkeypatch):
    monkeypatch.setattr(identity, "configured", lambda: False)
    app = AppTest.from_file(str(FRAME), default_timeout=300)
    app.query_params["kb"] = "handbook"
    app.run()
    assert "is not set up any more" in said(app)
    assert "handbook" not in said(app)
    monkeypatch.setenv("TOUCHSTONE_SIGN_IN", "0")
    session.opened.clear()
    app = AppTest.from_file(str(FRAME), default_timeout=300)
    app.run()
    assert app.selectbox(key="kb").options == [each.name for each in world.workspace.bases()]


def test_what_is_kept_of_another_base_is_shown_to_its_members_alone(visit, world):
    """Two share a base; of them one sees the other base, whose page was looked up before."""
    workspace, document = world.workspace, world.parameters["document"]
    workspace.base("mine").access.add_member("stranger@example.org")

    def look() -> None:
        import streamlit as st

        from pages.components.shell.session import workspace
        from pages.components.source.places import is_here

        st.write(is_here(workspace().base("mine"), st.query_params["document"], "handbook"))

    workspace.base("handbook").access.add_member("ben@example.org")
    for who, seen in (("ben", "True"), ("stranger", "False")):
        visit(who, "settings.py")
        app = AppTest.from_function(look, default_timeout=300)
        app.query_params["document"] = document
        assert [each.value for each in app.run().markdown] == [f"`{seen}`"]
    workspace.base("handbook").access.remove_member("ben@example.org")
    workspace.base("mine").access.remove_member("stranger@example.org")


@pytest.mark.parametrize(
    ("said", "verified"),
    [(True, True), ("true", True), (None, None), (False, False), ("false", False), ("no", False)],
)
def test_an_address_may_be_verified_in_words(said, verified, monkeypatch):
    told = {"is_logged_in": True, "sub": "s", "email": "ann@example.org", "email_verified": said}
    monkeypatch.setattr(identity.st, "user", SimpleNamespace(to_dict=lambda: told))
    found = identity.claims()
    assert found.verified is verified


def test_the_log_is_shown_to_owners(visit, world):
    (table,) = visit("ann", "settings.py", settings="Audit log").dataframe
    assert "runs: start evaluation" in list(table.value["What"])
    assert "No entry matches" in said(visit("viewer", "settings.py", settings="Audit log"))


def test_a_member_is_removed_only_after_the_question(visit, world):
    members = world.base.access
    person = members.add_member("leaving@example.org", "viewer")

    def emails() -> set[str]:
        return {member.person.email for member in members.members()}

    app = visit("ann", "settings.py", kb="handbook", settings="Access")
    app.button(key=f"members_remove_{person.id}").click().run()
    assert "leaving@example.org" in emails()
    app.button(key="members_remove_really").click().run()
    assert "leaving@example.org" not in emails()
