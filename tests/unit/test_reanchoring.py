"""Labels outlive their documents: new versions, deletion, and coming back."""

import json

import pytest

from rag import KnowledgeBase, Label, Workspace
from tests.workspaces import QUICK, add

SET = "checks"
RULE = "Up to eight days of unused leave may be carried over."
TEXT = f"# Leave\n\nGeneral words on leave.\n\n{RULE} It lapses in June.\n"


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    made = workspace.create("handbook", QUICK)
    add(workspace, made, {"leave.md": TEXT})
    _import(made, {"document": "leave.md", "quote": RULE, "grade": 2})
    return made


def _import(base: KnowledgeBase, *labels: dict[str, object]) -> None:
    row = {"id": "q", "text": "How much leave may be carried over?", "evidence": labels}
    base.questions.import_file(SET, "checks.jsonl", json.dumps(row))


def _labels(base: KnowledgeBase) -> list[Label]:
    return list(base.questions.labelled(SET)[0].labels)


def _words(base: KnowledgeBase) -> list[str]:
    """What stands at the labels that count, in the documents as they are."""
    return [
        base.documents.document(each.document_id).text[each.start : each.end]
        for each in base.questions.usable(SET)[0].evidence
        if not each.lost
    ]


def test_a_new_version_keeps_the_label_at_its_words(workspace, base):
    version = base.questions.named(SET).version
    add(workspace, base, {"leave.md": "A new preface.\n\n" + TEXT})
    assert _words(base) == [RULE]
    assert base.questions.lost_labels(SET) == []
    assert base.questions.named(SET).version == version + 1
    assert base.runs.evaluate(SET, QUICK, (5,)).results[0].relevant == 1


def test_a_label_that_lost_its_words_is_listed_until_they_come_back(workspace, base):
    before = _labels(base)
    add(workspace, base, {"leave.md": "# Leave\n\nAsk your manager.\n"})
    assert _words(base) == []
    assert base.questions.lost_labels(SET) == [("q", before[0])]
    edited = TEXT.replace("eight", "nine").replace("words", "remarks")
    add(workspace, base, {"leave.md": edited})
    assert _words(base) == [RULE.replace("eight", "nine")]
    assert [each.quote for each in _labels(base)] == _words(base)
    assert base.questions.lost_labels(SET) == []


def test_a_deleted_document_leaves_its_labels(workspace, base):
    document = base.documents.documents(QUICK.index)[0].id
    base.documents.delete_documents([document])
    assert [label.quote for _, label in base.questions.lost_labels(SET)] == [RULE]
    add(workspace, base, {"copy.md": TEXT})  # the same bytes under another name
    assert _words(base) == [RULE]
    base.documents.delete_documents([document])
    add(workspace, base, {"leave.md": "More.\n\n" + TEXT})  # other bytes under the old name
    assert _words(base) == [RULE]
    assert base.questions.lost_labels(SET) == []


def test_labels_that_come_before_their_document_wait_for_it(workspace, base):
    travel = "Trains are booked in second class."
    _import(
        base,
        {"document": "travel.md", "quote": "booked in  second class", "grade": 3},
        {"document": "notes.md"},
        {"document": "notes.md", "start": 0, "end": 5, "grade": 0},
    )
    assert [label.document_name for _, label in base.questions.lost_labels(SET)] == [
        "travel.md",
        "notes.md",
        "notes.md",
    ]
    exported = base.questions.export_text(SET, "jsonl")
    assert json.loads(exported)["evidence"][0]["quote"] == "booked in  second class"
    add(workspace, base, {"travel.md": travel, "notes.md": "Notes on trains."})
    assert base.questions.lost_labels(SET) == []
    placed = [(each.start, each.end, each.grade, each.quote) for each in _labels(base)]
    assert placed == [(11, 33, 3, "booked in second class"), (0, None, 1, ""), (0, 5, 0, "Notes")]


def test_of_repeated_words_the_same_one_is_meant(workspace, base):
    def table(rows: int) -> str:
        return "\n\n".join(f"Row {number}: approved." for number in range(rows))

    add(workspace, base, {"table.md": table(20)})
    document = next(
        each.id for each in base.documents.documents(QUICK.index) if each.name == "table.md"
    )
    start = table(20).index("Row 15") + len("Row 15: ")
    base.questions.label(SET, "q", document, start, start + len("approved."), 1)
    add(workspace, base, {"table.md": table(20).replace("Row 15:", "Line 15:")})
    moved = _labels(base)[1]
    text = base.documents.document(str(moved.document_id)).text
    assert text[: moved.end].endswith("Line 15: approved.")
    add(workspace, base, {"table.md": table(20).replace("Row 15:", "Row 15:\n\n")})
    moved = _labels(base)[1]
    text = base.documents.document(str(moved.document_id)).text
    assert text[: moved.end].endswith("Row 15:\n\n approved.")
    add(workspace, base, {"table.md": table(20).replace("Row", "The long row number")})
    moved = _labels(base)[1]
    text = base.documents.document(str(moved.document_id)).text
    assert text[: moved.end].endswith("The long row number 15: approved.")


def test_labels_of_whole_documents_follow_the_name(workspace, base):
    _import(base, {"document": "leave.md", "grade": 2})
    add(workspace, base, {"leave.md": "# Leave\n\nSomething else altogether.\n"})
    document = base.documents.documents(QUICK.index)[0].id
    assert [(each.document_id, each.end) for each in _labels(base)] == [(document, None)]


def test_other_knowledge_bases_keep_their_labels(workspace, base):
    other = workspace.create("other", QUICK)
    add(workspace, other, {"leave.md": TEXT})
    _import(other, {"document": "leave.md", "quote": RULE})
    add(workspace, base, {"leave.md": "Nothing."})
    assert _words(other) == [RULE]
    assert len(base.questions.lost_labels(SET)) == 1


def test_words_copied_from_a_page_become_a_label_of_the_row(workspace):
    base = workspace.create("payments", QUICK)
    row = "| £500 | Apprentices | £250 |"
    table = f"| Amount | Roles | At the start |\n|---|---|---|\n{row}\n| £900 | Engineers | £450 |"
    add(workspace, base, {"referral.md": f"# Referral\n\n{table}\n"})
    shown = "Amount: £500 · Roles: Apprentices · At the start: £250"
    _import(base, {"document": "referral.md", "quote": shown, "grade": 3})
    assert _words(base) == ["£500\tApprentices\t£250"]
    assert base.questions.lost_labels(SET) == []
