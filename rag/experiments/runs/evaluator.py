"""Evaluating a recipe on a question set, and keeping the run."""

from __future__ import annotations

import platform
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib import metadata
from statistics import fmean
from types import MappingProxyType

import numpy as np

from rag.chunking import estimates
from rag.errors import InvalidInput
from rag.evaluation.judging import Judge, Judged
from rag.evaluation.measuring import measured, with_figures
from rag.evaluation.relevance import is_measurable, judged_by_document
from rag.evaluation.significance import Fallbacks
from rag.evaluation.span_metrics import by_tokens, ranked_keys, span_figures
from rag.experiments.runs.differences import edits_environment
from rag.experiments.runs.quality.failing import METRIC as DOUBT
from rag.experiments.runs.quality.failing import correct_doubts
from rag.library.documents.stored import documents_hash
from rag.operation import operation
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval import Nearness, Timeline, gather, select
from rag.search.snapshot import SearchSnapshot, take_complete_snapshot
from rag.services.indexing.index import Index
from rag.services.services import Services
from rag.settings import Settings
from rag.settings.version import code_version
from rag.storage import Connection, Database, bases, documents, passages, runs
from rag.storage import questions as question_rows
from rag.storage.questions import QuestionSet
from rag.types import Keys, ProgressCallback, Question, Vectors
from rag.types.results import CONTEXT, EDITS, PIPELINE, RANKABLE, QuestionResult, Run

