"""The audit log: what is kept of whom, who sees it, and what outlives an account."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rag import (
    AuditEntry,
    AuditLine,
    FurtherBase,
    InvalidInput,
    NotAllowed,
    NotFound,
    ScopedWorkspace,
    Workspace,
    audit_actor,
    audit_csv,
)
from tests.people import signed_in, view
from tests.workspaces import QUICK, add, stocked


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return stocked(tmp_path, {"leave.md": "Unused leave lapses in March."}, name="manuals")[0]


@pytest.mark.parametrize(
    ("via", "email", "actor"),
    [
        ("sign-in", "ada@example.org", "ada@example.org"),
        ("link", "ada@example.org", "ada@example.org"),
        ("link", None, "deleted account"),
        ("link", "", "anyone with the link"),
        ("local", "", "local administrator"),
    ],
)
def test_whose_doing_an_entry_was(via, email, actor):
    entry = AuditEntry(datetime(2026, 1, 1, tzinfo=UTC), "p", via, "", None, "", "kind", "act")
    assert audit_actor(AuditLine(1, entry, email)) == actor


def test_what_is_done_is_kept_in_the_audit_log(workspace):
    workspace.base("manuals").recipes.save(QUICK)
    assert workspace.access.audit.lines() == []  # nobody signs in: there is one user
    ann, ben = (view(workspace, signed_in(workspace, name)) for name in ("ann", "ben"))
    base = ann.base("manuals")
    base.access.add_member("ben@example.org", "labeller")
    base.search("leave", QUICK)
    base.ask("When is leave lost?", QUICK)
    ben.base("manuals").questions.create_set("mine")
    with pytest.raises(NotAllowed):
        ben.base("manuals").recipes.save(QUICK)
    ben.create("more", QUICK)
    ben.delete("more")

    def told(
        principal: ScopedWorkspace, **wanted: str
    ) -> list[tuple[str | None, str, str, str, str]]:
        found = reversed(principal.audit(**wanted))
        return [
            (line.email, line.entry.base, line.entry.kind, line.entry.action, line.entry.detail)
            for line in found
        ]

    everything = [
        ("ann@example.org", "manuals", "members", "access.add_member", "ben@example.org, labeller"),
        ("ann@example.org", "manuals", "search", "search", ""),
        ("ann@example.org", "manuals", "ask", "ask", ""),
        ("ben@example.org", "manuals", "labels", "questions.create_set", "mine"),
        ("ben@example.org", "more", "base", "create", ""),
        ("ben@example.org", "more", "base", "delete", ""),
    ]
    assert told(ann) == everything
    assert told(ann, person="ben", kind="labels") == [everything[3]]
    assert told(ann, base="more") == everything[4:]
    assert told(ben) == []  # owns nothing
    ann.base("manuals").access.change_member("ben@example.org", "owner")
    assert {line.entry.base for line in ben.audit()} == {"manuals"}


def test_details_are_names_without_switches_and_ids_of_people(workspace):
    ann = signed_in(workspace, "ann")
    base = view(workspace, ann).base("manuals")
    base.access.create_link("fair", 3, ann.id)
    evidence = [{"document": "leave.md", "quote": "Unused leave lapses"}]
    question = {"id": "q", "text": "When is leave lost?", "evidence": evidence}
    base.questions.import_file("mine", "mine.jsonl", json.dumps(question))
    base.runs.start_evaluation("mine", QUICK, ignore_identical=False)
    found = {line.entry.action: line.entry.detail for line in workspace.access.audit.lines()}
    assert found["access.create_link"] == "fair"
    assert found["runs.start_evaluation"] == "mine"


def test_the_log_outlives_an_account_without_its_name(workspace):
    signed_in(workspace, "ann")
    person = signed_in(workspace, "ben")
    ben = view(workspace, person)
    ben.create("=more", QUICK)
    held = ben.base("=more")
    secret, _ = ben.create_token("mine", ["read"])
    held.conversations.open(None)
    with pytest.raises(InvalidInput, match="only owner of =more"):
        ben.forget(person)
    ben.delete("=more")
    shared = workspace.base("manuals")
    shared.access.add_member("ben@example.org")
    ben.base("manuals").conversations.open(None)
    assert ben.forget(person) == {"conversations": 1, "votes": 0, "tokens": 1, "memberships": 1}
    assert workspace.access.tokens.holder(secret) is None
    assert [each.email for each in workspace.access.people.list_all()] == ["ann@example.org"]
    lines = workspace.access.audit.lines()
    assert {audit_actor(line) for line in lines} == {"deleted account"}
    rows = audit_csv(lines).splitlines()
    assert rows[0] == "at,who,via,key,knowledge_base,kind,action,detail"
    assert rows[-1].partition(",")[2] == "deleted account,page,,'=more,base,create,"
    assert "ben@" not in audit_csv(lines)


def test_what_others_did_with_an_account_outlives_it_without_its_address(workspace):
    ann, person = view(workspace, signed_in(workspace, "ann")), signed_in(workspace, "ben")
    members = ann.base("manuals").access
    for address in ("ben@example.org", "ruben@example.org"):
        members.add_member(address, "editor")
        members.change_member(address, "viewer")
    members.remove_member("ben@example.org")
    view(workspace, person).forget(person)
    told = [line.entry.detail for line in reversed(ann.audit(base="manuals"))]
    assert told == [
        *("deleted account, editor", "deleted account, viewer"),
        *("ruben@example.org, editor", "ruben@example.org, viewer"),
        "deleted account",
    ]


def test_a_search_is_noted_in_every_base_that_it_searches(workspace):
    ann = view(workspace, signed_in(workspace, "ann"))
    ann.create("other", QUICK)
    add(workspace, workspace.base("other"), {"cats.md": "Cats purr."})
    ann.base("manuals").search("leave", QUICK, ann.beside("manuals", [FurtherBase("other")]))
    told = {(line.entry.base, line.entry.action) for line in ann.audit(kind="search")}
    assert told == {("manuals", "search"), ("other", "explanations.part")}


def test_texts_are_not_in_the_log(workspace):
    ann = view(workspace, signed_in(workspace, "ann"))
    base = ann.base("manuals")
    base.conversations.prompts.save(
        "strict", base.conversations.prompts.wording().text("strict") + " Rosebud."
    )
    base.questions.import_file("mine", "mine.jsonl", '{"id": "q1", "text": "Rosebud?"}')
    told = [line.entry.detail for line in reversed(ann.audit(base="manuals"))]
    assert told == ["strict", "mine, mine.jsonl"]


def test_members_are_told_who_saved_the_recipe_last(workspace):
    ann, ben = (view(workspace, signed_in(workspace, name)) for name in ("ann", "ben"))
    base = ann.base("manuals")
    assert ann.recipe_saver(base.id) == ""
    base.access.add_member("ben@example.org", "viewer")
    base.recipes.save(QUICK)
    base.runs.name_recipe(QUICK, "quick")
    assert ben.recipe_saver(base.id) == "ann@example.org"
    base.access.change_member("ben@example.org", "editor")
    wider = QUICK.with_fields({"search.top_k": 9})
    ben.base("manuals").recipes.save(wider, instead_of=QUICK)
    assert ann.recipe_saver(base.id) == "ben@example.org"
    base.access.remove_member("ben@example.org")
    with pytest.raises(NotFound):
        ben.recipe_saver(base.id)
