"""Permission audits: planted leaks are all found, none are invented, and matrices are checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rag import (
    AccessMatrix,
    HttpSystem,
    InvalidInput,
    KnowledgeBase,
    NotAllowed,
    NotFound,
    PermissionReport,
    Settings,
    Workspace,
)
from rag.__main__ import main
from rag.systems.permissions.canaries import Canaries
from rag.systems.permissions.matrix import Canary, Patterns
from rag.systems.permissions.rules import AccessRule
from tests.people import signed_in, view
from tests.runs import DOCUMENTS, SET, WORDS, handbook
from tests.servers import Reply, scripted
from tests.workspaces import add

PUMP = "Grease the bearing every 500 hours with lithium grease."
LEAVE = "Unused leave may be carried over until 30 June."
USERS: dict[str, dict[str, str | list[str]]] = {
    "anna": {"department": "hr"},
    "ben": {"department": "works"},
}
HIDDEN: dict[str, Any] = {
    "users": USERS,
    "documents": {"leave.md": ["anna"], "pump.txt": ["ben"], "*": "*"},
}


def opened(home: Path) -> tuple[Workspace, KnowledgeBase]:
    """The handbook, which may ask this machine."""
    handbook(home)[0].close()
    workspace = Workspace(Settings.from_env({"TOUCHSTONE_ALLOW_PRIVATE_URLS": "1"}, home=home))
    return workspace, workspace.base("handbook")


def audited(
    workspace: Workspace, base: KnowledgeBase, matrix: Mapping[str, Any], **options: Any
) -> PermissionReport:
    if "system" not in options:
        options.setdefault("recipe", WORDS)
    job = base.permission_audits.start(AccessMatrix.parse(matrix), **options)
    row = workspace.jobs.run(job)
    assert row.status == "done", row.message
    return base.permission_audits.result_of(job)


def leaking(report: PermissionReport) -> set[tuple[str, str, str]]:
    return {(leak.user, leak.document, leak.kind) for leak in report.listed}


def test_a_recipe_without_filters_leaks_what_the_matrix_hides(home: Path) -> None:
    workspace, base = handbook(home)
    report = audited(workspace, base, HIDDEN, set_name=SET)
    assert leaking(report) == {("anna", "pump.txt", "document"), ("ben", "leave.md", "document")}
    found = [leak for leak in report.listed if leak.question == "Why is there a grinding noise?"]
    assert [(leak.user, leak.rank, leak.document) for leak in found] == [("anna", 1, "pump.txt")]
    assert (report.documents, report.restricted, report.reached) == (3, 2, 2)
    assert (report.outcome, report.leaks) == ("leaks", len(report.listed))
    assert sum(user.leaks for user in report.users) == report.leaks
    assert "2 of 2 users got passages that they must not see" in report.headline


def test_a_recipe_with_a_filter_of_each_user_leaks_nothing(home: Path) -> None:
    workspace, base = handbook(home)
    for name, tag in {"leave.md": "department:hr", "pump.txt": "department:works"}.items():
        base.documents.tag(name, [tag])
    base.documents.tag("travel.txt", ["public"])
    matrix = {
        "users": USERS,
        "rule": "department == user.department || contains(tags, 'public')",
        "filters": {"tags": ["public", "department:{user.department}"]},
    }
    report = audited(workspace, base, matrix, set_name=SET)
    assert (report.outcome, report.leaks, report.reached) == ("passed", 0, 2)
    assert report.headline.startswith("No leaks: 2 users asked")
    loose = audited(workspace, base, {**matrix, "filters": {}}, set_name=SET)
    assert leaking(loose) == {("anna", "pump.txt", "document"), ("ben", "leave.md", "document")}


def test_text_beside_a_passage_that_the_prompt_shows_is_a_leak(home: Path) -> None:
    workspace, base = handbook(home)
    recipe = WORDS.with_fields(
        {"index.chunk_size": 16, "search.top_k": 1, "search.context": "section"}
    )
    workspace.jobs.run(base.documents.build(recipe.index))
    canary = {"text": "Everybody has 29 days of annual leave", "users": ["anna"]}
    matrix = {"users": USERS, "documents": {"*": "*"}, "canaries": [canary]}
    narrow = recipe.with_fields({"search.context": "passage"})
    asked = {"set_name": SET, "probes": 0}
    near = "How long may unused leave be carried over?"
    rows = audited(workspace, base, matrix, recipe=narrow, **asked).listed
    assert near not in {leak.question for leak in rows}
    wide = audited(workspace, base, matrix, recipe=recipe, **asked).listed
    assert near in {leak.question for leak in wide}
    assert {(leak.user, leak.kind) for leak in wide} == {("ben", "passage")}


@contextmanager
def rival(base: KnowledgeBase, replies: Mapping[str, list[str]]) -> Iterator[list[Any]]:
    """A stored system whose answer depends on the user that the request names."""
    with scripted() as server:
        fields = {
            "name": "rival",
            "url": server.url + "/search?as={user}",
            "method": "POST",
            "body": '{"q": "{question}", "groups": ["all", "{user.department}"]}',
        }
        base.systems.add(HttpSystem.parse(fields))

        def reply(path: str) -> Reply:
            user = path.rpartition("=")[2]
            if user not in replies:
                return Reply(500)
            return Reply(body=json.dumps([{"text": text} for text in replies[user]]))

        server.reply_to = reply
        yield server.requests


def test_a_system_is_asked_as_each_user_and_its_leaks_have_their_rank(home: Path) -> None:
    workspace, base = opened(home)
    replies = {"anna": ["Train journeys are second class.", f"**{PUMP}**"], "ben": [PUMP]}
    with rival(base, replies) as requests:
        report = audited(workspace, base, HIDDEN, system="rival", set_name=SET, probes=0)
    assert leaking(report) == {("anna", "pump.txt", "document")}
    assert {leak.rank for leak in report.listed} == {2}
    assert report.leaks == 5
    assert {tuple(request["groups"]) for request in requests} == {("all", "hr"), ("all", "works")}
    assert base.permission_audits.result("rival") == report
    assert base.permission_audits.result() is None


def test_copies_and_texts_of_no_document_are_no_leaks(home: Path) -> None:
    workspace, base = opened(home)
    add(workspace, base, {"copy.txt": f"For everybody.\n\n{PUMP}"})
    texts = [PUMP, "Bread is baked at 220 degrees for hours and hours."]
    with rival(base, {"anna": texts, "ben": [*texts, LEAVE]}):
        report = audited(workspace, base, HIDDEN, system="rival", probes=1)
    assert leaking(report) == {("ben", "leave.md", "document")}
    assert report.unlocated == 2


def test_a_user_whose_questions_fail_is_not_reported_as_safe(home: Path) -> None:
    workspace, base = opened(home)
    with rival(base, {"anna": [LEAVE]}):  # the system fails for ben
        report = audited(workspace, base, HIDDEN, system="rival", set_name=SET)
    assert (report.outcome, report.leaks) == ("incomplete", 0)
    anna, ben = report.users
    assert (anna.errors, ben.errors, ben.results) == (0, report.questions, 0)
    assert "answers 500" in ben.error
    with rival(base, {}):
        job = base.permission_audits.start(AccessMatrix.parse(HIDDEN), system="rival")
        row = workspace.jobs.run(job)
    assert row.status == "failed"
    assert "questions failed" in row.message


def test_no_leak_means_nothing_where_nothing_restricted_comes_back(home: Path) -> None:
    workspace, base = opened(home)
    with rival(base, {"anna": [], "ben": ["Train journeys are second class."]}):
        report = audited(workspace, base, HIDDEN, system="rival", set_name=SET)
    assert (report.outcome, report.leaks) == ("untested", 0)
    assert "no restricted document came back" in report.headline


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The code of the vault is 4711 and changes on Monday.", True),
        ("Before. THE CODE  of the vault\nis <b>4711</b> and changes on Monday. After.", True),
        ("The code of the vault is", True),
        ("…of the vault is 4711 and changes on Monday. More follows here.", True),
        ("Some text before it ends with: The code of the vault", True),
        ("The code of the door is 4711 and changes daily.", False),
        ("The code", False),
        ("", False),
    ],
)
def test_canaries_are_recognised_by_their_letters(text: str, found: bool) -> None:
    secret = "The code of the vault is 4711 and changes on Monday."
    canaries = Canaries([Canary(text=secret, users=["anna"])])
    assert canaries.in_text(text) == ([0] if found else [])
    assert (canaries.allows(0, "anna"), canaries.allows(0, "ben")) == (True, False)


def test_a_table_with_a_column_of_each_user_is_a_matrix() -> None:
    text = (
        "\ufeffdocument,passage,anna,ben\r\nleave.md,,yes,no\n'=odd.txt,,x,\n,,,\n"
        ',"The code of the vault, 4711",1,0\n*,,true,TRUE\n'
    )
    matrix = AccessMatrix.read(text)
    assert matrix.documents == {
        "leave.md": ["anna"],
        "=odd.txt": ["anna"],
        "*": ["anna", "ben"],
    }
    assert [canary.users for canary in matrix.canaries] == [["anna"]]


def test_the_template_is_a_matrix_of_all_documents(home: Path) -> None:
    base = handbook(home)[1]
    matrix = AccessMatrix.read(base.permission_audits.template())
    assert matrix.documents == {name: ["anna"] for name in DOCUMENTS}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column document or passage"),
        ("document\nx,1\n", "no column document or passage"),
        ("document,anna,anna\nx,1,1\n", "Two columns"),
        ("document,anna\nx,perhaps\n", "Line 2 of the access matrix: 'perhaps' is neither"),
        ("document,anna\nx,1\nx,0\n", "Line 3 of the access matrix is a second row for 'x'"),
        ("document,passage,anna\n,short one,1\n", "at least 16 letters"),
        ('document,anna\n"x,1\n', "is not CSV"),
        ("{oops", "is not JSON"),
        ('{"users": {}}', "users"),
        ('{"users": {"anna": {}}, "documents": {"x": ["carl"]}}', "'carl' is not one of"),
        ('{"users": {"anna": {}}, "rule": "a == "}', "not a JMESPath expression"),
        ('{"users": {"anna": {}}, "rule": "team == user.team"}', "needs team of the user 'anna'"),
        ('{"users": {"{question}": {}}}', "without braces"),
        ('{"users": {"a\\nb": {}}}', "without braces"),
        ('{"users": {"anna": {}}, "filters": {"rewrite": "yes"}}', "'rewrite' is not a filter"),
        ('{"users": {"anna": {"a": 1}}}', "users.anna.a"),
        ('{"users": {"anna": {}}, "documents": {"***********": "*"}}', "documents"),
        ("[" * 100_000, "no column"),
        ('{"a":' * 100_000, "nested too deep"),
    ],
)
def test_a_matrix_that_is_none_says_where(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        AccessMatrix.read(text)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ({"users": USERS, "documents": {"leave.md": ["anna"]}}, "no row for 2 of 3 documents"),
        ({"users": USERS, "documents": {"*": "*"}}, "nothing to audit"),
        ({"users": USERS, "rule": "name"}, "neither true nor false"),
        ({"users": USERS, "rule": "contains(tags.x, 'y')"}, "can't be applied"),
        (HIDDEN | {"filters": {"after": "{user.department}"}}, "The filters of the user 'anna'"),
    ],
)
def test_an_audit_that_cannot_be_is_refused_at_once(
    home: Path, matrix: dict[str, Any], message: str
) -> None:
    base = handbook(home)[1]
    with pytest.raises(InvalidInput) as caught:
        base.permission_audits.start(AccessMatrix.parse(matrix), WORDS)
    assert message in caught.value.message


def test_an_audit_names_what_exists(home: Path) -> None:
    base = handbook(home)[1]
    matrix = AccessMatrix.parse(HIDDEN)
    for options in ({"system": "none"}, {"recipe": WORDS, "set_name": "none"}):
        with pytest.raises(NotFound):
            base.permission_audits.start(matrix, **options)  # type: ignore[arg-type]
    with pytest.raises(NotFound, match="no result"):
        base.permission_audits.result_of(base.permission_audits.start(matrix, WORDS))


@pytest.mark.parametrize(
    "rule",
    [
        "(user | dept) == dept",
        "[user][0].dept == dept",
        "dept == @.user.dept",
        "(*.dept)[0] == dept",
        "values(@)[0].dept == dept",
        "user.*[0] == dept",
        "user == `{}`",
        "user.{a: dept}.a == dept",
        "length(tags[?user.dept == user.dept]) > `0`",
    ],
)
def test_a_rule_takes_fields_of_a_user_by_their_names(rule: str) -> None:
    with pytest.raises(InvalidInput, match="The rule uses"):
        AccessRule(rule)


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("department == user.department || contains(tags, 'public')", {"department"}),
        ("contains(user.groups, department) && user.name != 'x'", {"groups", "name"}),
        ("length(user.groups[?@ == 'x']) > `0`", {"groups"}),
        ("user.groups[0] == department", {"groups"}),
        ("not_null(user.groups[], `[]`) == tags", {"groups"}),
        ("length(tags[?starts_with(@, 'x')]) > `0` && !(user.a)", {"a"}),
    ],
)
def test_fields_that_a_rule_takes_of_a_user(rule: str, fields: set[str]) -> None:
    assert AccessRule(rule).user_fields == fields


def test_the_first_pattern_that_fits_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = Patterns(["HR/*.pdf", "hr/[a]?.txt", "*.txt", "hr/*", "*"])
    names = ("hr/a.PDF", "hr/[A]1.txt", "hr/a1.txt", "hr/a.doc", "h")
    assert [matrix.first_fit(name) for name in names] == [
        "HR/*.pdf",
        "hr/[a]?.txt",
        "*.txt",
        "hr/*",
        "*",
    ]
    assert Patterns(["hr/x", "b*"]).first_fit("HR/X") == "hr/x"
    assert Patterns(["hr/x", "b*"]).first_fit("hr/xy") is None
    monkeypatch.setattr("rag.systems.permissions.matrix.MOST_COMPARISONS", 100)
    apart = Patterns(f"{number}/*" for number in range(101))
    assert apart.first_fit("100/a") == "100/*"
    users = {"anna": {}, "ben": {}}
    rows = {f"*{number}": ["anna"] for number in range(101)}
    hostile = AccessMatrix.parse({"users": users, "documents": rows})
    with pytest.raises(InvalidInput, match="too many patterns"):
        hostile.readers([{"id": "d", "name": "x", "tags": [], "type": "", "day": ""}])


def test_fields_of_a_user_go_where_the_request_names_them() -> None:
    system = HttpSystem.parse(
        {
            "name": "rival",
            "url": "https://x.example/of/{user}?q={question}&d={user.department}",
            "method": "POST",
            "body": '{"as": "{user}", "groups": "{user.groups}", "all": ["x", "{user.groups}"]}',
            "headers": {"X-User": "{user}", "Authorization": "Bearer {user.key}"},
        }
    )
    fields: dict[str, str | list[str]] = {
        "name": "a/n&a",
        "department": "hr",
        "groups": ["one", "two"],
        "key": "TOUCHSTONE_TOOL_ANNA",
    }
    filled = system.as_user(fields)
    assert filled.url == "https://x.example/of/a%2Fn%26a?q={question}&d=hr"
    assert json.loads(filled.body) == {
        "as": "a/n&a",
        "groups": ["one", "two"],
        "all": ["x", "one", "two"],
    }
    assert filled.headers == {"X-User": "a/n&a", "Authorization": "Bearer TOUCHSTONE_TOOL_ANNA"}
    assert (system.variables, filled.variables) == ((), ("TOUCHSTONE_TOOL_ANNA",))
    with pytest.raises(InvalidInput, match="has no field 'key'"):
        system.as_user({"name": "x", "department": "hr", "groups": "y"})
    with pytest.raises(InvalidInput, match="The header X-User"):
        system.as_user(fields | {"name": "zoë"})
    with pytest.raises(InvalidInput, match="leads elsewhere"):
        system.as_user(fields | {"name": ".."})


def test_only_administrators_name_keys_of_users(home: Path) -> None:
    workspace, base = handbook(home)
    fields = {
        "name": "rival",
        "url": "https://x.example?q={question}",
        "headers": {"Authorization": "Bearer {user.key}"},
    }
    base.systems.add(HttpSystem.parse(fields))
    users = {"anna": {"key": "TOUCHSTONE_TOOL_ANNA"}, "ben": {"key": "other"}}
    matrix = AccessMatrix.parse({"users": users, "documents": {"*": ["anna"]}})
    signed_in(workspace, "boss")
    editor = signed_in(workspace, "ed")
    base.members.add(editor.email, "editor")
    audits = view(workspace, editor).base("handbook")
    with pytest.raises(NotAllowed, match="TOUCHSTONE_TOOL_ANNA"):
        audits.permission_audits.start(matrix, system="rival")


def test_the_command_line_fails_with_leaks_and_so_does_the_gate(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handbook(home)[0].close()
    file = tmp_path / "matrix.csv"
    file.write_text("document,anna,ben\nleave.md,1,0\n*,1,1\n")
    leaks = ["leaks", "handbook", "--matrix", str(file), "--questions", SET]
    assert main([*leaks, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["outcome"], data["listed"][0]["user"]) == ("leaks", "ben")
    assert main(["leaks", "handbook", "--template", str(tmp_path / "all.csv")]) == 0
    assert "leave.md,yes,no" in (tmp_path / "all.csv").read_text()
    gate = ["gate", "handbook", SET, "--min", "ndcg@10=0.1", "--matrix", str(file)]
    assert main(gate) == 1
    assert "1 of 2 users got passages" in capsys.readouterr().out
    file.write_text(
        '{"users": {"anna": {}, "ben": {}}, "documents": {"leave.md": ["anna"], '
        '"*": "*"}, "filters": {"documents": ["travel.txt", "pump.txt"]}}'
    )
    assert main([*leaks, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["outcome"] == "untested"
    file.write_text(file.read_text().replace('"leave.md": ["anna"]', '"zzz": ["anna"]'))
    assert main(leaks) == 2
    assert "nothing to audit" in capsys.readouterr().err
