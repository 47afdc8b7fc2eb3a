"""Members, people, links and the audit log on the command line; how long things are kept."""

from contextlib import closing
from pathlib import Path

import pytest

from rag import Claims, Principal, ScopedWorkspace, Settings, Workspace
from rag.__main__ import main
from tests.verbs import output_of
from tests.workspaces import QUICK, add, database_at, stocked, workspace_at


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return stocked(home, {"leave.md": "Leave is thirty days."}, name="manuals")[0]


def test_members_come_and_go(workspace, capsys):
    assert output_of(capsys, "members", "manuals") == {"members": []}
    output_of(capsys, "members", "manuals", "add", "Ann@Example.org", "--role", "owner")
    output_of(capsys, "members", "manuals", "add", "ben@example.org")
    assert output_of(
        capsys, "members", "manuals", "change", "ben@example.org", "--role", "editor"
    ) == {
        "members": [
            {"email": "ann@example.org", "name": "", "role": "owner"},
            {"email": "ben@example.org", "name": "", "role": "editor"},
        ]
    }
    assert output_of(capsys, "members", "manuals", "remove", "ben@example.org")["members"] == [
        {"email": "ann@example.org", "name": "", "role": "owner"}
    ]
    for wrong in (["remove", "ann@example.org"], ["add", "ann"], ["add"], ["remove", "x@y.z"]):
        assert main(["members", "manuals", *wrong]) == 2


def test_people_are_listed_and_deleted(workspace, capsys):
    output_of(capsys, "members", "manuals", "add", "ben@example.org")
    secret = output_of(capsys, "token", "create", "ci", "--owner", "ben@example.org")["token"]
    assert workspace.access.tokens.holder(secret) is not None
    person = {"email": "ben@example.org", "name": "", "administrator": False}
    assert output_of(capsys, "people") == {"people": [person]}
    gone = {"conversations": 0, "votes": 0, "tokens": 1, "memberships": 1}
    assert output_of(capsys, "people", "delete", "ben@example.org") == {
        "deleted": "ben@example.org",
        **gone,
    }
    assert workspace.access.tokens.holder(secret) is None
    assert output_of(capsys, "people") == {"people": []}


def test_links_are_made_and_revoked(workspace, capsys):
    made = output_of(capsys, "link", "manuals", "create", "fair", "--days", "3")
    secret = made.pop("path").removeprefix("/share/")
    assert output_of(capsys, "link", "manuals") == {"links": [made]}
    link = workspace.access.link(secret)
    assert (link.name, (link.expires - link.created).days) == ("fair", 3)
    assert not output_of(capsys, "link", "manuals", "revoke", made["id"])["links"][0]["valid"]
    assert workspace.access.link(secret) is None
    assert main(["link", "manuals", "revoke", "nothing"]) == 2
    assert main(["link", "manuals", "create", "--days", "0"]) == 2


def test_the_log_is_listed_and_saved(workspace, capsys, tmp_path):
    ann = workspace.access.people.sign_in(Claims("i", "ann", "ann@example.org"))
    ScopedWorkspace(workspace, Principal(ann)).base("manuals").recipes.save(QUICK)
    (entry,) = output_of(capsys, "audit", "--kind", "recipe", "--days", "1")["entries"]
    assert (entry["who"], entry["knowledge_base"], entry["action"]) == (
        "ann@example.org",
        "manuals",
        "recipes.save",
    )
    assert output_of(capsys, "audit", "--person", "ben") == {"entries": []}
    file = tmp_path / "log.csv"
    assert output_of(capsys, "audit", "-o", str(file)) == {"entries": 1}
    assert file.read_text().splitlines()[1].endswith("manuals,recipe,recipes.save,")


def test_what_is_old_is_deleted(home, capsys):
    workspace = workspace_at(home)
    base = workspace.create("manuals", QUICK)
    add(workspace, base, {"leave.md": "Leave is thirty days."})
    for name in ("old", "new"):
        assert main(["ask", "manuals", "How long is leave?", "--session", name]) == 0
    ann = workspace.access.people.sign_in(Claims("i", "ann", "ann@example.org"))
    principal = ScopedWorkspace(workspace, Principal(ann))
    principal.base("manuals").recipes.save(QUICK)
    principal.base("manuals").recipes.save(QUICK)
    workspace.close()
    figures = "CAST(metrics AS VARCHAR)"
    with closing(database_at(home)) as database, database.write() as connection:
        connection.exec_driver_sql("UPDATE turn SET created = '2026-01-01' WHERE id = 1")
        connection.exec_driver_sql("UPDATE conversation SET created = '2026-01-01'")
        connection.exec_driver_sql("UPDATE audit_entry SET at = '2026-01-01' WHERE id = 1")
        before = connection.exec_driver_sql(f"SELECT {figures} FROM turn WHERE id = 1").scalar()
    assert before != "{}"

    def kept(**days: str) -> tuple[int, ...]:
        names = {f"TOUCHSTONE_KEEP_{name}_DAYS": value for name, value in days.items()}
        opened = Workspace(Settings.from_env(names, home=home))
        opened.jobs._tidy()
        opened.close()
        with closing(database_at(home)) as database, database.read() as connection:
            counts = [
                connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
                for table in ("conversation", "interaction", "audit_entry")
            ]
            traced = f"SELECT count(*) FROM turn WHERE {figures} != '{{}}'"
            return (*counts, connection.exec_driver_sql(traced).scalar())

    assert kept() == (2, 2, 2, 2)
    assert kept(TRACES="30") == (2, 2, 2, 1)
    assert kept(INTERACTIONS="30", AUDIT="30") == (2, 1, 1, 1)
    assert kept(CONVERSATIONS="30") == (1, 1, 1, 1)
    assert kept(CONVERSATIONS="1000", AUDIT="1000") == (1, 1, 1, 1)