# Packages whose arithmetic decides the figures.
_DECIDING = ("numpy", "faiss-cpu", "openvino", "onnxruntime", "tokenizers", "PyStemmer")
_AT_ONCE = 64  # questions
_NONE: Mapping[str, Keys] = MappingProxyType({})
_NO_FIGURES: Mapping[str, Mapping[str, float]] = MappingProxyType({})
_NO_WORDS: Mapping[str, str] = MappingProxyType({})
IDENTICAL = "documents named like their question"
"""What the environment of a run calls it that such documents were no results."""
USERS = "questions of users"
"""What it calls it that questions from chats were left out."""
DEFAULT_CUTOFFS = (1, 3, 5, 10, 20, 100)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A stored run with what happened to every question."""

    run: Run
    results: tuple[QuestionResult, ...]


class Evaluator:
    """An evaluator of recipes on one knowledge base with the search that answers questions.

    Where ``by_tokens`` is asked for, spans are measured in tokens too: those of the default
    embedder, so that recipes with different embedders stay comparable.
    """

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id

    @operation("editor", audit="evaluation")
    def evaluate(
        self,
        set_name: str,
        recipe: Recipe,
        cutoffs: Sequence[int] = DEFAULT_CUTOFFS,
        on_progress: ProgressCallback = lambda _done, _total: None,
        *,
        by_tokens: bool = False,
        ignore_identical: bool = False,
        without_users: bool = False,
        run_id: str | None = None,
        beside: Mapping[str, Mapping[str, float]] = _NO_FIGURES,
        about: Mapping[str, str] = _NO_WORDS,
        spent: float = 0.0,
    ) -> Evaluation:
        """Run every question to the deepest cutoff, store the run and return it.

        It is measured at top-k of the recipe too, where the deepest cutoff reaches it.

        With ``ignore_identical`` a document whose name is the id of the question is no result, as
        in collections whose questions are documents themselves (BEIR's ``ignore_identical_ids``,
        which its figures of ArguAna and Quora rest on).
        ``without_users`` leaves out what somebody asked in a chat, which is no random sample.

        ``beside`` has further figures by question id, as of answers, whose means are over the
        questions that have them; ``about`` goes into the environment, and ``spent``, the seconds
        that they took, into those of the run.

        With a ``run_id`` it is stored once, however often that is tried. Raises NotFound
        for an unknown set and where the base was deleted meanwhile, InvalidInput when no question
        is labelled, or for a recipe with tools.
        """
        started = time.perf_counter()
        question_set, questions = self.questions(
            set_name, refusals_alone=True, without_users=without_users, answers=bool(beside)
        )
        top_k = recipe.search.top_k  # by which questions fail
        cutoffs = sorted({*cutoffs, min(top_k, max(cutoffs))})
        snapshot = take_complete_snapshot(self._services, self._base_id, recipe)
        index, fallbacks = snapshot.index, Fallbacks()
        queries = self._embedded(questions, recipe.index)
        own = self._identical(questions, index) if ignore_identical else {}
        unanswered = [item for item in questions if DOUBT not in beside.get(item.id, {})]
        # A question is done when it was searched and, without an answer, its doubt is known too.
        steps = len(questions) + sum(not item.answerable for item in unanswered)

        def reached(step: int) -> None:
            on_progress(step * len(questions) // steps, len(questions))

        shown = list[Keys]()
        results, means = self.measure(
            questions,
            queries,
            snapshot,
            cutoffs,
            lambda done, _: reached(done),
            fallbacks,
            by_tokens=by_tokens,
            own=own,
            shown=shown,
        )
        environment = {**self._environment(snapshot, fallbacks), **about}
        if ignore_identical:
            environment[IDENTICAL] = "ignored"
        if without_users:
            environment[USERS] = "left out"
        by_document = all(map(judged_by_document, filter(is_measurable, questions)))
        reach = len(index.keys) if by_document else len(index.passages)
        environment[RANKABLE] = str(reach)
        environment[CONTEXT] = f"{self._mean_tokens(shown, index.cut_id):.1f}"
        doubts = correct_doubts(
            self._services, snapshot, unanswered, lambda done, _: reached(len(questions) + done)
        )
        results, means = with_figures(results, means, _merged(doubts, beside))
        run = Run(
            id=run_id or new_run_id(),
            base_id=self._base_id,
            question_set=set_name,
            set_version=question_set.version,
            recipe=recipe.current(),
            base_version=index.version,
            documents=len(index.keys),
            documents_hash=documents_hash(index.keys, environment.get(EDITS, "")),
            questions=len(questions),
            metrics=means,
            environment=environment,
            seconds=spent + time.perf_counter() - started,
            created=datetime.now(UTC),
        )
        return store_run(self._services.database, run, question_set, results)

    def _mean_tokens(self, shown: Sequence[Keys], cut_id: int | None) -> float:
        """The mean tokens of these passages, which each question shows."""
        with self._services.database.read() as connection:
            keys = np.unique(np.concatenate(shown)).tolist()
            chunks = passages.by_key(connection, cut_id, keys)
        sizes = {key: estimates.tokens(chunk.text) for key, chunk in chunks.items()}
        return fmean(sum(sizes.get(key, 0) for key in row.tolist()) for row in shown)

    def _identical(self, questions: Sequence[Question], index: Index) -> dict[str, Keys]:
        """The passages of the document whose name is a question's id, by that id."""
        ids = self._services.database.fetch(documents.ids_by_name, self._base_id)
        named = {item.id: ids[item.id] for item in questions if item.id in ids}
        return {name: index.keys[key] for name, key in named.items() if key in index.keys}

    def _environment(self, snapshot: SearchSnapshot, fallbacks: Fallbacks) -> dict[str, str]:
        """Return the other conditions that the metrics may depend on."""
        edits = self._services.database.fetch(edits_environment, self._base_id, snapshot.index.keys)
        more = {
            "filtered": snapshot.filter_digest,
            "calibration": snapshot.threshold_rule.digest,
            "fallbacks": fallbacks.described(),
        }
        more |= code_and_machine(self._services.settings) | edits
        return {name: value for name, value in more.items() if value}

    @operation("guest")
    def questions(
        self,
        set_name: str,
        *,
        refusals_alone: bool = False,
        without_users: bool = False,
        answers: bool = False,
    ) -> tuple[QuestionSet, list[Question]]:
        """A set, and its ``measurable_questions``.

        Raises NotFound for an unknown set, InvalidInput as ``measurable_questions`` does.
        """
        with self._services.database.read() as connection:
            question_set = question_rows.get_question_set(connection, self._base_id, set_name)
            questions = question_rows.usable(
                connection, self._base_id, question_set.id, without_users=without_users
            )
        return question_set, measurable_questions(
            question_set, questions, refusals_alone=refusals_alone, answers=answers
        )

    def _embedded(self, questions: Sequence[Question], recipe: IndexRecipe) -> Iterator[Vectors]:
        """The same, row by row: some questions are embedded when those before them are done."""
        for start in range(0, len(questions), _AT_ONCE):
            yield from self.queries(questions[start : start + _AT_ONCE], recipe)

    @operation("guest")
    def queries(
        self,
        questions: Sequence[Question],
        recipe: IndexRecipe,
        on_progress: ProgressCallback = lambda _done, _total: None,
    ) -> Vectors:
        """The vectors of questions, shape (questions, dimension)."""
        embedder = self._services.models.embedder(recipe.embedder)
        texts, parts = [item.text for item in questions], []
        for start in range(0, max(len(texts), 1), _AT_ONCE):
            on_progress(start, len(texts))
            some = texts[start : start + _AT_ONCE]
            parts.append(self._services.queries.vectors(embedder, some)[0])
        return np.concatenate(parts)

    @operation("editor")
    def measure(
        self,
        questions: Sequence[Question],
        queries: Iterable[Vectors],
        snapshot: SearchSnapshot,
        cutoffs: Sequence[int],
        on_progress: ProgressCallback = lambda _done, _total: None,
        fallbacks: Fallbacks | None = None,
        *,
        by_tokens: bool = False,
        own: Mapping[str, Keys] = _NONE,
        shown: list[Keys] | None = None,
    ) -> tuple[list[QuestionResult], dict[str, float]]:
        """Results by question and their means, without keeping them as a run.

        ``queries`` has a vector for each question; ``fallbacks`` hears of steps that failed;
        ``own`` has passages by question id that are no results for it. The first top-k passages of
        each question are appended to ``shown``.
        Raises ProviderUnavailable for one that never worked.
        """
        fallbacks = fallbacks or Fallbacks()
        # As deep as the deepest cutoff, or the last metrics would be cut by the recipe's top-k.
        depth = max(cutoffs) + max(map(len, own.values()), default=0)
        search, index = deepened(snapshot.recipe.search, depth), snapshot.index
        labelled = any(question.answerable and question.evidence for question in questions)
        judge = self.judge(questions, index) if labelled else Judge({}, index.keys)
        searched, threshold = snapshot.corpus(), snapshot.threshold_rule.threshold
        ranked = []
        for place, (question, query) in enumerate(zip(questions, queries, strict=True)):
            on_progress(place, len(questions))
            timeline = Timeline()
            _, candidates = gather(question.text, search, searched, timeline, query)
            nearness, all_keys = Nearness(candidates.keys, searched.dense.vectors), candidates.keys
            selection = select(candidates, search, threshold, searched.calibration, nearness)
            fallbacks.note(timeline.stages)
            fallbacks.require(len(questions))
            # Everything above the threshold, best first: cut later, by passage or by document.
            above = np.concatenate([selection.kept, selection.beyond])
            if question.id in own:
                above = above[~np.isin(all_keys[above], own[question.id])]
            if shown is not None:
                shown.append(all_keys[above][: snapshot.recipe.search.top_k])
            judged = judge.judge(question, all_keys[above], selection.scores[above], max(cutoffs))
            if judged.first_relevant is None and len(selection.below):
                rest = selection.order[
                    ~np.isin(all_keys[selection.order], own.get(question.id, ()))
                ]
                uncut = judge.judge(question, all_keys[rest], selection.scores[rest], max(cutoffs))
                judged = replace(judged, cut_rank=uncut.first_relevant)
            ranked.append(judged)
        return measured(ranked, cutoffs, self._span_figures(ranked, cutoffs, index, by_tokens))

    def _span_figures(
        self, ranked: Sequence[Judged], cutoffs: Sequence[int], index: Index, in_tokens: bool
    ) -> dict[str, dict[str, float]]:
        with self._services.database.read() as connection:
            by_key = passages.places(connection, index.cut_id, ranked_keys(ranked))
            places = {f"{key:016x}": place for key, place in by_key.items()}
            if not in_tokens:
                return span_figures(ranked, places, cutoffs)
            tokenizer = self._services.models.embedder(IndexRecipe().embedder).tokenizer
            tokens = by_tokens(partial(documents.text, connection, self._base_id), tokenizer)
            return span_figures(ranked, places, cutoffs, tokens)

    @operation("guest")
    def judge(self, questions: Sequence[Question], index: Index) -> Judge:
        """Return a judge that grades rankings of a build by the labels of these questions.

        Raises InvalidInput if no question is labelled, or if the build contains no labelled
        document.
        """
        ids = {item.document_id for question in questions for item in question.evidence}
        if not ids:
            raise InvalidInput(
                "None of these questions has a label.",
                "Label passages for some of them, or split the set again: all labels may "
                "be in its other half.",
            )
        if ids.isdisjoint(index.keys):
            raise InvalidInput(
                "The index of this recipe contains none of the labelled documents.",
                "Build the index of this recipe first.",
            )
        spans = self._services.database.fetch(
            passages.spans, self._base_id, index.cut_id, sorted(ids)
        )
        return Judge(spans, index.keys)


