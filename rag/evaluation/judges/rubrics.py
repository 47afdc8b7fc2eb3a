"""Judge prompts, as text files with a version in their name: a new wording is a new file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rag.answering.asking.wording import Wording, digest

_PROMPTS = Path(__file__).with_name("prompts")


@dataclass(frozen=True)
class Rubric:
    """``name`` with its version (``relevance-1``), the highest grade that it knows, and the prompt.

    A prompt that people wrote is named by its digest (``relevance-1a2b3c4d``).
    """

    name: str
    highest: int
    text: str


def _shipped(name: str, highest: int) -> Rubric:
    text = (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()
    return Rubric(name, highest, text)


RUBRICS: Mapping[str, Rubric] = MappingProxyType(
    {
        "groundedness": _shipped("groundedness-1", 1),
        "correctness": _shipped("correctness-1", 2),
        "preference": _shipped("preference-1", 2),
    }
)
"""The rubrics of answers, by what is judged."""


def passage_rubric(wording: Wording, *, decides: bool = False) -> Rubric:
    """The rubric of passages, in the words of a knowledge base; for a decision model a question."""
    kind, prompt = ("decision", "decision") if decides else ("relevance", "judge")
    text = wording.text(prompt)
    return Rubric(f"{kind}-{digest(text) if prompt in wording.edited else 1}", 3, text)
