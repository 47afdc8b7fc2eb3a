"""The stored runs of a knowledge base as they are compared, with the groups of their questions.

A run never changes once it is stored, and all reads of one ask for the same rows: the
latest readings are kept, with as much of the rankings as figures look at.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rag.errors import InvalidInput, NotFound
from rag.evaluation.judging import Judge, Judged
from rag.evaluation.measuring import highest_mean, measured
from rag.evaluation.metrics import ANSWER_TITLES, MEASURES
from rag.evaluation.relevance import judged_by_document
from rag.experiments.runs.differences import RunDifferences, differences
from rag.library.documents.stored import documents_hash_now
from rag.library.questions.groups import groups_of
from rag.services.services import SizedCache
from rag.storage import Connection, Database, bases, builds, passages, questions, runs
from rag.storage.questions import QuestionSet
from rag.types import Question
from rag.types.results import QuestionResult, Run


class StoredRuns:
    """The stored runs of one knowledge base."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id


_questions = SizedCache[Sequence[Question]](20_000)  # of some 2 kB
_groups = SizedCache[Mapping[str, str]](100_000)


def questions_of_set(
    connection: Connection, base_id: int, set_name: str
) -> tuple[QuestionSet, Sequence[Question]]:
    """A set and its questions, which are kept for each state of both and the documents.

    Raises NotFound.
    """
    question_set = questions.get_question_set(connection, base_id, set_name)
    state = _state(connection, base_id, question_set)
    return question_set, _questions.get(
        state, lambda: questions.usable(connection, base_id, question_set.id)
    )


def groups_of_set(connection: Connection, base_id: int, set_name: str) -> dict[str, str]:
    """Groups by question id; none where the set is gone, as nothing tells them then."""
    try:
        question_set, questions = questions_of_set(connection, base_id, set_name)
    except NotFound:
        return {}
    return dict(
        _groups.get(_state(connection, base_id, question_set), lambda: groups_of(questions))
    )


def _state(connection: Connection, base_id: int, question_set: QuestionSet) -> Hashable:
    return str(connection.engine.url), base_id, bases.version(connection, base_id), question_set


def split_of_set(connection: Connection, base_id: int, set_name: str) -> tuple[int, float] | None:
    """Seed and share of the split of a set; None where the set is gone."""
    try:
        question_set = questions.get_question_set(connection, base_id, set_name)
    except NotFound:
        return None
    return question_set.split_seed, question_set.split_share


DEPTH = 10
"""How much of each ranking is kept."""

_GRADED = frozenset((*MEASURES, "nugget_recall", "misleading", "udcg", "correct_refusal"))
_DIGITS = 16  # of the id of a passage; that of a document is longer
_kept = SizedCache[Mapping[str, QuestionResult]](20_000)  # questions of some 8 kB


@dataclass(frozen=True, slots=True)
class Loaded:
    """A run with what happened to each of its questions, by id.

    ``version`` is that of the set whose labels grade its hits, None for the one it measured.
    """

    run: Run
    results: Mapping[str, QuestionResult]
    version: int | None = None

    @classmethod
    def read(
        cls, connection: Connection, base_id: int, run_id: str, depth: int | None = None
    ) -> Loaded:
        """With at least the first ``depth`` of each ranking, None for all. Raises NotFound.

        The passages of a system are known from its rankings alone, which are read whole.
        """
        run = runs.get(connection, base_id, run_id)
        depth = None if run.system else depth
        if depth is not None and depth <= DEPTH:
            key = str(connection.engine.url), run.id
            return cls(run, _kept.get(key, lambda: _results(connection, run.id, DEPTH)))
        return cls(run, _results(connection, run.id, depth))

    @property
    def texts(self) -> dict[str, str]:
        """Texts of the questions that labels judge, by id; others are measured by their answers."""
        return {
            name: item.text
            for name, item in self.results.items()
            if item.relevant or runs.BY_ANSWER not in item.metrics
        }

    def differences(self, before: Loaded) -> RunDifferences:
        """Return the differences from an earlier run, whose hits the same labels may grade."""
        if self.version is None:
            return differences(self.run, before.run, self.texts, before.texts)
        run, earlier = (replace(one.run, set_version=self.version) for one in (self, before))
        between = differences(run, earlier, self.texts, before.texts)
        graded = f"The labels changed: those of version {self.version} grade the hits of both runs."
        return replace(between, sentences=(graded, *between.sentences))

    def figures(self, metric: str, only: Collection[str] | None) -> dict[str, float]:
        """A metric by question, ``only`` of some. Raises InvalidInput where it was not measured."""
        if metric not in self.run.metrics:
            raise InvalidInput(f"Run {self.run.id} did not measure {metric}.", self._hint(metric))
        values = {name: figure_of(item, metric) for name, item in self.results.items()}
        return {
            name: value
            for name, value in values.items()
            if value is not None and (only is None or name in only)
        }

    def highest(self, metric: str, names: Iterable[str]) -> float:
        """Return the highest mean that the labels of some questions, by id, allow."""
        return highest_mean(metric, [self.results[name] for name in names])

    def _hint(self, metric: str) -> str:
        """The advice on how to evaluate again so that a metric is measured."""
        if metric in ANSWER_TITLES:
            return "Evaluate again and score the answers too."
        cutoffs = ", ".join(name for name in self.run.metrics if name.startswith("ndcg@"))
        return f"Evaluate again with that cutoff; it has {cutoffs} and the like."


