"""The values that flow through the pipeline, and the protocols of its interchangeable parts.

Everything here is frozen. All offsets are character offsets (Python ``str`` indices) into
``Document.text``, half open: ``[start, end)``.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.int64]
"""Passage keys, shape (n,). A key is derived from content, so it is the same on every machine."""
Vectors = npt.NDArray[np.float32]
"""Embeddings, shape (n, dimension), every row of Euclidean length 1."""
Scores = npt.NDArray[np.float64]
"""Scores aligned with some ``Keys``, shape (n,). Higher is better, always."""
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Order = npt.NDArray[np.intp]
"""Positions in other arrays, shape (n,), best first."""
Ranks = npt.NDArray[np.int32]
Span = tuple[int, int]
"""Start and end of a stretch of text."""
Tell = Callable[[int, int], None]
"""Hears of progress: (done, total)."""

StageName = (
    Literal["rewrite", "spelling", "expansions", "hyde", "question", "filter", "dense", "lexical"]
    | Literal["fusion", "feedback", "rerank", "tool", "threshold", "duplicates", "mmr", "top_k"]
    | Literal["merge", "context"]
)
"""What a stage of retrieval is called wherever it is stored; ``retrieval.stages`` tells of each."""

LOST = "lost:"
"""What the document id of lost evidence begins with; a SHA-256 never does."""
TOOL = "tool:"
"""What the document id of a result of an HTTP tool begins with: no library has that document."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page (or slide, or sheet) of a document: ``text[start:end]``; numbers count from 1.

    ``head`` is what the page repeats of others at its top and bottom, which the text leaves out.
    """

    number: int
    start: int
    end: int
    head: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that is in force from ``start`` on; ``level`` 1 is the topmost."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table within a document: ``text[start:end]``, one row a line, cells parted by tabs.

    ``labels`` name its columns, one each ("" where a column has none); none where nothing names
    them. ``caption`` is its title. Rows that only hold the labels are part of the span.
    """

    start: int
    end: int
    labels: tuple[str, ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class Document:
    """A source file as normalised text. ``id`` is the SHA-256 (hex) of the source bytes.

    ``pages``, ``headings`` and ``tables`` are sorted by ``start``; tables do not overlap. Text
    without pages has an empty ``pages``. ``reader_version`` is that of the reader that made the
    text, 0 from before readers had versions.
    """

    id: str
    name: str
    source: str
    media_type: str
    text: str
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    tables: tuple[Table, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    reader_version: int = 0

    @cached_property
    def _page_starts(self) -> list[int]:
        return [page.start for page in self.pages]

    @cached_property
    def _table_starts(self) -> list[int]:
        return [table.start for table in self.tables]

    @cached_property
    def _heading_paths(self) -> tuple[list[int], list[str]]:
        starts, paths, stack = [], [], list[Heading]()
        for heading in self.headings:
            while stack and stack[-1].level >= heading.level:
                stack.pop()
            stack.append(heading)
            starts.append(heading.start)
            paths.append(" > ".join(part.title for part in stack))
        return starts, paths

    def page_at(self, offset: int) -> int | None:
        """Number of the page that holds ``offset``, or None for text without pages."""
        index = bisect.bisect_right(self._page_starts, offset) - 1
        return self.pages[index].number if index >= 0 else None

    def table_at(self, offset: int) -> Table | None:
        """The table that holds ``offset``, or None."""
        index = bisect.bisect_right(self._table_starts, offset) - 1
        found = self.tables[index] if index >= 0 else None
        return found if found and offset < found.end else None

    def heading_at(self, offset: int) -> str:
        """Headings in force at ``offset`` as ``"Chapter > Section"``; "" before the first."""
        starts, paths = self._heading_paths
        index = bisect.bisect_right(starts, offset) - 1
        return paths[index] if index >= 0 else ""


def chunk_key(document_id: str, start: int, end: int) -> int:
    """A 63-bit key of a span, the same wherever and whenever it is computed.

    One number names the passage in SQL, FAISS and BM25, and ties break alike on every machine.
    Among a million passages the chance that any two collide is about 5e-8.
    """
    digest = hashlib.sha256(f"{document_id}:{start}:{end}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: ``document.text[start:end] == text``. ``order`` counts from 0 in its document."""

    key: int
    document_id: str
    start: int
    end: int
    text: str
    order: int
    heading: str = ""
    page: int | None = None

    @property
    def id(self) -> str:
        """The key as 16 hexadecimal digits; sorts like the key."""
        return f"{self.key:016x}"


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
    """

    name: StageName
    taken: int
    given: int
    dropped: tuple[Dropped, ...] = ()
    seconds: float = 0.0
    note: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """Evidence of one retrieval. ``hits`` are the results, in order; ``stages`` tell how they came.

    ``recipe`` is the hash of the recipe, ``passages`` the size of the corpus searched,
    ``threshold`` the relevance that was asked for (None: no threshold). ``relevance`` names what
    that is. ``words`` is the question as BM25 read it, "" where that is the question itself.
    ``shaped`` is what the prompt shows where that is not just the hits: each piece has the key and
    the figures of its best hit, and a span of its own.
    ``typed`` is the follow-up that ``question`` was made of, "" where it was asked as it is.
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

    def stage(self, name: StageName) -> Stage | None:
        """The stage of that name, if this retrieval had one."""
        return next((stage for stage in self.stages if stage.name == name), None)

    @property
    def candidates(self) -> tuple[Hit, ...]:
        """Every passage that had a score, once: the results, then what each stage dropped."""
        held = {hit.chunk.key: hit for hit in self.hits}
        for stage in self.stages:
            for drop in stage.dropped:
                held.setdefault(drop.hit.chunk.key, drop.hit)
        return tuple(held.values())

    @property
    def digest(self) -> str:
        """Names what was found, and what became of it, however long that took."""
        told = [
            *(self.question, self.words, self.passages, self.threshold, self.relevance),
            [_told(hit) for hit in self.hits],
            *(
                (s.name, s.taken, s.given, s.failed, [(_told(d.hit), d.reason) for d in s.dropped])
                for s in self.stages
            ),
        ]
        return hashlib.sha256(repr(told).encode()).hexdigest()

    @property
    def failures(self) -> tuple[Stage, ...]:
        """Steps of the recipe that could not do their work."""
        return tuple(stage for stage in self.stages if stage.failed)

    @property
    def context(self) -> tuple[Hit, ...]:
        """What goes into the prompt: ``shaped``, or ``in_prompt`` where nothing shaped them."""
        return self.shaped or self.in_prompt

    @property
    def in_prompt(self) -> tuple[Hit, ...]:
        """The results that fit into the prompt: ``hits`` without what the context stage dropped."""
        stage = self.stage("context")
        out = {drop.hit.chunk.key for drop in stage.dropped} if stage else set()
        return tuple(hit for hit in self.hits if hit.chunk.key not in out)


def _told(hit: Hit) -> tuple[object, ...]:
    return hit.chunk.key, hit.rank, hit.score, hit.relevance, hit.base, *hit.parts.items()


@dataclass(frozen=True, slots=True)
class Citation:
    """``[n]`` in an answer: the passage behind it and, where known, the words it rests on."""

    n: int
    hit: Hit
    quote: str = ""
    page: int | None = None  # of those words


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a chat provider reports; zero where it reports none."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


AnswerStatus = Literal["complete", "interrupted", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer with its evidence.

    ``mode`` says how it was made (``"quotes"``: sentences of the passages, no language model;
    ``"grounded"``: a language model restricted to the passages). ``unsupported`` lists the
    citation numbers in the text that no passage has. ``note`` is for the reader (why refused, why
    interrupted).
    """

    text: str
    citations: tuple[Citation, ...]
    trace: Trace
    mode: str
    status: AnswerStatus
    usage: Usage = Usage()
    prompt: str = ""
    unsupported: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a question is answered: a span of a document, by grade (1 relevant, 2 highly, ...).

    ``end`` None stands for the whole document: the label says which document answers, not where.
    ``quote`` is the text of the span, kept to find it again in a new version. Evidence that no
    present document has is ``lost``: it counts as relevant and is never found.
    """

    document_id: str
    start: int
    end: int | None
    grade: int = 1
    quote: str = ""

    @property
    def lost(self) -> bool:
        """Whether its document is gone, or never came; ``document_id`` then names it by name."""
        return self.document_id.startswith(LOST)


@dataclass(frozen=True, slots=True)
class Question:
    """A labelled question; ``answerable`` False says that the documents do not answer it."""

    id: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    answerable: bool = True
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a chat model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed reply; ``usage`` comes with the last one, where the provider tells."""

    text: str = ""
    usage: Usage | None = None
