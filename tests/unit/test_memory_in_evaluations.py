"""Evaluations of answers with past interactions and without."""

import json
from pathlib import Path

import pytest

from rag import KnowledgeBase, SessionOwner, Workspace
from rag.__main__ import main
from tests.answer_runs import ASKING, Chat, with_chat
from tests.workspaces import QUICK, add, workspace_at

SET = "asked"
WORDS = [
    "leave",
    "pump",
    "valve",
    "hotel",
    "invoice",
    "sensor",
    "oven",
    "filter",
    "badge",
    "laptop",
    "parking",
    "canteen",
]
QUESTIONS = [f"When does the {word} expire?" for word in WORDS]
DOCUMENTS = {f"{word}.txt": f"The {word} office knows when its {word} ends." for word in WORDS}
RIGHT = "Until the end of June."
RECIPE = ASKING.with_fields({"answer.memory": 2})


class Learner(Chat):
    """Knows the answer only where an example says it."""

    def reply(self, prompt: str) -> str:
        return f"{RIGHT} [1]" if RIGHT in prompt else "The handbook tells nothing of it [1]."


@pytest.fixture
def parts(home: Path) -> tuple[Workspace, KnowledgeBase]:
    workspace = workspace_at(home)
    base = workspace.create("handbook", QUICK)
    add(workspace, base, DOCUMENTS)
    rows = [
        {
            "id": f"q{n}",
            "text": text,
            "answer": RIGHT,
            "evidence": [{"document": f"{WORDS[n]}.txt", "quote": DOCUMENTS[f"{WORDS[n]}.txt"]}],
        }
        for n, text in enumerate(QUESTIONS)
    ]
    base.questions.import_file(SET, "asked.jsonl", "\n".join(map(json.dumps, rows)))
    return workspace, base


def remember(base: KnowledgeBase, question: str) -> int:
    """A past interaction that was corrected to the right answer."""
    turn = base.conversations.ask(base.conversations.open(None), question, QUICK)
    base.conversations.conclude(turn, base.answer(base.search(question, QUICK), QUICK).answer)
    base.conversations.memory.correct(turn, answer=RIGHT)
    return turn


def measured(workspace: Workspace, base: KnowledgeBase) -> str:
    """The run with past interactions, after one without."""
    for most in (0, 2):
        job = base.runs.start_answers(SET, ASKING.with_fields({"answer.memory": most}))
        assert workspace.jobs.run(job).status == "done"
    return base.runs.list_all(SET)[0].id


def test_a_memory_that_knows_helps(parts, monkeypatch):
    workspace, base = parts
    with_chat(monkeypatch, Learner())
    for question in QUESTIONS:
        remember(base, f"{question} Please tell")
    run = measured(workspace, base)
    assert [answer.examples > 0 for answer in base.runs.answers(run).values()] == [True] * 12
    (row,) = base.runs.compare([run], base.runs.list_all(SET)[1].id, "token_f1")
    assert row.figures.verdict == "better"
    assert row.figures.difference == pytest.approx(0.778, abs=0.001)
    assert row.figures.interval[0] > 0


def test_a_questions_own_interaction_is_no_example(parts, monkeypatch):
    workspace, base = parts
    with_chat(monkeypatch, Learner())
    remember(base, QUESTIONS[0])
    monkeypatch.setattr("rag.conversations.memory.least_similarity", lambda _: 0.999999)
    assert base.conversations.memory.examples(QUESTIONS[0], RECIPE) != ()
    assert base.runs.answers(measured(workspace, base))["q0"].examples == 0


def test_an_evaluation_has_the_memory_of_its_visitor(parts, monkeypatch):
    workspace, base = parts
    with_chat(monkeypatch, Learner())
    remember(base, f"{QUESTIONS[0]} Please tell")
    other = workspace.base("handbook", SessionOwner("other", ("other",)))
    seen = {}
    for one in (other, base):
        answers = base.runs.answers(measured(workspace, one))
        seen[one] = sum(answer.examples for answer in answers.values())
    assert seen == {other: 0, base: 12}


def test_the_command_line_evaluates_with_what_all_visitors_asked(parts, monkeypatch, home):
    workspace, base = parts
    with_chat(monkeypatch, Learner())
    visitor = workspace.base("handbook", SessionOwner("other", ("other",)))
    remember(visitor, f"{QUESTIONS[0]} Please tell")
    fields = {"answer.memory": 2, "answer.provider": "ollama", "answer.model": "small"}
    sets = [part for name, value in fields.items() for part in ("--set", f"{name}={value}")]
    seen = []
    for whose in ([], ["--everyone"]):
        verb = ["evaluate", "handbook", SET, "--answers", *whose, *sets, "--home", str(home)]
        assert main(verb) == 0
        answers = base.runs.answers(base.runs.list_all(SET)[0].id)
        seen.append(sum(answer.examples for answer in answers.values()))
    assert seen == [0, 12]
