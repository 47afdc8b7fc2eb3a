"""Stored rankings of two runs: side by side, how much they agree, and hits that nobody judged."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rag.errors import NotFound
from rag.evaluation.comparison import Comparison, Groups
from rag.evaluation.judging import Spans
from rag.evaluation.metrics import MEASURES
from rag.evaluation.pooling import open_hits
from rag.evaluation.pooling.difference import JudgedRankings, PooledDifference, pooled_difference
from rag.evaluation.run_intervals import graded, highest_grade, with_zeros
from rag.experiments.runs.stored import Loaded, StoredRuns, questions_of_set
from rag.operation import operation
from rag.storage import Connection, builds, documents, passages, runs
from rag.types import Chunk, Question
from rag.types.results import FOREIGN, QuestionResult, Run

DEPTH = 10


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """One place of a stored ranking. ``rank`` counts from 1.

    ``chunk`` is None for a whole document and for a passage that is not stored any more;
    ``document`` is "" where the document is gone. ``other`` is the rank of the same passage in the
    ranking that this one is compared with, None where it has none. ``foreign`` is what a system
    returned and no document contains; None for passages and documents.
    """

    rank: int
    score: float
    grade: int
    document: str
    chunk: Chunk | None
    other: int | None = None
    foreign: str | None = None

    @property
    def chunk_id(self) -> str | None:
        """The id of the passage, if it is stored."""
        return self.chunk.id if self.chunk else None


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A question as two runs answered it; each ranking best first, cut at one depth."""

    question: str
    before: tuple[RankedPassage, ...]
    after: tuple[RankedPassage, ...]


@dataclass(frozen=True, slots=True)
class RankedSpan:
    """An entry of a ranking as an id and a span, so that passages of other cuts can match it."""

    id: str
    document_id: str
    start: int
    end: int


class Rankings(StoredRuns):
    """The stored rankings of one knowledge base."""

    @operation("guest")
    def side_by_side(
        self, run_id: str, baseline_id: str, question_id: str, depth: int = DEPTH
    ) -> SideBySide:
        """One question in two runs. Raises NotFound for a run or question that is not there.

        A passage is the same where its id is, or, between different cuts, where two spans share at
        least half of the shorter. Its other rank is looked for in the whole stored ranking.
        """
        with self._database.read() as connection:
            before, after = (
                self._ranking(connection, key, question_id) for key in (baseline_id, run_id)
            )
            chunks = [
                passages.passages_by_id(
                    connection, self._base_id, run.cut, [entry[0] for entry in result.ranking]
                )
                for run, result in (before, after)
            ]
            ids = {entry[0] for result in (before[1], after[1]) for entry in result.ranking}
            ids |= {chunk.document_id for by_key in chunks for chunk in by_key.values()}
            names = documents.names(connection, self._base_id, sorted(ids))
            foreign = [_foreign(connection, *side) for side in (before, after)]
        first, second = (
            [ranked_span(entry[0], by_key) for entry in result.ranking]
            for (_, result), by_key in zip((before, after), chunks, strict=True)
        )
        find = same if before[0].cut == after[0].cut else similar
        others = [
            [find(place, second) for place in first],
            [find(place, first) for place in second],
        ]
        return SideBySide(
            after[1].text,
            _ranked(before[1], others[0], chunks[0], names, foreign[0])[:depth],
            _ranked(after[1], others[1], chunks[1], names, foreign[1])[:depth],
        )

    def _ranking(
        self, connection: Connection, run_id: str, question_id: str
    ) -> tuple[Run, QuestionResult]:
        run = runs.get(connection, self._base_id, run_id)
        for result in runs.results(connection, run.id):
            if result.question_id == question_id:
                return run, result
        raise NotFound(f"Run {run_id} did not measure question {question_id!r}.")


def _foreign(connection: Connection, run: Run, result: QuestionResult) -> dict[str, str]:
    """Texts of the results that no document contains, by id; "" where none is stored."""
    ids = [name for name, *_ in result.ranking if name.startswith(FOREIGN)]
    return dict.fromkeys(ids, "") | runs.foreign_texts(connection, run.id, ids)


def _ranked(
    result: QuestionResult,
    others: Sequence[int | None],
    chunks: dict[str, Chunk],
    names: dict[str, str],
    foreign: dict[str, str],
) -> tuple[RankedPassage, ...]:
    ranked = []
    for rank, (name, score, grade) in enumerate(result.ranking, start=1):
        chunk, other, text = chunks.get(name), others[rank - 1], foreign.get(name)
        document = names.get(chunk.document_id if chunk else name, "")
        ranked.append(RankedPassage(rank, score, grade, document, chunk, other, text))
    return tuple(ranked)


