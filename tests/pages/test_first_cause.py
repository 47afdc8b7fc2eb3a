"""The cause of a failed question: Chat, Inspector, Metrics and Failures name the same one."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from pandas import DataFrame
from streamlit.testing.v1 import AppTest

from rag import CAUSES, KnowledgeBase, Recipe, Workspace
from rag.experiments.tuning.diagnosis.causes import Cause
from tests.handbook import ask, texts, visit
from tests.workspaces import add, fill_home, workspace_at

FILES = {
    "leave.md": "Unused leave may be carried over until 30 June.",
    "pets.md": "The insurance of pets covers treatment of animals up to 400 euros.",
    "parking.md": "Parking permits are sold at the gate.",
    "visitors.md": "Visitors show parking permits of visitors when visitors park.",
    "desk.md": "The firm sees to it that my desk has a chip card, if I have to see the gate.",
}
QUESTIONS = {
    "Until when may leave be carried over?": "leave.md",
    "Where do visitors buy permits?": "parking.md",
    "If my dog has to see the vet, does the firm chip in?": "pets.md",
    "Can holidays that nobody took be taken next summer?": "leave.md",
}
BELOW, BEYOND, PARAPHRASED, DOUBTED = QUESTIONS
UNLABELLED = "Who won the world cup?"
UNANSWERABLE = "What is the phone number of the gate?"


@pytest.fixture
def workspace(home: Path) -> Workspace:
    fill_home(home, _prepare)
    return workspace_at(home)


def _prepare(home: Path) -> None:
    workspace = workspace_at(home)
    base = workspace.create("two", Recipe())
    add(workspace, base, FILES)
    rows = [
        {"id": name, "text": text, "evidence": [{"document": name, "quote": FILES[name]}]}
        for text, name in QUESTIONS.items()
    ]
    rows = [*rows, {"text": UNANSWERABLE, "answerable": False}]
    rows = [{**row, "id": str(number)} for number, row in enumerate(rows)]
    base.questions.import_file("checks", "x.jsonl", "\n".join(map(json.dumps, rows)))
    workspace.close()


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({"search.threshold": 0.99}, {BELOW: "threshold"}),
        ({"search.top_k": 1}, {BEYOND: "top_k", PARAPHRASED: "meaning_only"}),
        ({"search.refuse": 0.5}, {DOUBTED: "refused"}),
        ({}, {DOUBTED: "doubted"}),
    ],
    ids=["below the threshold", "below top-k, by one search", "off-topic", "doubtful"],
)
def test_every_door_names_the_same_cause(
    workspace: Workspace, changes: Mapping[str, float], causes: Mapping[str, Cause]
) -> None:
    base = workspace.base("two")
    recipe = base.recipe().with_fields(changes)
    base.recipes.save(recipe)
    workspace.jobs.run(base.runs.start_answers("checks", recipe))
    titles = {text: CAUSES[cause].title for text, cause in causes.items()}
    alone = {text: _first_cause(base, text, recipe) for text in titles}
    workspace.jobs.run(base.tuning.diagnoses.start("checks", recipe))
    for door in (
        alone,
        {text: _first_cause(base, text, recipe) for text in titles},
        _column("Answer"),
        _column("Evidence", metrics="Failures"),
    ):
        assert {text: door[text] for text in titles} == titles
    for number, (text, title) in enumerate(titles.items(), start=1):
        assert f"Cause: {title.lower()}." in _words(visit("inspector.py", q=text))
        app = ask(visit("chat.py"), text)
        if base.conversations.turns(number)[-1].state != "answered":
            app.session_state[f"chat_cause_{number}"] = True
            assert f"Cause: {title.lower()}." in _words(app.run())


def test_a_cause_names_the_relevant_passage_if_it_is_not_the_first(workspace: Workspace) -> None:
    base = workspace.base("two")
    base.recipes.save(base.recipe().with_fields({"search.top_k": 1}))
    parking, visitors = "parking.md", "visitors.md"
    first, *_ = [hit.document for hit in base.search(BEYOND, base.recipe()).hits]
    assert first == visitors
    evidence = [
        {"document": name, "quote": FILES[name], "grade": grade}
        for name, grade in ((visitors, 1), (parking, 3))
    ]
    row = {"id": "1", "text": BEYOND, "evidence": evidence}
    base.questions.delete_set("checks")
    base.questions.import_file("graded", "x.jsonl", json.dumps(row))
    said = _words(visit("inspector.py", q=BEYOND))
    assert "A relevant passage comes first." in said
    [about] = re.findall(r"Cause([^:]*):", said)
    assert [name for name in FILES if name in about] == [parking]


def test_the_first_relevant_passage_has_a_rank_of_all_candidates(workspace: Workspace) -> None:
    base = workspace.base("two")
    for top_k in (1, 5):
        base.recipes.save(base.recipe().with_fields({"search.top_k": top_k}))
        assert "rank 2 of all candidates" in _words(visit("inspector.py", q=BEYOND))


def test_a_question_without_labels_fails_by_what_its_answer_says(workspace: Workspace) -> None:
    base = workspace.base("two")
    recipe = base.recipe().with_fields({"search.refuse": "off"})
    for threshold, cause in ((0.9, "threshold"), (0.0, "doubted")):
        changed = recipe.with_fields({"search.threshold": threshold})
        assert _first_cause(base, UNLABELLED, changed) == CAUSES[cause].title
    answered = "How much does the insurance of pets cover?"
    assert _first_cause(base, answered, recipe) is None


def test_a_question_with_bad_grades_alone_fails_by_what_its_answer_says(
    workspace: Workspace,
) -> None:
    base = workspace.base("two")
    desk = next(
        one for one in base.documents.documents(base.recipe().index) if one.name == "desk.md"
    )
    base.questions.grade("checks", UNLABELLED, desk.id, 0, 9, -1)
    recipe = base.recipe().with_fields({"search.refuse": "off", "search.threshold": 0.9})
    assert _first_cause(base, UNLABELLED, recipe) == CAUSES["threshold"].title
    app = visit("inspector.py", q=UNLABELLED)
    assert not app.error


def test_a_doubt_about_a_question_that_no_document_answers_is_no_failure(
    workspace: Workspace,
) -> None:
    base = workspace.base("two")
    recipe = base.recipe()
    assert base.ask(UNANSWERABLE, recipe).answer.state == "doubtful"
    for _ in range(2):
        assert _first_cause(base, UNANSWERABLE, recipe) is None
        workspace.jobs.run(base.tuning.diagnoses.start("checks", recipe))
    assert UNANSWERABLE not in [
        one.text for one in base.tuning.diagnoses.result("checks").questions
    ]
    assert "Cause:" not in _words(visit("inspector.py", q=UNANSWERABLE))


def test_an_answer_that_is_not_the_expected_one_is_not_likely_right(workspace: Workspace) -> None:
    base = workspace.base("two")
    recipe = base.recipe()
    text = "How much does the insurance of pets cover?"
    evidence = [{"document": "pets.md", "quote": FILES["pets.md"]}]
    row = {"id": "1", "text": text, "answer": "99 francs", "evidence": evidence}
    base.questions.import_file("expected", "x.jsonl", json.dumps(row))
    answer = base.ask(text, recipe).answer
    title = answer.assessment.title(answer.mode) if answer.assessment else ""
    assert title in _words(visit("inspector.py", q=text))
    workspace.jobs.run(base.runs.start_answers("expected", recipe))
    shown = _words(visit("inspector.py", q=text))
    assert title not in shown
    assert shown.count(CAUSES["unexpected"].title) == 1
    assert f"{CAUSES['unexpected'].title} in the last run" in shown


def test_too_few_questions_for_a_limit_are_counted(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = workspace.base("two")
    monkeypatch.setattr("rag.experiments.runs.quality.failing.FLAGGED", ())
    diagnosis = base.tuning.diagnoses.diagnose("checks", base.recipe())
    [finding] = [one.finding for one in diagnosis.questions if one.text == UNANSWERABLE]
    assert re.findall(r"\d+", finding.evidence)[-2:] == ["20", str(len(QUESTIONS))]


def _words(app: AppTest) -> str:
    return texts(app).replace("\\", "")


def _first_cause(base: KnowledgeBase, text: str, recipe: Recipe) -> str | None:
    answer = base.ask(text, recipe).answer
    cause = base.tuning.diagnoses.first_cause(answer.trace, recipe, answer.assessment)
    return cause and cause.title


def _column(beside: str, **parameters: str) -> dict[str, str]:
    """The causes by question of the table on Metrics that has another column, too."""
    app = visit("metrics.py", **parameters)
    tables = [DataFrame(table.value) for table in app.dataframe]
    [table] = [one for one in tables if {"Question", "Cause", beside} <= {*one}]
    return dict(zip(table["Question"], table["Cause"], strict=True))
