"""Judge prompts, as text files with a version in their name: a new wording is a new file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

_PROMPTS = Path(__file__).with_name("prompts")


@dataclass(frozen=True)
class Rubric:
    """``name`` with its version (``relevance-1``), and the highest grade that it knows."""

    name: str
    highest: int

    @cached_property
    def text(self) -> str:
        """The prompt of the judge."""
        return (_PROMPTS / f"{self.name}.txt").read_text(encoding="utf-8").strip()


RUBRICS: Mapping[str, Rubric] = MappingProxyType(
    {
        "relevance": Rubric("relevance-1", 3),
        "groundedness": Rubric("groundedness-1", 1),
        "correctness": Rubric("correctness-1", 2),
        "preference": Rubric("preference-1", 2),
    }
)
"""The rubrics in use, by what is judged."""
