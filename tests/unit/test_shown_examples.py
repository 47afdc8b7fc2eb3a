"""The past interactions that stood in a prompt are told with the answer."""

from __future__ import annotations

from rag.cli import printing
from rag.types import Answer, Example
from tests.answers import hits, trace

GIVEN = Answer(
    "Eight [1].",
    (),
    trace(hits("Eight days.")),
    "strict",
    "complete",
    examples=(Example(7, "May leave be carried over?", "Eight days [1].", 0.8, 0.85, 1),),
)


def test_an_answer_tells_its_examples_without_their_text() -> None:
    told = printing.answer(GIVEN, None)
    assert told.data.dump()["examples"] == [
        {
            "turn": 7,
            "question": "May leave be carried over?",
            "cosine": 0.8,
            "score": 0.85,
            "thumb": 1,
        }
    ]
    assert "- example: May leave be carried over? (cosine 0.80)" in told.text
