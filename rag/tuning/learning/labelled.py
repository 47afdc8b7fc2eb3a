"""Labelled candidates of questions with their features, to be learned from and ranked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rag.evaluation.judging import Judged
from rag.evaluation.measuring import measured
from rag.recipe import Recipe
from rag.retrieval import Candidates, Timeline, gather, select
from rag.retrieval.reranking import features_of
from rag.search.corpus import corpus
from rag.search.threshold import threshold_rule
from rag.services import Services
from rag.tuning.candidates import CandidateSource
from rag.tuning.sweeper import Sweeper
from rag.types import Floats, Integers, Keys, ProgressCallback, Question, Scores

METRIC = "ndcg@10"
DEPTH = 10
_TAUGHT = 30
"""Candidates after this rank in both lists teach nothing, unless they are relevant."""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with its candidates: features (n, features), grades (n,), documents (n,).

    ``units`` (n,) are what is judged, passages or documents, and ``ideal`` is the best DCG.
    """

    question: Question
    candidates: Candidates
    table: Floats
    grades: Integers
    documents: npt.NDArray[np.str_]
    units: Keys
    ideal: float

    def quick_score(self, scores: Scores) -> float:
        """METRIC of all candidates in the order of scores, whatever a threshold would drop."""
        order = np.lexsort((self.candidates.keys, -scores))
        firsts = np.sort(np.unique(self.units[order], return_index=True)[1])[:DEPTH]
        return _discounted(self.grades[order][firsts]) / self.ideal

    @property
    def labelled_documents(self) -> list[str]:
        """The documents that are labelled relevant, whether they were found or not."""
        relevant = (item.document_id for item in self.question.evidence if item.grade > 0)
        return sorted(set(relevant))


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows of several questions together: features, grades and the question of each row."""

    table: Floats
    grades: Integers
    owner: Integers

    @property
    def questions(self) -> int:
        """The number of questions with a relevant row."""
        return len(np.unique(self.owner[self.grades > 0]))


def training_rows(
    questions: Sequence[LabelledQuestion], unseen: frozenset[str] = frozenset()
) -> TrainingRows:
    """Return what a fit reads of questions, without candidates from ``unseen`` documents."""
    parts = []
    for number, item in enumerate(questions):
        ranks = np.minimum(item.candidates.dense_rank, item.candidates.lexical_rank)
        taught = (ranks < _TAUGHT) | (item.grades > 0)
        if unseen:
            taught &= ~np.isin(item.documents, list(unseen))
        if (item.grades[taught] > 0).any():
            owner = np.full(int(taught.sum()), number, np.int64)
            parts.append((item.table[taught], item.grades[taught], owner))
    if not parts:
        nothing = np.empty(0, np.int64)
        return TrainingRows(np.empty((0, questions[0].table.shape[1])), nothing, nothing)
    return TrainingRows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


class Ranker:
    """A ranker that orders the candidates of a question as a search does, and scores them."""

    def __init__(self, services: Services, base_id: int, source: CandidateSource, recipe: Recipe):
        self._source = source
        self._search = recipe.search
        rule = threshold_rule(services, base_id, recipe.index, recipe.search)
        self._threshold, self._calibration = rule.threshold, rule.calibration

    def score(self, item: LabelledQuestion, learned: Scores | None) -> float:
        """METRIC of a question with the scores of a learned fusion, or with the recipe's fusion."""
        candidates = replace(item.candidates, learned=learned)
        judged = self._judged(item.question, candidates)
        (result,), _ = measured([judged], [DEPTH])
        return float(result.metrics[METRIC])

    def _judged(self, question: Question, candidates: Candidates) -> Judged:
        near = self._source.nearness(candidates.keys)
        selection = select(candidates, self._search, self._threshold, self._calibration, near)
        places = np.concatenate([selection.kept, selection.beyond])
        keys, scores = candidates.keys[places], selection.scores[places]
        return self._source.judge.judge(question, keys, scores, DEPTH)


def labelled_questions(
    services: Services,
    base_id: int,
    sweeper: Sweeper,
    recipe: Recipe,
    on_progress: ProgressCallback,
) -> list[LabelledQuestion]:
    """The answerable questions of a set with a label in the documents of the recipe's build."""
    source = sweeper.source(recipe.index)
    searched = corpus(services, base_id, recipe, source.index)
    items = []
    for done, (question, query, ideal) in enumerate(
        zip(sweeper.questions, source.queries, source.ideals, strict=True)
    ):
        on_progress(done, len(sweeper.questions))
        if not ideal:
            continue
        timeline = Timeline()
        search_query, candidates = gather(question.text, recipe.search, searched, timeline, query)
        passages = searched.lookup(candidates.keys.tolist())
        names = [
            passages[key][0].document_id if key in passages else ""
            for key in candidates.keys.tolist()
        ]
        units, grades = source.judge.graded(question, candidates.keys)
        table = features_of(search_query, candidates, searched)
        items.append(
            LabelledQuestion(
                question,
                candidates,
                table,
                grades,
                np.array(names, dtype=np.str_),
                units,
                _discounted(np.array(ideal[:DEPTH])),
            )
        )
    return items


def _discounted(grades: Integers) -> float:
    gains = np.maximum(grades, 0)
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum())