def _results(
    connection: Connection, run_id: str, depth: int | None
) -> Mapping[str, QuestionResult]:
    return {item.question_id: item for item in runs.results(connection, run_id, depth)}


def ranks_hits(metric: str) -> bool:
    """Whether a metric follows from stored rankings and labels."""
    return metric.partition("@")[0] in _GRADED


def by_labels_of_today(
    connection: Connection, sides: Sequence[Loaded], metric: str
) -> list[Loaded]:
    """Runs of a set, their stored rankings graded by its labels of today if theirs differ.

    All are as they were measured for a metric of something else than ranked hits, and where one
    run cannot be graded: it is of a system, or its documents or questions are not those of today.
    """
    first = sides[0].run
    versions = {(side.run.question_set, side.run.set_version) for side in sides}
    same = len(versions) == 1 and all(side.version is None for side in sides)
    if same or len(dict(versions)) > 1 or not ranks_hits(metric):
        return list(sides)
    try:
        question_set, questions = questions_of_set(connection, first.base_id, first.question_set)
    except NotFound:
        return list(sides)
    documents_now = documents_hash_now(connection, first.base_id)
    graded = list[Loaded]()
    for side in sides:
        usable = side.run.recipe is not None and side.run.documents_hash == documents_now
        results = _graded(connection, side, questions) if usable else None
        if results is None:
            return list(sides)
        graded.append(Loaded(side.run, results, question_set.version))
    return graded


def _graded(
    connection: Connection, side: Loaded, questions: Sequence[Question]
) -> dict[str, QuestionResult] | None:
    """The results of a run by the labels of its questions; None where these rank other units."""
    asked = [
        item
        for item in questions
        if item.id in side.results and side.results[item.id].text == item.text
    ]
    if len(asked) < len(side.results):
        return None
    cut_id = builds.cut_id(connection, side.run.base_id, side.run.cut)
    ids = sorted({label.document_id for item in asked for label in item.evidence})
    judge = Judge(passages.spans(connection, side.run.base_id, cut_id, ids), {})
    judged = list[Judged]()
    for item in asked:
        ranking = side.results[item.id].ranking
        names, values = [key for key, *_ in ranking], [score for _, score, _ in ranking]
        if names and item.evidence and judged_by_document(item) == (len(names[0]) == _DIGITS):
            return None
        judged.append(judge.regrade(item, names, values))
    cutoffs = [int(name[5:]) for name in side.run.metrics if name.startswith("ndcg@")]
    return {
        result.question_id: replace(
            result,
            cut_rank=side.results[result.question_id].cut_rank,
            metrics={
                name: value
                for name, value in side.results[result.question_id].metrics.items()
                if name.partition("@")[0] not in _GRADED
            }
            | dict(result.metrics),
        )
        for result in measured(judged, cutoffs or [1])[0]
    }


def figure_of(item: QuestionResult, metric: str) -> float | None:
    """A metric of one question; None where it has none."""
    if metric == "correct_refusal":
        return None if item.answerable else float(not item.ranking)
    return item.metrics.get(metric)


def same_questions(
    figures: Mapping[str, float], run: Loaded, texts: Mapping[str, str]
) -> dict[str, float]:
    """Without ids that meant another question when the baseline was measured."""
    return {
        name: value
        for name, value in figures.items()
        if texts.get(name, run.results[name].text) == run.results[name].text
    }
