"""Standing of a passage in a retrieval: its ranks, elimination and score gap, and search for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.evaluation.anchoring import Haystack
from rag.recipe import Mode, SearchRecipe
from rag.retrieval import StageRow, stage_row, stage_title
from rag.retrieval.candidates import MATCHED_WORDS
from rag.retrieval.fusion import BY_WORDS
from rag.retrieval.hits import MATCHED
from rag.retrieval.pipeline import FullRankings, true_rank
from rag.types import Chunk, Hit, Keys, Stage, StageName, Trace, percent, told_apart

Match = Literal["exact", "similar", "nearest", "document"]
MOST = 5


@dataclass(frozen=True, slots=True)
class Located:
    """A passage that was looked for, and how it was found.

    ``exact`` and ``similar`` hold the words, or part of them; ``nearest`` does not, and
    ``document`` is of the document that was asked for.
    """

    key: int
    match: Match


def locate_passages(
    text: str, documents: Mapping[str, str], passages: Mapping[str, Sequence[Chunk]]
) -> list[Located]:
    """Passages that hold ``text``: those that its words in a document reach into.

    ``documents`` are texts by document id, ``passages`` theirs by document id. Documents with the
    very words (white space aside) go before those with similar ones; the passage that holds most
    of them comes first. Empty where no document has them.
    """
    for match, similar in (("exact", False), ("similar", True)):
        holding = [
            passage
            for name, whole in documents.items()
            for passage in _holding(text, whole, passages.get(name, ()), similar=similar)
        ]
        if holding:
            holding.sort(key=lambda passage: (-passage[0], passage[1]))
            kind: Match = "similar" if match == "similar" else "exact"
            return [Located(key, kind) for _, key in holding[:MOST]]
    return []


def _holding(
    text: str, whole: str, chunks: Sequence[Chunk], *, similar: bool
) -> list[tuple[int, int]]:
    """(characters of the text that it holds, key) of passages."""
    span = Haystack(whole).find(text, similar=similar)
    if span is None:
        return []
    start, end = span
    shared = [(min(end, chunk.end) - max(start, chunk.start), chunk.key) for chunk in chunks]
    return [(length, key) for length, key in shared if length > 0]


StepOutcome = Literal["found", "not found", "kept", "lost"]

CANDIDATES = "candidates"
"""Where a passage is lost that no retriever brought along."""
_RETRIEVERS: Mapping[Mode, tuple[StageName, ...]] = {
    "dense": ("dense",),
    "lexical": ("lexical",),
    "hybrid": ("dense", "lexical"),
}


@dataclass(frozen=True, slots=True)
class Passing:
    """The outcome of one stage for the passage, in words."""

    stage: str
    outcome: StepOutcome
    words: str


@dataclass(frozen=True, slots=True)
class Figures:
    """The scores and ranks of a passage in both retrievers, over all searchable passages.

    ``dense`` is the cosine. Ranks count from 1. ``bm25_rank`` is None, and ``bm25`` 0, for a
    passage without a word of the question; ``dense_rank`` is None for a passage that a filter
    excludes. ``lacking`` are the words of the question that the passage does not contain.
    ``by_words`` means that the passage has no vector yet: then ``dense`` is 0 and has no meaning.
    """

    dense: float
    dense_rank: int | None
    bm25: float
    bm25_rank: int | None
    lacking: tuple[str, ...]
    by_words: bool = False

    def rank(self, row: StageRow) -> int | None:
        """The true rank in the list of a retriever."""
        return self.dense_rank if row.name == "dense" else self.bm25_rank


@dataclass(frozen=True, slots=True)
class Standing:
    """The way of one passage through a retrieval.

    ``lost`` names the stage that took it out, "" where none did; ``reason`` says why.
    ``hit`` is None for a passage that never was a candidate.
    """

    chunk: Chunk
    document: str
    figures: Figures
    steps: tuple[Passing, ...]
    hit: Hit | None
    lost: str
    reason: str

    @property
    def rank(self) -> int | None:
        """The rank as a hit; None for a passage that never was a candidate."""
        return self.hit.rank if self.hit else None

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not self.lost:
            is_last = any(step.stage == "context" for step in self.steps)
            rank = f", rank {self.hit.rank}" if self.hit else ""
            return f"{'given to the answer' if is_last else 'among the results'}{rank}"
        return f"lost at {stage_title(self.lost)}: {self.reason}"


def standing(
    trace: Trace,
    search: SearchRecipe,
    passage: tuple[Chunk, str],
    figures: Figures,
    allowed: Keys | None = None,
) -> Standing:
    """Look up a passage (with the name of its document) in a retrieval."""
    chunk, document = passage
    hit = next((hit for hit in trace.candidates if hit.chunk.key == chunk.key), None)
    steps = tuple(_steps(trace, search, hit, chunk.key, figures, allowed))
    lost = next((step for step in steps if step.outcome == "lost"), None)
    return Standing(
        chunk,
        document,
        figures,
        steps,
        hit,
        lost.stage if lost else "",
        lost.words if lost else "",
    )


def figures(
    deep: FullRankings, key: int, bm25: float, dense: float, lacking: tuple[str, ...]
) -> Figures:
    """Figures of a passage with its true ranks."""
    near, words = true_rank(deep.near, key), true_rank(deep.words, key)
    return Figures(dense, near, bm25, words, lacking)


def _steps(
    trace: Trace,
    search: SearchRecipe,
    hit: Hit | None,
    key: int,
    figures: Figures,
    allowed: Keys | None,
) -> Iterator[Passing]:
    """Up to the stage that took the passage out."""
    if allowed is not None and key not in allowed:
        yield Passing("filter", "lost", "the filters of the recipe exclude it")
        return
    again = trace.stage("feedback") is not None
    for stage in trace.stages:
        row = stage_row(stage.name)
        if row.passes == "question":
            continue
        if row.retriever:
            yield _first_search(row, search, hit, figures, again)
        elif hit is None and stage.name == "fusion" and again:
            yield Passing("fusion", "not found", "not among the final candidates")
        elif hit is None and row.passes == "joins":
            yield Passing(CANDIDATES, "lost", missed(search, figures, again))
            return
        elif stage.name == "feedback":
            yield Passing("feedback", "found", _again(hit))
        else:
            step = _passed(trace, stage, hit, key)
            yield step
            if step.outcome == "lost":
                return


def _again(hit: Hit | None) -> str:
    """Describe the ranks of a passage in the second search."""
    ranks = [
        f"{row.retriever} rank {hit.parts[_rank_of(row)]:.0f}"
        for row in map(stage_row, _RETRIEVERS["hybrid"])
        if hit is not None and _rank_of(row) in hit.parts
    ]
    return f"{', '.join(ranks)} in the second search"


def _first_search(
    row: StageRow, search: SearchRecipe, hit: Hit | None, figures: Figures, again: bool
) -> Passing:
    """The first search; where there is a second one, hits tell of that, and true ranks of this."""
    rank = figures.rank(row) if again else hit.parts.get(_rank_of(row)) if hit else None
    score = f"cosine {figures.dense:.3f}" if row.name == "dense" else f"BM25 {figures.bm25:.2f}"
    if rank is not None and rank <= search.candidates:
        return Passing(row.name, "found", f"rank {rank:,.0f}, {score}")
    missed_by = _missed_by(row, search, figures)
    if row.name == "dense" and figures.by_words:
        return Passing(row.name, "not found", missed_by)
    return Passing(row.name, "not found", f"{missed_by}, {score}")


def _rank_of(row: StageRow) -> str:
    """The part of a hit that has its rank in the list of a retriever."""
    return f"{row.figure}_rank"


def missed(search: SearchRecipe, figures: Figures, again: bool) -> str:
    """Return the reason why no retriever returned a passage.

    ``again`` means that the second search decides.
    """
    if again:
        return "the second search does not find it"
    stages = map(stage_row, _RETRIEVERS[search.mode])
    return "; ".join(_missed_by(row, search, figures) for row in stages)


def _missed_by(row: StageRow, search: SearchRecipe, figures: Figures) -> str:
    rank = figures.rank(row)
    if row.name == "dense" and figures.by_words:
        return "its vector is not stored yet"
    if rank is None:
        return (
            "it has no term of the question" if row.name == "lexical" else "not among the vectors"
        )
    if rank <= search.candidates:
        return f"{row.retriever} rank {rank:,}, missed by the approximate index"
    return f"{row.retriever} rank {rank:,}, cut by candidates={search.candidates}"


def _passed(trace: Trace, stage: Stage, hit: Hit | None, key: int) -> Passing:
    for drop in stage.dropped:
        if drop.hit.chunk.key == key:
            return Passing(stage.name, "lost", drop.reason)
    return Passing(stage.name, "kept", _place(trace, stage, hit))


def _place(trace: Trace, stage: Stage, hit: Hit | None) -> str:
    """Describe the rank and score of the passage after a stage that it passed."""
    name = stage_row(stage.name).figure
    if hit is not None and name in hit.parts:
        mine = hit.parts[name]
        ahead = sum(candidate.parts.get(name, mine) > mine for candidate in trace.candidates)
        return f"place {ahead + 1:,} of {stage.given:,}, {name} {mine:.3f}"
    if hit is not None and stage.name == "threshold" and BY_WORDS in hit.parts:
        return "its vector is not stored yet, so no threshold applies"
    if hit is not None and stage.name == "threshold" and trace.threshold is not None:
        relevance, threshold = told_apart(hit.relevance, trace.threshold)
        words = f"relevance {relevance}, the threshold is {threshold}"
        if hit.relevance >= trace.threshold:
            return words
        if "exact" in hit.parts:
            return f"{words}; it passes because it has a rare code of the question"
        if MATCHED in hit.parts:
            share = f"{percent(MATCHED_WORDS)} of the weight of the question's words"
            return f"{words}; it passes because it has at least {share}"
        return words
    return f"one of {stage.given:,}"


@dataclass(frozen=True, slots=True)
class Gap:
    """The last result's figures less the passage's: above 0 is what it would have to gain.

    ``score`` is None for a passage that was never scored, as it was no candidate; ``bm25`` is None
    where the recipe does not use it.
    """

    last: Hit
    dense: float
    bm25: float | None
    score: float | None


def gap(trace: Trace, standing: Standing) -> Gap | None:
    """None where nothing is shown, or the passage itself is."""
    shown_keys = {hit.chunk.key for hit in trace.hits}
    if not trace.hits or standing.chunk.key in shown_keys:
        return None
    last = trace.hits[-1]
    bm25 = last.parts.get("bm25")
    return Gap(
        last,
        last.parts["dense"] - standing.figures.dense,
        None if bm25 is None else bm25 - standing.figures.bm25,
        last.score - standing.hit.score if standing.hit else None,
    )
