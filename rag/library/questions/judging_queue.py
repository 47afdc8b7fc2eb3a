"""The hits of stored runs that are worth judging next, with their text.

Hits are judged for three purposes: ``judge_next`` orders those that narrow a comparison,
``sample_next`` draws those that estimate a mean, and ``drawn_hits`` those that decide between two
runs. All of them read the same pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rag.errors import InvalidInput
from rag.evaluation.judge_next import OpenHit, Pair, Ranks, judge_next, sample_next
from rag.evaluation.judging import Spans
from rag.evaluation.pooling.bounds import OpenPair
from rag.evaluation.relevance import Passage, best_grades, judged_passages, relevant_chunks
from rag.evaluation.run_intervals import graded
from rag.lexical.analyzers import analyzer
from rag.lexical.explain import term_spans
from rag.library.questions.sets import StoredQuestions
from rag.operation import operation
from rag.recipe import IndexRecipe
from rag.storage import Connection, builds, documents, passages, runs
from rag.storage import questions as question_rows
from rag.storage.labels import SAMPLED
from rag.types import Question
from rag.types.results import Run

_SHOWN = 1500  # characters of a document that is judged whole


@dataclass(frozen=True, slots=True)
class HitToJudge:
    """A hit to be judged: ``LabelEdits.label`` takes question, document, start and end.

    ``item`` is the id of the passage or document. ``end`` None is for questions that are judged by
    document; ``text`` is then its beginning. ``ranks`` (from 1) are those in the two runs, None
    where a run does not have it among the first k. ``weight`` is that of ``OpenHit``. ``origin`` is
    for the label: the runs, and whether the hit was drawn at random from theirs. ``analyzer`` is
    that of the first run's index.
    """

    question_id: str
    question: str
    item: str
    document_id: str
    document: str
    page: int | None
    start: int
    end: int | None
    text: str
    ranks: Ranks
    weight: float = 0.0
    origin: str = ""
    analyzer: str = "auto"

    @property
    def matches(self) -> tuple[tuple[int, int], ...]:
        """The spans of ``text`` with words of the question."""
        words = analyzer(self.analyzer)
        return tuple(term_spans(words, self.text, set(words.query_tokens(self.question))))


class Place(NamedTuple):
    """The place of a hit; ``end`` None is for a whole document.

    Without ``text``, document, page and text are read when the hit is shown.
    """

    document_id: str
    start: int
    end: int | None
    document: str = ""
    page: int | None = None
    text: str = ""


Places = Mapping[tuple[str, str], Place]
"""Places of hits by question id and passage or document id."""


@dataclass(frozen=True)
class JudgingPool:
    """The hits of one or two runs of a question set, and what labels of today say of them."""

    connection: Connection
    base_id: int
    runs: Sequence[Run]
    questions: Mapping[str, Question]

    @classmethod
    def read(cls, connection: Connection, base_id: int, run_ids: Sequence[str]) -> JudgingPool:
        """Raise NotFound, and InvalidInput for runs of different question sets."""
        pair = [runs.get(connection, base_id, run_id) for run_id in run_ids]
        if len({run.question_set for run in pair}) > 1:
            raise InvalidInput(
                "The two runs measured different question sets.",
                "Compare runs of one question set.",
            )
        question_set = question_rows.get_question_set(connection, base_id, pair[0].question_set)
        usable = question_rows.usable(connection, base_id, question_set.id)
        return cls(connection, base_id, pair, {item.id: item for item in usable})

    @property
    def origin(self) -> str:
        """The origin of labels that judge these hits, independent of the runs' order."""
        return f"runs {' '.join(sorted(run.id for run in self.runs))}"

    def rankings(self, k: int | None) -> dict[str, Pair]:
        """The first k hits of each run, of the questions with an answer that all runs measured."""
        retrieved = [
            {
                item.question_id: [key for key, *_ in item.ranking]
                for item in runs.results(self.connection, run.id, k)
            }
            for run in self.runs
        ]
        first, second = retrieved if len(retrieved) > 1 else (retrieved[0], {})
        return {
            name: (ranking, second.get(name, []))
            for name, ranking in first.items()
            if (question := self.questions.get(name)) and question.answerable
            if len(retrieved) == 1 or name in second
        }

    def places(self, rankings: Mapping[str, Pair]) -> dict[tuple[str, str], Place]:
        """The places of ranked passages and documents that are still there."""
        present = documents.ids_by_name(self.connection, self.base_id)
        names = {document_id: name for name, document_id in present.items()}
        places: dict[str, Place] = {}
        for number, run in enumerate(self.runs):
            ids = {item for pair in rankings.values() for item in pair[number]}
            places |= {name: Place(name, 0, None) for name in ids & names.keys()}
            chunks = passages.passages_by_id(self.connection, self.base_id, run.cut, ids)
            for item, chunk in chunks.items():
                name = names[chunk.document_id]
                place = chunk.document_id, chunk.start, chunk.end
                places[item] = Place(*place, name, chunk.page, chunk.text)
        return {
            (name, item): places[item]
            for name, pair in rankings.items()
            for item in {**dict.fromkeys(pair[0]), **dict.fromkeys(pair[1])}
            if item in places
        }

    def spans(self, names: Iterable[str]) -> list[Spans]:
        """The passages of the documents that labels of some questions name, as each run cuts."""
        labelled = sorted(
            {item.document_id for name in names for item in self.questions[name].evidence}
        )
        cuts = dict.fromkeys(run.cut for run in self.runs)
        ids = [builds.cut_id(self.connection, self.base_id, cut) for cut in cuts]
        return [passages.spans(self.connection, self.base_id, cut, labelled) for cut in ids]

    def grades(
        self, places: Places, cuts: Sequence[Spans] | None = None
    ) -> dict[str, dict[str, int]]:
        """Grades of the judged ones among some hits, by question and id.

        ``cuts`` are the ``spans`` of their questions. The hits' own passages count beside those of
        today's cuts, since a document may have been cut again.
        """
        by_question: dict[str, dict[str, Place]] = {}
        for (name, item), place in places.items():
            if name in self.questions:
                by_question.setdefault(name, {})[item] = place
        cuts = self.spans(by_question) if cuts is None else cuts
        return {
            name: _graded(self.questions[name], hits, cuts) for name, hits in by_question.items()
        }

    def open_hits(
        self, k: int, *, sampled: bool
    ) -> tuple[list[OpenHit], dict[tuple[str, str], Place]]:
        """The unjudged hits among the first k, in the order of judging, with the places of all.

        Passages that are gone and questions known to be unanswerable are left out.
        """
        rankings = self.rankings(k)
        places, cuts = self.places(rankings), self.spans(rankings)
        judged = self.grades(places, cuts)
        if sampled:
            hits = sample_next(rankings, judged, k)
        else:
            # The ideal DCG@k by what labels say of the first run's passages
            ideals = {
                name: OpenPair((), (), graded(self.questions[name], cuts[0])[0], k, 1).ideal()
                for name in rankings
            }
            hits = judge_next(rankings, judged, k, ideals)
        return [hit for hit in hits if (hit.question_id, hit.item) in places], places

    def to_judge(self, hit: OpenHit, place: Place, origin: str = "") -> HitToJudge:
        """A hit with what people need to judge it. Raises NotFound if its document is gone."""
        if not place.text:
            document_id, start, end, *_ = place
            outline = documents.outline(self.connection, self.base_id, document_id)
            shown = _SHOWN if end is None else end
            text = documents.stretch(self.connection, self.base_id, document_id, start, shown)
            place = Place(document_id, start, end, outline.name, outline.page_at(start), text)
        recipes = [run.recipe.index for run in self.runs if run.recipe] or [IndexRecipe()]
        return HitToJudge(
            question_id=hit.question_id,
            question=self.questions[hit.question_id].text,
            item=hit.item,
            document_id=place.document_id,
            document=place.document,
            page=place.page,
            start=place.start,
            end=place.end,
            text=place.text,
            ranks=hit.ranks,
            weight=hit.weight,
            origin=origin,
            analyzer=recipes[0].analyzer,
        )


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
    ) -> list[HitToJudge]:
        """Unjudged hits among the first k of a run, or of two runs, the most telling first.

        With two runs these are the hits that narrow the interval of their difference in nDCG@k
        most, by the labels of today; at most ``limit``. With ``sampled`` they come in an order
        drawn at random instead, so that means can be estimated from those that were judged.

        Passages that are gone and questions known to be unanswerable are left out. Raises NotFound,
        and InvalidInput for runs of different question sets.
        """
        with self._database.read() as connection:
            run_ids = [run_id] if other_id is None else [run_id, other_id]
            pool = JudgingPool.read(connection, self._base_id, run_ids)
            hits, places = pool.open_hits(k, sampled=sampled)
            origin = (SAMPLED if sampled else "") + pool.origin
            return [
                pool.to_judge(hit, places[hit.question_id, hit.item], origin)
                for hit in hits[:limit]
            ]


def _graded(question: Question, hits: Mapping[str, Place], cuts: Sequence[Spans]) -> dict[str, int]:
    """Grades of the judged ones among the hits of a question, by id."""
    if not question.answerable:
        return dict.fromkeys(hits, 0)
    whole = best_grades(question)
    grades = {item: whole[item] for item, hit in hits.items() if hit.end is None and item in whole}
    cut = {
        (key, name, start, end)
        for spans in cuts
        for name in {item.document_id for item in question.evidence}
        for key, start, end in spans.get(name, ())
    }
    own = [
        (int(item, 16), hit.document_id, hit.start, hit.end)
        for item, hit in hits.items()
        if hit.end is not None
    ]
    rows: list[Passage] = sorted(cut | set(own))
    # A relevant document does not say which of its passages are relevant.
    telling = [item for item in question.evidence if item.end is not None or item.grade <= 0]
    judged = judged_passages(replace(question, evidence=tuple(telling)), rows)
    relevant = relevant_chunks(telling, rows)
    return grades | {f"{key:016x}": relevant.get(key, 0) for key, *_ in own if key in judged}
