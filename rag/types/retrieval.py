"""Results of a retrieval, and the trace of its stages."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rag.types.documents import Chunk

StageName = (
    Literal["rewrite", "spelling", "synonyms", "expansions", "hyde", "question"]
    | Literal["language", "filter", "dense", "lexical", "fusion", "feedback", "rerank", "tool"]
    | Literal["refuse", "threshold", "duplicates", "mmr", "top_k", "merge", "context"]
)
"""What a stage of retrieval is called wherever it is stored; ``retrieval.stages`` tells of each."""

TOOL = "tool:"
"""What the document id of a result of an HTTP tool begins with: no library has that document."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved passage. ``rank`` counts from 1; ``score`` orders the list.

    ``relevance`` is the cosine of question and passage (or the calibrated probability): the one
    figure that a threshold is compared with. ``parts`` holds every raw figure by name: ``dense``
    (cosine), ``bm25``, ``fused`` ..., and ``dense_rank`` and ``bm25_rank`` (from 1) where that
    retriever found the passage. ``base`` names the knowledge base or tool that it is from, where
    several were asked; ``url`` is where a tool's result can be read, "" for passages of documents.
    """

    chunk: Chunk
    document: str
    rank: int
    score: float
    relevance: float
    parts: Mapping[str, float]
    base: str = ""
    url: str = ""

    @property
    def from_tool(self) -> bool:
        """Whether it is a result of an HTTP tool, which no knowledge base holds."""
        return self.chunk.document_id.startswith(TOOL)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A passage that a stage took out, and why (``"relevance 0.18 below 0.25"``)."""

    hit: Hit
    reason: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a retrieval: passages in, passages out, what it dropped, seconds it took.

    ``failed`` says that it could not do its work and passed on what it was given; ``note`` why.
    ``figures`` are those that it decided by, by name. ``hint`` names a change of the recipe that
    would help; readers of an answer do not see it.
    """

    name: StageName
    taken: int
    given: int
    dropped: tuple[Dropped, ...] = ()
    seconds: float = 0.0
    note: str = ""
    failed: bool = False
    figures: Mapping[str, float] = field(default_factory=dict)
    hint: str = ""


SYNONYM_SEPARATOR = " / "
"""Between the synonyms of one word."""


@dataclass(frozen=True, slots=True)
class WordCorrection:
    """Words of a question as they were ``typed``, and as they were ``read``.

    Corrected, or with other forms: one that documents define, or synonyms.
    """

    typed: str
    read: str

    @property
    def other_forms(self) -> tuple[str, ...]:
        """The forms that ``read`` has beside what was typed; none for a corrected word."""
        before = f"{self.typed} ("
        forms = self.read[len(before) : -1] if self.read.startswith(before) else ""
        return tuple(forms.split(SYNONYM_SEPARATOR)) if forms else ()


@dataclass(frozen=True, slots=True)
class Trace:
    """Evidence of one retrieval. ``hits`` are the results, in order; ``stages`` tell how they came.

    ``recipe`` is the hash of the recipe, ``passages`` the size of the corpus searched,
    ``threshold`` the relevance that was asked for (None: no threshold). ``relevance`` names what
    that is. ``words`` is the question as BM25 read it, "" where that is the question itself.
    ``shaped`` is what the prompt shows where that is not just the hits: each piece has the key and
    the figures of its best hit, and a span of its own.
    ``typed`` is the follow-up that ``question`` was made of, "" where it was asked as it is.
    ``reading`` is the question as it was searched, by meaning and by words, "" where that is the
    question itself; ``corrections`` are the words that it reads differently.
    """

    question: str
    recipe: str
    passages: int
    threshold: float | None
    stages: tuple[Stage, ...]
    hits: tuple[Hit, ...]
    seconds: float
    relevance: Literal["cosine", "probability"] = "cosine"
    words: str = ""
    shaped: tuple[Hit, ...] = ()
    typed: str = ""
    reading: str = ""
    corrections: tuple[WordCorrection, ...] = ()

    @property
    def searched(self) -> str:
        """The question whose meaning was searched."""
        return self.reading or self.question

    @property
    def corrected(self) -> str:
        """The question with corrected words, and without the other forms that were searched."""
        question = self.searched
        for correction in self.corrections:
            if correction.other_forms:
                question = question.replace(correction.read, correction.typed, 1)
        return question

    @property
    def read_as(self) -> str:
        """The corrections in a sentence; "" where there are none."""
        readings = (
            f"“{correction.typed}” as “{correction.read}”" for correction in self.corrections
        )
        return f"Read {', '.join(readings)}." if self.corrections else ""

    @property
    def waived_threshold(self) -> float | None:
        """The threshold that does not apply, as the embedder does not know the question's language.

        None where it applies, and where the recipe has none.
        """
        stage = self.stage("threshold")
        return None if stage is None else stage.figures.get("waived")

    def stage(self, name: StageName) -> Stage | None:
        """The stage of that name, if this retrieval had one."""
        return next((stage for stage in self.stages if stage.name == name), None)

    @property
    def candidates(self) -> tuple[Hit, ...]:
        """Every passage that had a score, once: the results, then what each stage dropped."""
        by_key = {hit.chunk.key: hit for hit in self.hits}
        for stage in self.stages:
            for drop in stage.dropped:
                by_key.setdefault(drop.hit.chunk.key, drop.hit)
        return tuple(by_key.values())

    @property
    def ranking(self) -> tuple[Hit, ...]:
        """Every candidate, best first: the results, then the others by rank."""
        others = self.candidates[len(self.hits) :]
        return *self.hits, *sorted(others, key=lambda hit: (hit.rank, hit.chunk.key))

    @property
    def digest(self) -> str:
        """Names what was found, and what became of it, however long that took."""
        parts = [
            *(self.question, self.words, self.passages, self.threshold, self.relevance),
            [_identity(hit) for hit in self.hits],
            *(
                (
                    s.name,
                    s.taken,
                    s.given,
                    s.failed,
                    [(_identity(d.hit), d.reason) for d in s.dropped],
                )
                for s in self.stages
            ),
        ]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    @property
    def failures(self) -> tuple[Stage, ...]:
        """Steps of the recipe that could not do their work."""
        return tuple(stage for stage in self.stages if stage.failed)

    @property
    def context(self) -> tuple[Hit, ...]:
        """The passages for the prompt: ``shaped``, or ``in_prompt`` if no stage shaped them."""
        return self.shaped or self.in_prompt

    @property
    def in_prompt(self) -> tuple[Hit, ...]:
        """The results that fit into the prompt: ``hits`` without what the context stage dropped."""
        stage = self.stage("context")
        out = {drop.hit.chunk.key for drop in stage.dropped} if stage else set()
        return tuple(hit for hit in self.hits if hit.chunk.key not in out)


def _identity(hit: Hit) -> tuple[object, ...]:
    return hit.chunk.key, hit.rank, hit.score, hit.relevance, hit.base, *hit.parts.items()
