"""What each role may do, decided in one place: every name of a knowledge base is decided about."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from rag import (
    ROLES,
    Claims,
    HttpTool,
    InvalidInput,
    NotAllowed,
    NotFound,
    Person,
    Principal,
    ScopedWorkspace,
    Settings,
    Workspace,
)
from rag.operation import SERVER, guarded_copy, operation
from tests import permissions
from tests.people import signed_in, view
from tests.workspaces import QUICK, stocked, workspace_at

LEAVE = "Unused leave may be carried over until the end of March."


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return stocked(tmp_path, {"leave.md": LEAVE}, name="manuals")[0]


def names(thing: object, path: str = "") -> set[str]:
    """All public methods of a knowledge base and its parts, by path."""
    found = set()
    for name in (name for name in dir(thing) if not name.startswith("_")):
        value = getattr(thing, name)
        here = f"{path}.{name}".lstrip(".")
        if callable(value):
            found.add(here)
        elif type(value).__module__.startswith("rag.") and not isinstance(value, Person):
            found |= names(value, here)
    return found


def test_pages_ask_for_rights_by_names_of_operations(workspace):
    asked = {
        call.args[1].value
        for path in (Path(__file__).parents[2] / "pages").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ("offered", "refusal", "allowed")
        and len(call.args) > 1
        and isinstance(call.args[1], ast.Constant)
    }
    assert "questions.grade" in asked
    listed = re.findall(r"^\| `([\w.]+)` \|", permissions.page(workspace.operations), re.MULTILINE)
    assert asked <= set(listed)


def test_every_method_of_a_knowledge_base_is_declared(workspace: Workspace) -> None:
    methods = names(workspace.base("manuals"))
    assert workspace.operations.keys() == methods
    roles = {operation.role for operation in workspace.operations.values()}
    assert roles == {"guest", *ROLES, SERVER}


def test_the_page_of_permissions_is_that_of_the_declarations(workspace: Workspace) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "permissions.md"
    assert page.read_text("utf-8") == permissions.page(workspace.operations)


def test_what_reads_files_of_the_server_is_for_the_command_line(workspace: Workspace) -> None:
    of_server = {path for path, one in workspace.operations.items() if one.role == SERVER}
    assert of_server == {"documents.add_paths", "documents.import_beir", "questions.import_folder"}
    base = view(workspace, signed_in(workspace, "ann")).base("manuals")
    with pytest.raises(NotAllowed, match="Only the command line"):
        base.documents.add_paths([Path("/etc/passwd")])


def test_the_only_user_of_a_machine_passes_the_same_guard(workspace: Workspace) -> None:
    base = ScopedWorkspace(workspace, Principal()).base("manuals")
    assert base.search("leave", QUICK).hits
    with pytest.raises(NotAllowed, match="Only the command line"):
        base.documents.add_paths([Path("/etc/passwd")])


def test_a_public_method_without_a_declaration_is_no_part_of_a_guarded_base() -> None:
    class Part:
        @operation("viewer")
        def read(self) -> str:
            return "read"

        def write(self) -> None:
            raise AssertionError

    with pytest.raises(TypeError, match=r"Part\.write has no declaration"):
        guarded_copy(Part(), lambda *_: None)


def test_all_that_changes_something_is_audited(workspace: Workspace) -> None:
    """Operations above viewer are recorded, except those that store nothing permanent."""
    unrecorded = {
        path
        for path, one in workspace.operations.items()
        if one.role not in ("guest", "viewer", SERVER) and not one.audit
    }
    assert unrecorded == {
        "documents.prepare_build",
        "runs.measure",
        "access.links",
        "documents.maps.draw",
        "conversations.dismiss_review",
        "conversations.review_figures",
        "conversations.mark_labelled",
        "conversations.waiting_reviews",
    }


def test_the_view_decides_about_every_method_of_the_workspace() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(Workspace) - public(ScopedWorkspace) == {
        *("from_env", "close", "welcome", "not_ready", "index_bytes", "warm_up"),  # of the process
        "operations",  # of the code
        *(
            "check",
            "compact",
            "back_up",
            "import_bundle",
            "create_from_paths",
            "create_from_beir",
            "add_demo",
            "base_of_run",
        ),  # of the files
    }


def test_who_signs_in_first_gets_what_was_there(workspace: Workspace) -> None:
    secret, row = workspace.access.tokens.create("old", ["read"])
    before = workspace.base("manuals").conversations.open(None)
    ann, ben = signed_in(workspace, "ann"), signed_in(workspace, "ben")
    assert (ann.administrator, ben.administrator) == (True, False)
    assert [info.name for info in view(workspace, ann).bases()] == ["manuals"]
    assert view(workspace, ben).bases() == []
    assert view(workspace, ann).base("manuals").conversations.find(before) is not None
    holder = workspace.access.tokens.holder(secret)
    assert (holder.id, holder.owner) == (row.id, ann.id)
    assert signed_in(workspace, "ann") == ann


def test_who_is_named_as_administrator_gets_it_instead(tmp_path: Path) -> None:
    workspace_at(tmp_path).create("manuals", QUICK)
    settings = Settings.from_env({"TOUCHSTONE_ADMINS": "Ben@example.org"}, home=tmp_path)
    workspace = Workspace(settings)
    ann, ben = signed_in(workspace, "ann"), signed_in(workspace, "ben")
    assert (ann.administrator, ben.administrator) == (False, True)
    assert view(workspace, ann).bases() == []
    assert [info.name for info in view(workspace, ben).bases()] == ["manuals"]
    workspace.close()


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        (Claims("i", "s", "eve@evil.example", verified=True), "is not allowed to sign in"),
        (Claims("i", "s", "ann@example.org", verified=False), "not verified"),
        (Claims("i", "other", "ben@example.org", verified=True), "another account"),
    ],
)
def test_who_may_not_sign_in(tmp_path: Path, claims: Claims, said: str) -> None:
    given = {"TOUCHSTONE_SIGN_IN_ALLOWED": "@example.org"}
    workspace = Workspace(Settings.from_env(given, home=tmp_path))
    signed_in(workspace, "ben")
    with pytest.raises(NotAllowed, match=said):
        workspace.access.people.sign_in(claims)
    workspace.close()


def test_an_address_is_needed(workspace: Workspace) -> None:
    with pytest.raises(InvalidInput, match="not an e-mail address"):
        workspace.access.people.sign_in(Claims("i", "s", ""))


def test_the_last_owner_stays(workspace: Workspace) -> None:
    ann, ben = signed_in(workspace, "ann"), signed_in(workspace, "ben")
    base = view(workspace, ann).base("manuals")
    for act in (
        lambda: base.access.remove_member("ann@example.org"),
        lambda: base.access.change_member("ann@example.org", "viewer"),
        lambda: view(workspace, ann).leave("manuals"),
        lambda: view(workspace, ann).forget(ann),
    ):
        with pytest.raises(InvalidInput, match=r"last owner|only owner"):
            act()
    base.access.add_member("ben@example.org", "owner")
    view(workspace, ann).leave("manuals")
    assert [each.person for each in workspace.base("manuals").access.members()] == [ben]


def test_a_first_start_queues_the_sample(workspace: Workspace, home: Path) -> None:
    first = workspace_at(home)
    for _ in range(2):
        first.welcome()
        assert [info.name for info in first.bases()] == ["sample"]
        assert len(first.jobs.active()) == 1
    workspace.welcome()
    assert [info.name for info in workspace.bases()] == ["manuals"]


def test_who_is_no_member_cannot_leave(workspace: Workspace) -> None:
    secret, _ = workspace.base("manuals").access.create_link("fair", 3)
    link = workspace.access.link(secret)
    assert link is not None
    for principal in (Principal(), Principal(link=link, via="link", key_id=link.id)):
        with pytest.raises(InvalidInput, match="You are not a member"):
            ScopedWorkspace(workspace, principal).leave("manuals")


def test_what_another_base_holds_is_not_read_by_its_name(workspace: Workspace) -> None:
    ann, ben = signed_in(workspace, "ann"), signed_in(workspace, "ben")
    theirs = view(workspace, ben)
    theirs.create("mine", QUICK)
    document = workspace.base("manuals").documents.documents(QUICK.index)[0].id
    assert view(workspace, ann).base("manuals").documents.outline(document) is not None
    assert theirs.base("mine").documents.outline(document) is None
    with pytest.raises(NotFound):
        theirs.beside("mine", [_also("manuals")])


def test_what_another_base_holds_is_not_read_by_its_id(workspace: Workspace) -> None:
    """Files are kept by their content, answers by their run: neither says whose it is."""
    base = workspace.base("manuals")
    (document,) = base.documents.documents(QUICK.index)
    base.questions.create_set("policies")
    base.questions.add_question("policies", "When is leave lost?", answerable=False)
    workspace.jobs.run(base.runs.start_answers("policies", QUICK))
    (run,) = base.runs.list_all()
    other = workspace.create("other", QUICK)
    for each, held in ((base, True), (other, False)):
        assert (each.documents.original(document.id) is not None) is held
        assert bool(each.runs.answers(run.id)) is held
        assert each.documents.original("../../" * 20 + "etc/passwd") is None


def test_a_run_of_somebody_else_is_not_told_from_none(workspace: Workspace, tmp_path: Path) -> None:
    signed_in(workspace, "ann")
    ben = view(workspace, signed_in(workspace, "ben"))
    base = workspace.base("manuals")
    base.questions.create_set("policies")
    base.questions.add_question("policies", "When is leave lost?", answerable=False)
    workspace.jobs.run(base.runs.start_evaluation("policies", QUICK))
    (run,) = base.runs.list_all()
    for name in (run.id, "0" * len(run.id)):
        with pytest.raises(NotFound) as caught:
            ben.bundle(name, tmp_path / "run.zip")
        said = caught.value.message.replace(name, "ID"), caught.value.hint
        assert said == ("There is no run 'ID'.", "")


def _also(name: str) -> Any:
    from rag import FurtherBase

    return FurtherBase(name)


def test_tokens_are_seen_and_revoked_by_their_owner(workspace: Workspace) -> None:
    ann, ben = (view(workspace, signed_in(workspace, name)) for name in ("ann", "ben"))
    _, row = ann.create_token("mine", ["read"])
    assert ben.tokens() == []
    with pytest.raises(NotFound):
        ben.revoke_token(row.id)
    ann.revoke_token(row.id)
    assert not ann.tokens()[0].valid


def test_only_an_administrator_changes_tools(workspace: Workspace) -> None:
    ann, ben = (view(workspace, signed_in(workspace, name)) for name in ("ann", "ben"))
    tool = HttpTool.parse({"name": "wiki", "url": "https://example.org/?q={question}"})
    for refused in (
        lambda: ben.tools.save(tool),
        lambda: ben.tools.remove("wiki"),
        lambda: ben.tools.ask(tool, "When?"),
        ben.people,
    ):
        with pytest.raises(NotAllowed):
            refused()
    with pytest.raises(NotFound):
        ann.tools.remove("wiki")
    ann.tools.save(tool=tool)
    assert ben.tools.list_all() == [tool]
    ann.tools.remove("wiki")
    entries = [line.entry for line in workspace.access.audit.lines(kind="tools")]
    assert [(entry.action, entry.detail) for entry in entries] == [
        ("remove", "wiki"),
        ("save", "wiki"),
    ]


def test_a_link_shows_one_base_until_it_is_revoked(workspace: Workspace) -> None:
    workspace.create("more", QUICK)
    base = workspace.base("manuals")
    secret, row = base.access.create_link("fair", 3)
    link = workspace.access.link(secret)
    assert link == row
    guest = ScopedWorkspace(workspace, Principal(link=link, via="link", key_id=row.id))
    assert [info.name for info in guest.bases()] == ["manuals"]
    assert guest.base("manuals").ask("When is leave lost?", QUICK).answer.text
    for refused in (
        lambda: guest.base("manuals").questions.export_text("x", "jsonl"),
        lambda: guest.base("manuals").recipes.save(QUICK),
        lambda: guest.create("mine"),
        lambda: guest.create_token("mine", ["read"]),
        lambda: guest.delete("manuals"),
        lambda: guest.caches(),
        lambda: guest.start_demo(),
    ):
        with pytest.raises(NotAllowed):
            refused()
    with pytest.raises(NotFound):
        guest.base("more")
    base.access.revoke_link(row.id)
    assert workspace.access.link(secret) is None
    assert workspace.access.link("share_x") is None


def test_links_without_a_name_are_called_by_their_time(workspace: Workspace) -> None:
    base = workspace.base("manuals")
    _, row = base.access.create_link("  ")
    assert row.name == f"Link of {row.created:%Y-%m-%d %H:%M:%S} UTC"
    _, former = base.access.create_link("link")  # the name that earlier versions stored
    names = {stored.id: stored.name for stored in base.access.links()}
    assert names == {
        row.id: row.name,
        former.id: f"Link of {former.created:%Y-%m-%d %H:%M:%S} UTC",
    }


def test_a_guest_has_conversations_apart_from_those_of_the_browser(workspace: Workspace) -> None:
    base = workspace.base("manuals")
    mine = base.conversations.open(None)
    _, link = base.access.create_link()
    guest = ScopedWorkspace(workspace, Principal(link=link)).base("manuals")
    assert guest.conversations.find(mine) is None
    theirs = guest.conversations.open(None)
    assert base.conversations.find(theirs) is None


def test_the_sample_is_everybodys_own(workspace: Workspace, monkeypatch: Any) -> None:
    ann, ben = (view(workspace, signed_in(workspace, name)) for name in ("ann", "ben"))
    monkeypatch.setattr("rag.workspace.workspace.SAMPLE_FOLDER", workspace.settings.home)
    questions = workspace.settings.home / "questions.jsonl"
    questions.write_text('{"id": "q1", "text": "why?"}')
    assert ann.start_demo()[0].name == "sample"
    assert ben.start_demo()[0].name == "sample 2"
    assert ann.start_demo()[0].name == "sample"
    assert [info.name for info in ben.bases()] == ["sample 2"]