def ranked_span(name: str, chunks: dict[str, Chunk]) -> RankedSpan:
    """Return the span of an entry of a ranking; one without a stored passage has its id alone."""
    chunk = chunks.get(name)
    if chunk is None:
        return RankedSpan(name, name, 0, 0)
    return RankedSpan(name, chunk.document_id, chunk.start, chunk.end)


def same(place: RankedSpan, ranking: Sequence[RankedSpan]) -> int | None:
    """Rank of the entry with the same id."""
    ranks = (rank for rank, other in enumerate(ranking, start=1) if other.id == place.id)
    return next(ranks, None)


def similar(place: RankedSpan, ranking: Sequence[RankedSpan]) -> int | None:
    """Rank of the same entry, else of the first that shares half of the shorter of the two."""
    ranks = (rank for rank, other in enumerate(ranking, start=1) if _overlap(place, other))
    return same(place, ranking) or next(ranks, None)


def renamed(places: Sequence[RankedSpan], others: Sequence[RankedSpan]) -> list[str]:
    """Ids of places, by the id of the first other that is the same passage in another cut.

    Each of the others lends its id once.
    """
    free, names = list(others), []
    for place in places:
        at = similar(place, free)
        names.append(place.id if at is None else free.pop(at - 1).id)
    return names


def _overlap(one: RankedSpan, other: RankedSpan) -> bool:
    shared = min(one.end, other.end) - max(one.start, other.start)
    shorter = min(one.end - one.start, other.end - other.start)
    return one.document_id == other.document_id and shared > 0 and 2 * shared >= shorter


class Pooling(StoredRuns):
    """The runs of one knowledge base and the labels of today."""

    @operation("guest")
    def pooled_difference(
        self, run_id: str, other_id: str, metric: str, only: Collection[str] | None = None
    ) -> PooledDifference | None:
        """A run minus another one of the same question set, on ``only`` these questions.

        None where no question of both has a relevant label, and for metrics that do not rank
        passages. Raises NotFound.
        """
        if metric.partition("@")[0] not in MEASURES:
            return None
        with self._database.read() as connection:
            run, other = (Loaded.read(connection, self._base_id, key) for key in (run_id, other_id))
            _, all_questions = questions_of_set(connection, self._base_id, run.run.question_set)
            questions = [
                item
                for item in all_questions
                if item.answerable and (only is None or item.id in only)
            ]
            rankings = _judged(connection, self._base_id, run, other, questions)
        if not rankings:
            return None
        return pooled_difference(
            metric,
            rankings,
            same_cut=run.run.cut == other.run.cut,
            highest=highest_grade(all_questions),
            unlabelled=len(questions) - len(rankings),
        )


def with_open_hits(
    connection: Connection,
    base_id: int,
    run: Loaded,
    other: Loaded,
    comparisons: Mapping[str, Comparison],
    groups: Groups,
) -> dict[str, Comparison]:
    """Comparisons of two runs by metric with what judging their open hits could make of them.

    As they are where the questions are gone.
    """
    if not comparisons:
        return {}
    try:
        _, all_questions = questions_of_set(connection, base_id, run.run.question_set)
    except NotFound:
        return dict(comparisons)
    questions = [item for item in all_questions if item.answerable]
    judged = _judged(connection, base_id, run, other, questions)
    same_cut = run.run.cut == other.run.cut
    return open_hits.with_open_hits(comparisons, judged, groups, same_cut=same_cut)


def _judged(
    connection: Connection,
    base_id: int,
    run: Loaded,
    other: Loaded,
    questions: Sequence[Question],
) -> dict[str, JudgedRankings]:
    """The questions of both runs that have a relevant label, by id."""
    documents_of_labels = sorted(
        {label.document_id for item in questions for label in item.evidence}
    )
    same_cut = run.run.cut == other.run.cut
    judged = {}
    spans = list[Spans]()
    for side in (run,) if same_cut else (run, other):
        cut_id = builds.cut_id(connection, base_id, side.run.cut)
        spans.append(passages.spans(connection, base_id, cut_id, documents_of_labels))
    for question in questions:
        name = question.id
        if name not in run.results or name not in other.results:
            continue
        ids = [[key for key, *_ in side.results[name].ranking] for side in (run, other)]
        # Of the passages of a system, nothing but its results is known.
        grades = [
            with_zeros(*graded(question, cut, ids_of_side if side.run.system else None))
            for side, cut, ids_of_side in zip((run, other), spans, ids, strict=False)
        ]
        if any(grade > 0 for grade in grades[0].values()):
            judged[name] = JudgedRankings(ids[0], ids[1], grades[0], grades[-1])
    return judged
