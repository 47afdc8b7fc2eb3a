"""An import that takes the place of a question set loses nothing: its version is brought back."""

import json
from pathlib import Path

import pytest

from rag import AlreadyExists, InvalidInput, KnowledgeBase, NotFound, Workspace
from tests.api import client
from tests.workspaces import QUICK, add, stocked

pytestmark = pytest.mark.usefixtures("database")

SET = "checks"
LEAVE = "Unused leave may be carried over.\n\nIt lapses after three months.\n\nIllness stops that."
WHEN, WHO = "When does leave lapse?", "Who may keep it?"


def line(text: str, quote: str = "", **more: object) -> str:
    evidence = [{"document": "leave.md", "quote": quote, "grade": 1}] if quote else []
    return json.dumps({"id": text[:4], "text": text, "evidence": evidence, **more})


FILE = line(WHEN, "Illness stops that")


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return stocked(home, {"leave.md": LEAVE})[0]


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    """With a set of two questions and three labels that were made by hand."""
    base = workspace.base("handbook")
    (document,) = base.documents.documents(QUICK.index)
    for text, words, grade in (
        (WHEN, "It lapses after three months.", 3),
        (WHEN, "Unused leave", 0),
        (WHO, "Illness stops", 2),
    ):
        start = LEAVE.index(words)
        span = document.id, start, start + len(words)
        base.questions.grade(SET, text, *span, grade)
    return base


def held(base: KnowledgeBase) -> list[tuple[str, list[tuple[str, int, str]]]]:
    return [
        (item.text, [(label.quote, label.grade, label.origin) for label in item.labels])
        for item in base.questions.labelled(SET)
    ]


BY_HAND = [
    (WHEN, [("It lapses after three months.", 3, "hand"), ("Unused leave", 0, "hand")]),
    (WHO, [("Illness stops", 2, "hand")]),
]
FROM_FILE = [(WHEN, [("Illness stops that", 1, "file")])]


def test_what_an_import_replaces_is_brought_back(base):
    assert held(base) == BY_HAND
    version = base.questions.named(SET).version
    assert base.questions.import_file(SET, "x.jsonl", FILE).replaced == version
    assert held(base) == FROM_FILE
    (kept,) = base.questions.kept_versions(SET)
    assert (kept.version, kept.questions, kept.labels) == (version, 2, 3)
    assert base.questions.restore_version(SET, version) == version + 1
    assert held(base) == BY_HAND
    assert base.questions.named(SET).version == version + 2
    assert [each.version for each in base.questions.kept_versions(SET)] == [version + 1, version]
    base.questions.restore_version(SET, version + 1)
    assert held(base) == FROM_FILE


def test_a_version_that_is_not_kept_is_named_with_those_that_are(base):
    version = base.questions.import_file(SET, "x.jsonl", FILE).replaced
    with pytest.raises(NotFound, match="Version 99") as raised:
        base.questions.restore_version(SET, 99)
    assert raised.value.hint == f"There are: {version}."
    assert held(base) == FROM_FILE


def test_labels_that_come_back_are_where_their_words_are_by_then(base, workspace):
    version = base.questions.import_file(SET, "x.jsonl", FILE).replaced
    assert version is not None
    add(workspace, base, {"leave.md": f"Of leave in general.\n\n{LEAVE}"})
    base.questions.restore_version(SET, version)
    assert held(base) == BY_HAND
    assert base.questions.lost_labels(SET) == []
    start = len("Of leave in general.\n\n") + LEAVE.index("It lapses")
    assert base.questions.labelled(SET)[0].labels[0].start == start


def test_the_same_questions_again_replace_nothing(base):
    base.questions.import_file("other", "x.jsonl", FILE)
    assert base.questions.import_file("other", "x.jsonl", FILE).replaced is None
    assert base.questions.kept_versions("other") == []
    base.questions.create_set("empty")
    assert base.questions.import_file("empty", "x.jsonl", FILE).replaced is None


def test_the_newest_versions_are_kept(base):
    for number in range(22):
        base.questions.import_file("other", "x.jsonl", line(f"Number {number}?"))
    kept = [each.version for each in base.questions.kept_versions("other")]
    assert kept == list(range(21, 1, -1))
    base.questions.delete_set("other")
    base.questions.import_file("other", "x.jsonl", FILE)
    assert base.questions.kept_versions("other") == []


