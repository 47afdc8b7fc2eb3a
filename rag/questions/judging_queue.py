"""The hits of stored runs that are worth judging next, with their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.errors import InvalidInput
from rag.evaluation.judge_next import OpenHit, Pair, judge_next, sample_next
from rag.evaluation.judging import Spans
from rag.evaluation.pooling.bounds import OpenPair
from rag.evaluation.relevance import best_grades, judged_by_document
from rag.evaluation.run_intervals import graded
from rag.evaluation.unjudged import judged_passages
from rag.operation import operation
from rag.questions.stored import StoredQuestions
from rag.results import Run
from rag.storage import Connection, builds, documents, passages, runs
from rag.storage import questions as rows
from rag.storage.labels import SAMPLED
from rag.types import Chunk, Question

_SHOWN = 1500  # characters of a document that is judged whole


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A hit to be judged: ``LabelEdits.label`` takes question, document, start and end.

    ``end`` None is for questions that are judged by document; ``text`` is then its beginning.
    ``ranks`` (from 1) are those in the two runs, None where a run does not have it among the first
    k. ``weight`` is how much an end of the interval of their difference in nDCG@k hangs on it.
    ``origin`` is for the label: the runs, and whether the hit was drawn at random from theirs.
    """

    question_id: str
    question: str
    document_id: str
    document: str
    start: int
    end: int | None
    text: str
    ranks: tuple[int | None, int | None]
    weight: float
    origin: str


class JudgingQueue(StoredQuestions):
    """Orders the unjudged hits of runs of one knowledge base."""

    @operation("viewer")
    def judging_queue(
        self,
        run_id: str,
        other_id: str | None = None,
        *,
        k: int = 10,
        limit: int = 50,
        sampled: bool = False,
    ) -> list[Unjudged]:
        """Unjudged hits among the first k of a run, or of two runs, the most telling first.

        With two runs these are the hits that narrow the interval of their difference in nDCG@k
        most, by the labels of today; at most ``limit``. With ``sampled`` they come in an order
        drawn at random instead, so that means can be estimated from those that were judged.

        Passages that are gone and questions known to be unanswerable are left out. Raises NotFound,
        and InvalidInput for runs of different question sets.
        """
        with self._database.read() as connection:
            run_ids = [run_id] if other_id is None else [run_id, other_id]
            pair = [runs.get(connection, self._base_id, one) for one in run_ids]
            if len({run.question_set for run in pair}) > 1:
                raise InvalidInput(
                    "The two runs measured different question sets.",
                    "Compare runs of one question set.",
                )
            question_set = rows.get_question_set(connection, self._base_id, pair[0].question_set)
            usable = rows.usable(connection, self._base_id, question_set.id)
            questions = {item.id: item for item in usable if item.answerable}
            rankings = self._rankings(connection, pair, questions, k)
            chunks = self._chunks(connection, pair, rankings)
            spans = self._spans(connection, pair, [questions[name] for name in rankings])
            judged = {name: _judged(questions[name], spans) for name in rankings}
            hits = (
                sample_next(rankings, judged, k)
                if sampled
                else judge_next(rankings, judged, k, _ideals(questions, rankings, spans, k))
            )
            origin = (SAMPLED if sampled else "") + origin_of(run_ids)
            present = documents.ids_by_name(connection, self._base_id)
            names = {document_id: name for name, document_id in present.items()}
            there = [hit for hit in hits if hit.item in chunks or hit.item in names]
            return [
                self._unjudged(connection, hit, questions[hit.question_id], chunks, names, origin)
                for hit in there[:limit]
            ]

    def _rankings(
        self,
        connection: Connection,
        pair: Sequence[Run],
        questions: Mapping[str, Question],
        k: int,
    ) -> dict[str, Pair]:
        """Return the first k hits of each run, by question that both runs measured."""
        retrieved = [
            {
                item.question_id: [key for key, _, _ in item.ranking[:k]]
                for item in runs.results(connection, run.id)
            }
            for run in pair
        ]
        if len(retrieved) == 1:
            retrieved.append({name: [] for name in retrieved[0]})
        first, second = retrieved
        shared = [name for name in first if name in second and name in questions]
        return {name: (first[name], second[name]) for name in shared}

    def _spans(
        self, connection: Connection, pair: Sequence[Run], questions: Sequence[Question]
    ) -> list[Spans]:
        """The passages of all labelled documents, as each run cuts them."""
        ids = sorted({evidence.document_id for item in questions for evidence in item.evidence})
        cuts = {builds.cut_id(connection, self._base_id, run.cut) for run in pair}
        return [passages.spans(connection, self._base_id, cut_id, ids) for cut_id in cuts]

    def _chunks(
        self, connection: Connection, pair: Sequence[Run], rankings: Mapping[str, Pair]
    ) -> dict[str, Chunk]:
        """The ranked passages that are still there, by id."""
        chunks: dict[str, Chunk] = {}
        for number, run in enumerate(pair):
            ids = {item for both in rankings.values() for item in both[number]}
            chunks |= passages.passages_by_id(connection, self._base_id, run.cut, ids)
        return chunks

    def _unjudged(
        self,
        connection: Connection,
        hit: OpenHit,
        question: Question,
        chunks: Mapping[str, Chunk],
        names: Mapping[str, str],
        origin: str,
    ) -> Unjudged:
        chunk = chunks.get(hit.item)
        document_id = chunk.document_id if chunk else hit.item
        text = chunk.text if chunk else documents.text(connection, self._base_id, hit.item)[:_SHOWN]
        return Unjudged(
            question_id=question.id,
            question=question.text,
            document_id=document_id,
            document=names[document_id],
            start=chunk.start if chunk else 0,
            end=chunk.end if chunk else None,
            text=text,
            ranks=hit.ranks,
            weight=hit.weight,
            origin=origin,
        )


def origin_of(run_ids: Sequence[str]) -> str:
    """Return the origin of labels that judge hits of these runs, independent of the runs' order."""
    return f"runs {' '.join(sorted(run_ids))}"


def _ideals(
    questions: Mapping[str, Question], rankings: Mapping[str, Pair], cuts: Sequence[Spans], k: int
) -> dict[str, float]:
    """The ideal DCG@k of questions by what labels say of the first of some cuts."""
    return {
        name: OpenPair((), (), graded(questions[name], cuts[0])[0], k, 1).ideal()
        for name in rankings
    }


def _judged(question: Question, cuts: Sequence[Spans]) -> set[str]:
    """Ids of the documents or, in each of some cuts, of the passages that labels cover."""
    if judged_by_document(question):
        return set(best_grades(question))
    document_ids = {item.document_id for item in question.evidence}
    keys: set[int] = set()
    for spans in cuts:
        cut = [
            (key, name, start, end)
            for name in document_ids
            for key, start, end in spans.get(name, ())
        ]
        keys |= judged_passages(question, cut)
    return {f"{key:016x}" for key in keys}
