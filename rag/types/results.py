"""Results of an evaluation: the metrics of a recipe, and the result of every question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from rag.recipe import Recipe

EDITS = "edits of passages"
"""What the environment of a run calls the decisions of people about passages."""
EDITED = "edited documents"
"""What it calls the documents with such decisions, which it has as JSON."""
PROMPTS = "prompts"
"""What it calls the versions of the prompts that its answers were asked with."""
GATE, PIPELINE = "gate", "pipeline"
"""What it calls that a gate made it, and what its CI pipeline checked."""
RANKABLE = "rankable results"
"""What it calls the number of passages, or documents, that a ranking can have at most."""
CONTEXT = "context tokens"
"""What it calls the mean tokens of the results that a model would be handed for a question."""
_LENIENT = ("recall", "hit", "nugget_recall", "hop_recall")
"""The measures that the order among the first k does not change."""


FOREIGN = "foreign:"
"""The beginning of the id of a result that no document of the knowledge base contains."""

# Version 0.1.0 received "traces"; their runs are kept.
SystemKind = Literal["file", "callable", "http", "traces"]


@dataclass(frozen=True, slots=True)
class SystemSource:
    """A system that a run measured, in the place of a recipe.

    ``hash`` is the SHA-256 of its definition, or of the file that has its results. ``version``
    counts the definitions of a stored system from 1; 0 for others. ``located`` counts the returned
    texts by the way in which they were located in the documents, and ``errors`` has the reason by
    the id of each question that failed. ``hops`` summarises the questions with several retrievals.
    ``repeated`` counts the questions that a result was returned for twice.
    """

    kind: SystemKind
    name: str
    hash: str
    version: int = 0
    located: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    hops: Mapping[str, float | int | None] = field(default_factory=dict)
    repeated: int = 0

    @property
    def label(self) -> str:
        """Its name and version: ``production, version 2``."""
        return f"{self.name}, version {self.version}" if self.version else self.name


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question of a run.

    ``ranking`` is what was retrieved, best first: (id, score, grade), where the id is a passage's
    or, for questions that are judged by document, a document's; what a system returned and no
    document contains has an id that begins with ``FOREIGN``. ``first_relevant`` counts from 1.
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

    def relevant_among(self, k: int) -> int:
        """Return how many of the first k are relevant; all measured ranks count as ``found``."""
        return sum(grade > 0 for _, _, grade in self.ranking[:k])


@dataclass(frozen=True, slots=True)
class Run:
    """An evaluation of a recipe, or of another system, on one question set.

    Either ``recipe`` or ``system`` is set. ``metrics`` are means over questions.

    ``base_version`` counts changes of the documents; ``documents_hash`` is the same wherever the
    same documents are held: the SHA-256 of their sorted ids. ``environment`` names the code and
    the machine.
    """

    id: str
    base_id: int
    question_set: str
    set_version: int
    recipe: Recipe | None
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
    system: SystemSource | None = None

    @property
    def recipe_hash(self) -> str | None:
        """The hash of its recipe; None for a system."""
        return self.recipe.hash if self.recipe else None

    @property
    def source(self) -> str:
        """Its recipe or system in words: ``recipe 1a2b3c4d5e6f``, ``system production``."""
        return f"recipe {self.recipe.hash}" if self.recipe else f"system {self._system.label}"

    @property
    def source_hash(self) -> str:
        """The first 12 digits of the hash of its recipe or system."""
        return self.recipe.hash if self.recipe else self._system.hash[:12]

    @property
    def build_hash(self) -> str:
        """Names the build that was searched; "" for a system."""
        return self.recipe.index.hash if self.recipe else ""

    @property
    def cut(self) -> str:
        """Names the passages of its rankings. Those of a system are the texts that it returned."""
        return self.recipe.index.cut if self.recipe else f"run {self.id}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences on why its figures may not tell good from bad."""
        rankable = self.environment.get(RANKABLE)
        blind = blind_metrics(self.metrics, None if rankable is None else int(rankable))
        repeated = self.system.repeated if self.system else 0
        return (
            *((blindness(blind, int(rankable)),) if blind and rankable else ()),
            *((_repetition(repeated),) if repeated else ()),
        )

    @property
    def context_tokens(self) -> float | None:
        """About how many tokens a model would be handed for a question; None in older runs.

        For a recipe they are those of the first ``search.top_k`` passages, for a system those of
        all texts that it returned, by one estimate for all.
        """
        tokens = self.environment.get(CONTEXT)
        return None if tokens is None else float(tokens)

    def tokens_beside(self, baseline: Run) -> str:
        """Return the sentence on the context tokens of both; "" where neither knows them."""
        known = self.context_tokens, baseline.context_tokens
        new, old = ("an unknown number" if one is None else f"{one:,.0f}" for one in known)
        if known == (None, None):
            return ""
        return f"Context tokens per question: {new}, the other run {old}."

    @property
    def _system(self) -> SystemSource:
        if self.system is None:
            raise ValueError(f"run {self.id} has neither a recipe nor a system")
        return self.system

    @property
    def code_version(self) -> str:
        """The release and, from a checkout, the commit that measured."""
        return self.environment.get("touchstone", "")

    @property
    def purpose(self) -> str:
        """Its purpose: ``gate``, ``CI main 1a2b3c4d``, both; "" for a look at figures."""
        return ", ".join(filter(None, map(self.environment.get, (GATE, PIPELINE))))

    @property
    def is_gate(self) -> bool:
        """Whether a gate made it."""
        return GATE in self.environment

    @property
    def prompts(self) -> str:
        """The versions of the prompts of its answers, as ``strict@1a2b3c4d``; "" without any."""
        return self.environment.get(PROMPTS, "")

    @property
    def filter_digest(self) -> str:
        """Names the documents that pass the recipe's filters by tag and date; "" for all."""
        return self.environment.get("filtered", "")


def blind_metrics(names: Iterable[str], rankable: int | None) -> tuple[str, ...]:
    """Name the metrics that no ranking can lower, as their first k are all there is to rank."""
    if rankable is None:
        return ()
    cutoffs = ((name, *name.partition("@")[::2]) for name in names)
    return tuple(
        name
        for name, measure, k in cutoffs
        if measure in _LENIENT and k.isdecimal() and int(k) >= rankable
    )


def blindness(metrics: Sequence[str], rankable: int) -> str:
    """Return the sentence on ``blind_metrics``."""
    return (
        f"The first k can be all {rankable:,} that there are to rank: "
        f"{', '.join(metrics)} cannot tell a good order from a bad one."
    )


def _repetition(questions: int) -> str:
    some = "1 question" if questions == 1 else f"{questions:,} questions"
    return (
        f"A result was returned twice for {some}. It counts once, and its second rank counts as "
        "not relevant."
    )