def test_adding_leaves_what_is_there_as_it_is(base):
    (when, who) = (item.id for item in base.questions.labelled(SET))
    version = base.questions.named(SET).version
    again = {"document": "leave.md", "quote": "It lapses after three months.", "grade": 1}
    more = {"document": "leave.md", "quote": "Illness stops that.", "grade": 2}
    lines = [
        json.dumps({"id": "a", "text": f" {WHEN.upper()} ", "evidence": [again, more]}),
        json.dumps({"id": who, "text": "Another one?", "answerable": False}),
    ]
    came = base.questions.import_file(SET, "x.jsonl", "\n".join(lines), existing="add")
    assert (came.number, came.replaced) == (2, None)
    first = (WHEN, [*BY_HAND[0][1], ("Illness stops that.", 2, "file")])
    assert held(base) == [first, BY_HAND[1], ("Another one?", [])]
    ids = [item.id for item in base.questions.labelled(SET)]
    assert ids[:2] == [when, who]
    assert len(set(ids)) == 3
    assert base.questions.named(SET).version == version + 1


def test_a_question_without_an_answer_gets_one_by_a_label_that_is_added(base):
    base.questions.import_file("other", "x.jsonl", line(WHEN, answerable=False))
    base.questions.import_file("other", "x.jsonl", FILE, existing="add")
    (question,) = base.questions.labelled("other")
    assert (question.answerable, len(question.labels)) == (True, 1)


def test_a_question_without_an_answer_gets_none_by_a_label_of_no_relevance(base):
    nothing = {"document": "leave.md", "quote": "Illness stops that", "grade": 0}
    judged = json.dumps({"id": "a", "text": WHEN, "evidence": [nothing]})
    base.questions.import_file("other", "x.jsonl", line(WHEN, answerable=False))
    base.questions.import_file("other", "x.jsonl", judged, existing="add")
    (question,) = base.questions.labelled("other")
    assert question.answerable is False
    assert [(label.quote, label.grade) for label in question.labels] == [("Illness stops that", 0)]


def test_a_set_that_is_there_can_be_refused(base):
    with pytest.raises(AlreadyExists, match="'checks' exists already"):
        base.questions.import_file(SET, "x.jsonl", FILE, existing="refuse")
    assert held(base) == BY_HAND
    base.questions.import_file("new", "x.jsonl", FILE, existing="refuse")
    assert [item.text for item in base.questions.labelled("new")] == [WHEN]
    with pytest.raises(InvalidInput, match="'merge'"):
        base.questions.import_file(SET, "x.jsonl", FILE, existing="merge")


def test_the_api_replaces_by_default_and_brings_back(base, workspace):
    inside, address = client(workspace), f"/api/v1/knowledge-bases/{base.id}/question-sets"
    version = base.questions.named(SET).version

    def bring(**choice: str) -> tuple[int, dict[str, object]]:
        file = {"file": ("x.jsonl", FILE)}
        came = inside.post(f"{address}/import", data={"name": SET, **choice}, files=file)
        return came.status_code, came.json()

    assert bring(existing="refuse")[0] == 409
    assert bring(existing="merge")[0] in (400, 422)
    status, told = bring()
    assert (status, told["replaced_version"]) == (201, version)
    (kept,) = inside.get(f"{address}/{SET}/versions").json()["items"]
    assert (kept["version"], kept["questions"], kept["labels"]) == (version, 2, 3)
    back = inside.post(f"{address}/{SET}/versions/{version}/restore")
    assert (back.status_code, back.json()["questions"]) == (200, 2)
    assert held(base) == BY_HAND
    assert inside.post(f"{address}/{SET}/versions/99/restore").status_code == 404


def test_an_edit_that_changes_nothing_makes_no_version(base):
    base.questions.add_question(SET, "Who won?", answerable=False)
    (when, who, won), version = base.questions.labelled(SET), base.questions.named(SET).version
    (label,) = who.labels
    span = str(label.document_id), label.start, label.end
    first = when.labels[0]
    base.questions.collect_with_grades(SET, won.text, answerable=False)
    base.questions.edit_question(SET, won.id, answerable=False)
    base.questions.label(SET, who.id, *span, label.grade)
    base.questions.set_grade(SET, label.id, label.grade)
    base.questions.set_nugget(SET, label.id, "")
    base.questions.grade(SET, who.text, *span, label.grade)
    base.questions.collect_with_grades(SET, who.text)
    base.questions.edit_question(SET, who.id, text=who.text, tags=who.tags, answer="")
    base.questions.delete_questions(SET, ["unknown"])
    base.questions.collect(SET, who.text)
    base.questions.accept_proposals(SET, [who.id])
    base.questions.add_judgements(SET, {})
    base.questions.save(SET, base.questions.export(SET), "replace")
    base.questions.save(SET, base.questions.export(SET), "add")
    assert base.questions.named(SET).version == version
    assert base.questions.kept_versions(SET) == []
    base.questions.set_grade(SET, first.id, 0)
    base.questions.collect_with_grades(SET, who.text, answer="The works council.")
    assert base.questions.named(SET).version == version + 2