def measurable_questions(
    question_set: QuestionSet,
    questions: Sequence[Question],
    *,
    refusals_alone: bool = False,
    answers: bool = False,
) -> list[Question]:
    """Questions of a set that are labelled or said to be unanswerable.

    Where ``answers`` are scored, those with an expected answer count too. Raises InvalidInput when
    no question is labelled, nor has an expected answer that counts; with ``refusals_alone`` not
    where all are unanswerable, whose refusals can be counted.
    """
    judged = [item for item in questions if is_measurable(item) or (answers and item.answer)]
    if refusals_alone and question_set.questions and not question_set.answerable:
        return judged
    if any(item.answer and not is_measurable(item) for item in judged):
        return judged
    labels = [item for question in judged for item in question.evidence]
    if not any(item.grade > 0 and not item.lost for item in labels):
        raise InvalidInput(
            f"No question of {question_set.name!r} has a label in these documents.",
            "Add questions that the documents answer: refusals alone cannot choose anything else."
            if judged and not any(question.answerable for question in judged)
            else "Label passages first, or import the documents that the labels point to.",
        )
    return judged


def _merged(
    doubts: Mapping[str, Mapping[str, float]], beside: Mapping[str, Mapping[str, float]]
) -> dict[str, Mapping[str, float]]:
    names = dict.fromkeys((*doubts, *beside))
    return {name: {**doubts.get(name, {}), **beside.get(name, {})} for name in names}


