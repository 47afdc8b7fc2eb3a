"""The length limit of a question."""

from __future__ import annotations

from rag.errors import InvalidInput
from rag.input_rules import LONGEST_QUESTION, find_fault


def check_question(question: str) -> str:
    """Return a question without the space around it. Raises InvalidInput for none, for more than
    ``LONGEST_QUESTION`` characters, and for what is no text."""
    if not question.strip():
        raise InvalidInput("The question is empty.", "Type a question.")
    if len(question) > LONGEST_QUESTION:
        raise InvalidInput(
            f"The question has more than {LONGEST_QUESTION:,} characters.",
            "Ask for less at once. A long text can be added as a document.",
        )
    if fault := find_fault(question):
        raise InvalidInput(f"{fault}.", "Type the question again.")
    return question.strip()
