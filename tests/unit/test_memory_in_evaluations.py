"""Whether memory helps: the same questions with past interactions and without."""

import json
from pathlib import Path

import pytest

from rag import InvalidInput, KnowledgeBase, MemoryEffect, SessionOwner, Workspace
from rag.evaluation.comparison import compare
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
    base.memory.correct(turn, answer=RIGHT)
    return turn


def measured(workspace: Workspace, base: KnowledgeBase) -> str:
    for job in base.runs.start_memory_trial(SET, RECIPE):
        assert workspace.jobs.run(job).status == "done"
    found = base.runs.memory_effect(SET, RECIPE)
    return found.sentence


def test_a_memory_that_knows_helps(parts, monkeypatch):
    workspace, base = parts
    with_chat(monkeypatch, Learner())
    assert base.runs.memory_effect(SET, RECIPE) is None
    for question in QUESTIONS:
        remember(base, f"{question} Please tell")
    sentence = measured(workspace, base)
    assert sentence.startswith("Memory helps: token F1 is higher by 0.778 (98% interval +0.")
    assert sentence.endswith(", 12 questions, 12 of them with examples.")


def test_a_questions_own_interaction_is_no_example(parts, monkeypatch):
    workspace, base = parts
    with_chat(monkeypatch, Learner())
    remember(base, QUESTIONS[0])
    monkeypatch.setattr("rag.memory.memory.least_similarity", lambda _: 0.999999)
    assert base.memory.examples(QUESTIONS[0], RECIPE) != ()
    measured(workspace, base)
    found = base.runs.memory_effect(SET, RECIPE)
    assert base.runs.answers(found.run)["q0"].examples == 0


def test_the_memory_of_another_visitor_is_another_measurement(parts, monkeypatch):
    workspace, base = parts
    with_chat(monkeypatch, Learner())
    remember(base, f"{QUESTIONS[0]} Please tell")
    other = workspace.base("handbook", SessionOwner("other", ("other",)))
    assert "no example for any of 12 questions" in measured(workspace, other)
    assert base.runs.memory_effect(SET, RECIPE) is None


@pytest.mark.parametrize(
    ("differences", "sentence"),
    [
        (
            (0.5, 0.0),
            "The questions are too few to tell whether memory helps: token F1 is higher by 0.250 (",
        ),
        (
            (-0.5, 0.0),
            "The questions are too few to tell whether memory helps: token F1 is lower by 0.250 (",
        ),
        (
            (0.5, -0.25),
            "The questions are too few to tell whether memory helps: token F1 is higher by 0.125 (",
        ),
        ((0.0, 0.0), "Memory changed nothing: token F1 is the same on all of 2 questions, 2"),
    ],
)
def test_what_two_questions_show(differences, sentence):
    without = {"q1": 0.5, "q2": 0.5}
    values = dict(zip(without, (0.5 + each for each in differences), strict=True))
    figures = compare("token_f1", values, without)
    effect = MemoryEffect("one", "other", figures, {}, questions=2, shown=2)
    assert effect.sentence.startswith(sentence)
    assert effect.sentence.endswith("2 questions, 2 of them with examples.")


def test_quotes_have_no_use_for_memory(parts):
    _, base = parts
    with pytest.raises(InvalidInput, match="memory cannot change them"):
        base.runs.start_memory_trial(SET, QUICK)