def store_run(
    database: Database,
    run: Run,
    question_set: QuestionSet,
    results: Sequence[QuestionResult],
    beside: Callable[[Connection, Run], None] = lambda _connection, _run: None,
) -> Evaluation:
    """Store a run, unless there is one with its id, and what is stored ``beside`` it.

    Raises NotFound where the base was deleted.
    """
    with database.write() as connection:
        bases.hold(connection, run.base_id)
        sets = question_rows.list_question_sets(connection, run.base_id)
        names = {row.id: row.name for row in sets}  # the set may have been renamed meanwhile
        run = replace(run, question_set=names.get(question_set.id, run.question_set))
        if not runs.run_exists(connection, run.id):
            runs.insert_run(connection, run, results)
            beside(connection, run)
    return Evaluation(run, tuple(results))


def new_run_id() -> str:
    """A name that no run has yet."""
    return uuid.uuid4().hex[:12]


def deepened(search: SearchRecipe, depth: int) -> SearchRecipe:
    """The recipe, followed down to ``depth``: its ranking stays as it answers.

    One retriever alone goes as deep as it is asked. Hybrid keeps its candidates, because more of
    them would stretch the scores otherwise and make another ranking.
    """
    candidates = search.candidates
    if search.mode != "hybrid":
        candidates = max(depth, candidates)
    return search.model_copy(update={"top_k": depth, "candidates": candidates})


def code_and_machine(settings: Settings) -> dict[str, str]:
    """Return the versions that decide metrics, and the machine, as the environment of a run."""
    return {
        **({PIPELINE: settings.pipeline} if settings.pipeline else {}),
        "touchstone": code_version(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        **_deciding_packages(),
    }


@cache
def _deciding_packages() -> dict[str, str]:
    """Looked up once: that takes a walk through folders, at every evaluation."""
    return {
        package.name: package.version
        for name in _DECIDING
        for package in metadata.distributions(name=name)
    }
