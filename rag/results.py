"""Results of an evaluation: the metrics of a recipe, and the result of every question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rag.recipe import Recipe

EDITS = "edits of passages"
"""What the environment of a run calls the decisions of people about passages."""
PROMPTS = "prompts"
"""What it calls the versions of the prompts that its answers were asked with."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question of a run.

    ``ranking`` is what was retrieved, best first: (id, score, grade), where the id is a passage's
    or, for questions that are judged by document, a document's. ``first_relevant`` counts from 1.
    Where the threshold cut all relevant ones, ``cut_rank`` is the rank that the first of them would
    have without it; runs of earlier versions do not have it.
    """

    question_id: str
    text: str
    tags: tuple[str, ...]
    answerable: bool
    metrics: Mapping[str, float]
    ranking: tuple[tuple[str, float, int], ...]
    first_relevant: int | None
    found: int
    relevant: int
    cut_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """An evaluation of one recipe on one question set. ``metrics`` are means over questions.

    ``base_version`` counts changes of the documents; ``documents_hash`` is the same wherever the
    same documents are held: the SHA-256 of their sorted ids. ``environment`` names the code and
    the machine.
    """

    id: str
    base_id: int
    question_set: str
    set_version: int
    recipe: Recipe
    base_version: int
    documents: int
    documents_hash: str
    questions: int
    metrics: Mapping[str, float]
    environment: Mapping[str, str]
    seconds: float
    created: datetime
    note: str = ""
    tags: tuple[str, ...] = ()

    @property
    def build_hash(self) -> str:
        """Names the build that was searched."""
        return self.recipe.index.hash

    @property
    def code_version(self) -> str:
        """The release and, from a checkout, the commit that measured."""
        return self.environment.get("touchstone", "")

    @property
    def prompts(self) -> str:
        """The versions of the prompts of its answers, as ``strict@1a2b3c4d``; "" without any."""
        return self.environment.get(PROMPTS, "")

    @property
    def filter_digest(self) -> str:
        """Names the documents that pass the recipe's filters by tag and date; "" for all."""
        return self.environment.get("filtered", "")
