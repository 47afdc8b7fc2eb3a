"""Follow-ups without a language model: 30 dialogues, and questions that stand by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rag import SAMPLE, KnowledgeBase, Message, leans_on_another
from rag.workspace.workspace import SAMPLE_FOLDER, SAMPLE_QUESTIONS
from tests.golden.answer_sets import KEPT, SETS, SetQuestion, has_words, read_set
from tests.sample import sample
from tests.workspaces import add, workspace_at

RIGHT = 24
"""Dialogues whose follow-ups all have the right first quote."""
ALONE = ("When do they pick up cardboard?",)
"""Questions of the sets that stand by themselves and are taken for follow-ups."""


@dataclass(frozen=True)
class Dialogue:
    base: str
    turns: tuple[SetQuestion, ...]


def dialogues() -> Iterator[Dialogue]:
    """Read the dialogues: a paragraph each, the name of its set first."""
    text = Path(__file__).with_name("dialogues.txt").read_text("utf-8")
    for paragraph in text.strip().split("\n\n"):
        name, *lines = paragraph.split("\n")
        turns = (SetQuestion(*line.split(" => ", 1)) for line in lines)
        yield Dialogue(name.removeprefix("# "), tuple(turns))


def is_right(base: KnowledgeBase, dialogue: Dialogue) -> bool:
    recipe, history = base.recipe(), list[Message]()
    for turn in dialogue.turns:
        trace = base.search(turn.text, recipe, history=history)
        stream = base.answer(trace, recipe, history=history)
        list(stream)
        answer = stream.answer
        if turn.words and not any(has_words(one, turn) for one in answer.citations[:1]):
            return False
        history += [Message("user", trace.question), Message("assistant", answer.text)]
    return True


@pytest.mark.slow
def test_follow_ups_are_answered_from_the_question_before(home):
    with sample(home):
        pass  # read once for all tests of this process
    workspace = workspace_at(home)
    bases = {SAMPLE: workspace.base(SAMPLE)}
    for name in {dialogue.base for dialogue in dialogues()} - {SAMPLE}:
        bases[name] = workspace.create(name)
        add(workspace, bases[name], read_set(name).files)
    assert sum(is_right(bases[one.base], one) for one in dialogues()) >= RIGHT


def test_questions_that_stand_by_themselves_stay_as_they_are():
    of_sets = [one.text for name in (*SETS, *KEPT) for one in read_set(name).questions]
    lines = (SAMPLE_FOLDER / SAMPLE_QUESTIONS).read_text("utf-8").splitlines()
    of_sample = [json.loads(line)["text"] for line in lines]
    assert len(of_sets) + len(of_sample) > 590
    assert [text for text in (*of_sample, *of_sets) if leans_on_another(text)] == list(ALONE)


@pytest.mark.parametrize(
    ("before", "question", "read"),
    [
        ("Who leads Vel?", "How long is it?", "How long is it? (Vel)"),
        ("What does CV-118 mean?", "And CV-115?", "What does CV-115 mean?"),
        ("How far is the trip to Old Vel?", "And to Orr?", "How far is the trip to Orr?"),
        ("What does a dog cost?", "And a bicycle?", "What does a bicycle cost?"),
        ("Was kostet ein Platz im Sommer?", "Und im Winter?", "Was kostet ein Platz im Winter?"),
        ("¿Cuánto cuesta el pan?", "¿Por qué?", "¿Por qué? (cuesta pan)"),
        ("What does a dog cost?", "Können Sie parken?", "Können Sie parken?"),
        ("What does a dog cost?", "When is the office open?", "When is the office open?"),
    ],
)
def test_a_follow_up_is_read_with_the_question_before(workspace, before, question, read):
    base = workspace.create("notes")
    add(workspace, base, {"notes.md": "A dog costs 5 euros. Vel is 9 m long."})
    history = [Message("user", before), Message("assistant", "…")]
    assert base.search(question, base.recipe(), history=history).question == read
    assert base.search(question, base.recipe()).question == question
