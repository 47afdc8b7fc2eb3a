"""Examination of the failed questions of a set: each gets its first cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from textwrap import shorten

import numpy as np

from rag.answering.citations import answer_and_more
from rag.errors import NotFound
from rag.evaluation.answers import contains_answer, nearest_part, plain_answer
from rag.evaluation.calibration import Calibration
from rag.evaluation.measuring import measured
from rag.evaluation.relevance import judged_by_document, nuggets_of
from rag.evaluation.report.words import counted
from rag.evaluation.thresholds import FEWEST_FOR_REFUSAL
from rag.experiments.runs.quality.failing import (
    CONFLICT,
    correct_doubts,
    first_failure,
    newest_scored,
    with_answers,
)
from rag.experiments.runs.quality.failing import METRIC as DOUBT
from rag.experiments.tuning.candidates import CandidateSource
from rag.experiments.tuning.diagnosis.case import (
    Case,
    Rankings,
    Searched,
    Setting,
    have_ndcg,
    scores,
    search_all,
)
from rag.experiments.tuning.diagnosis.causes import LEAST_ON_TOPIC, FailedQuestion, Finding
from rag.experiments.tuning.diagnosis.checks import cause_of, lost_label
from rag.experiments.tuning.sweeper import Sweeper
from rag.library.documents.stored import documents_hash_now
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval import Corpus
from rag.retrieval.candidates import bm25_options
from rag.search.corpus import corpus, threshold_rule
from rag.search.snapshot import take_snapshot
from rag.services.services import Services
from rag.storage import builds, documents
from rag.storage import runs as run_rows
from rag.storage.quality import answers as answer_rows
from rag.storage.quality.answers import RunAnswer
from rag.types import LOST, Chunk, Document, Evidence, Floats, Keys, ProgressCallback, Question
from rag.types.results import QuestionResult

_Place = tuple[str, str, int | None]
"""The id of a passage, its document and page; "" where there is none."""
_NEAR = 5  # passages that may have the words of a lost label
_SHOWN = 160  # characters of an expected answer, and of one that was given
_MOST_WORDS = 60  # of a lost label, that are searched


class Examination:
    """One recipe on one question set: every question searched, the failed ones examined."""

    def __init__(self, services: Services, base_id: int, sweeper: Sweeper, recipe: Recipe) -> None:
        self._services = services
        self._base_id = base_id
        self._sweeper = sweeper
        self.recipe = recipe
        self.source = sweeper.source(recipe.index)
        self.questions: Sequence[Question] = sweeper.questions
        self.threshold = threshold_rule(services, base_id, recipe.index, recipe.search)
        corpus_of, document = cache(self._corpus), cache(self._document)
        self._setting = Setting(
            recipe, self.threshold.threshold, corpus_of, document, self.source.judge.spans
        )

    @cached_property
    def searched(self) -> list[Searched]:
        """All questions, searched."""
        threshold = self.threshold.threshold
        return search_all(
            self.source, self.questions, self.recipe, threshold, lambda _done, _total: None
        )

    @cached_property
    def scores(self) -> Floats:
        """nDCG at top-k of all questions, shape (questions,)."""
        return scores(self.searched, self.recipe.search.top_k)

    def is_built(self, index: IndexRecipe) -> bool:
        """Whether the build of an index recipe has all documents."""
        return not self._services.database.fetch(builds.missing, self._base_id, index.hash)

    def source_of(self, index: IndexRecipe) -> CandidateSource:
        """The candidates of a build that is there. Raises InvalidInput while it lacks vectors."""
        return self._sweeper.source(index)

    def failed(self, on_progress: ProgressCallback) -> list[FailedQuestion]:
        """The failed questions with their causes, in the order of the set."""
        k = self.recipe.search.top_k
        results, _ = measured([searched.judged for searched in self.searched], [k])
        failures = [first_failure(result, k) for result in self._with_answers(results)]
        ranked = have_ndcg(self.searched, k)  # others are examined for what their labels lack
        returned = [
            question
            for question, failure in zip(self.questions, failures, strict=True)
            if failure == "not refused"
        ]
        flagged = self._flagged(returned, on_progress)
        failed = [
            (number, failure)
            for number, (question, failure) in enumerate(zip(self.questions, failures, strict=True))
            if failure
            and question.id not in flagged
            and (question.answer or failure != "unexpected")  # the expected one may be removed
        ]
        examined = list[FailedQuestion]()
        for done, (number, failure) in enumerate(failed):
            on_progress(done, len(failed))
            question, score = self.questions[number], float(self.scores[number])
            place: _Place = ("", "", None)
            if failure == "doubtful" and ranked[number]:
                message = f"The search finds its passage (nDCG {score:.2f}), and its answer is "
                finding = Finding("doubted", f"{message}doubtful.")
            elif failure == "unexpected" and ranked[number]:
                finding, place = self._unexpected(number)
            else:
                finding, place = self._examined(number)
            lacking = self.searched[number].candidates.lacking
            failure_of = question.id, question.text, score, finding
            examined.append(FailedQuestion(*failure_of, *place, lacking))
        return examined

    def _flagged(self, questions: Sequence[Question], on_progress: ProgressCallback) -> set[str]:
        """The ids of unanswerable questions whose answers are refused or doubtful all the same.

        Empty where that is not measured, because it would ask a model.
        """
        index = self.source.index
        snapshot = take_snapshot(self._services, self._base_id, self.recipe, index)
        doubts = correct_doubts(self._services, snapshot, questions, on_progress)
        return {name for name, figures in doubts.items() if figures[DOUBT]}

    @cached_property
    def scored_run(self) -> str:
        """The id of the newest run of this recipe on these documents that scored answers, or ""."""
        name = self._sweeper.question_set.name
        with self._services.database.read() as connection:
            runs = run_rows.list_runs(connection, self._base_id, name)
            now = documents_hash_now(connection, self._base_id)
        run = newest_scored(runs, self.recipe, now)
        return run.id if run else ""

    def _with_answers(self, results: Sequence[QuestionResult]) -> Sequence[QuestionResult]:
        """Results with the measures of the answers of that run."""
        if not self.scored_run:
            return results
        with self._services.database.read() as connection:
            scored = run_rows.figures(connection, [self.scored_run])[self.scored_run]
        return with_answers(results, scored)

    @cached_property
    def _answers(self) -> Mapping[str, RunAnswer]:
        """The answers of that run, by question id."""
        return self._services.database.fetch(
            answer_rows.answers_of_run, self._base_id, self.scored_run
        )

    def _unexpected(self, number: int) -> tuple[Finding, _Place]:
        """The cause of a question whose passage is found, and whose answer lacks the expected one.

        The place is the first result that has the expected answer.
        """
        question = self.questions[number]
        stored = self._answers.get(question.id)
        answer = stored.text if stored else ""
        is_folded = contains_answer(plain_answer(answer), question.answer, question.text)
        if stored and stored.mode == "quotes" and not stored.metrics.get(CONFLICT):
            answer, _ = answer_and_more(answer, [1])  # the others are folded below the first quote
        message = (
            f"Expected: {_shortened(question.answer)}. Answered: {_part(answer, question.answer)}."
        )
        if is_folded:
            message += " A quote that is folded below the answer has what is expected."
        keys = self.searched[number].keys.tolist()
        looked_up = self._setting.corpus.lookup(keys)
        for rank, key in enumerate(keys, 1):
            chunk, name = looked_up.get(key, (None, ""))
            if chunk and contains_answer(chunk.text, question.answer, question.text):
                if not is_folded:
                    message += (
                        f" The expected answer is in passage {rank}, which was found. The answer "
                        "has other words."
                    )
                finding = Finding("unexpected", message, {"rank": float(rank)})
                return finding, (chunk.id, name, chunk.page)
        return Finding("unexpected", message), ("", "", None)

    def _examined(self, number: int) -> tuple[Finding, _Place]:
        question, searched = self.questions[number], self.searched[number]
        if not question.answerable:
            return self._answered(searched), ("", "", None)
        missing = self._missing_parts(question, searched)
        if missing:
            evidence = [item for item in question.evidence if item.nugget in missing]
            question = replace(question, evidence=tuple(evidence))
        keys = self._relevant(question)
        if not len(keys):
            return self._unindexed(question), ("", "", None)
        rankings = Rankings.of(question, self.source.queries[number], self._setting)
        key = self._nearest(question, searched, rankings, keys)
        looked_up = self._setting.corpus.lookup([key])
        if key not in looked_up:
            raise NotFound("A document changed during the diagnosis.", "Find the causes again.")
        chunk, name = looked_up[key]
        found = sum(grade > 0 for grade in searched.judged.grades)
        case = Case(question, self._setting, searched, rankings, chunk, _label(question, chunk))
        finding = cause_of(case)
        if missing:
            parts = ", ".join(f"“{part}”" for part in missing)
            finding = replace(finding, evidence=f"Not found: {parts}. {finding.evidence}")
        elif chunk.key not in searched.keys and found:
            units = "documents" if judged_by_document(question) else "passages"
            returned = f"{found} of {len(searched.judged.ideal)} relevant {units}"
            which = f"The search returns {returned}. This is the next one."
            finding = replace(finding, evidence=f"{which} {finding.evidence}")
        return finding, (chunk.id, name, chunk.page)

    def _missing_parts(self, question: Question, searched: Searched) -> list[str]:
        """The named parts of the answer that no result has, in order; none without names."""
        names = nuggets_of(question.evidence)
        if not names or not question.answerable:
            return []
        return sorted(names - frozenset[str]().union(*searched.judged.nuggets))

    def _answered(self, searched: Searched) -> Finding:
        selection, candidates = searched.selection, searched.candidates
        relevance = float(selection.relevance[searched.shown].max())
        figures = {"relevance": relevance, "results": float(len(searched.shown))}
        message = (
            "The documents do not answer it, and the search returns "
            f"{counted(len(searched.shown), 'passage')}, the most relevant with {relevance:.3f}."
        )
        if candidates.topic is not None:
            figures["probability"] = candidates.topic.probability
            message += f" Probability of on-topic: {candidates.topic.probability:.3f}"
            least = self._least_on_topic
            if least is None:
                message += (
                    f". A limit needs at least {FEWEST_FOR_REFUSAL} answerable questions; this set "
                    f"has {sum(question.answerable for question in self.questions)}."
                )
            else:
                figures[LEAST_ON_TOPIC] = least
                message += f"; questions with an answer have at least {least:.3f}."
        return Finding("answered", message, figures)

    @cached_property
    def _least_on_topic(self) -> float | None:
        """The lowest probability of being on topic of the answerable questions.

        None for too few of them to choose a limit by.
        """
        found = [
            searched.candidates.topic.probability
            for question, searched in zip(self.questions, self.searched, strict=True)
            if question.answerable and searched.candidates.topic is not None
        ]
        return min(found) if len(found) >= FEWEST_FOR_REFUSAL else None

    def _relevant(self, question: Question) -> Keys:
        """The relevant passages of the index."""
        names = {item.document_id for item in question.evidence if item.grade > 0}
        index = self.source.index
        parts = [index.keys[name] for name in sorted(names) if name in index.keys]
        keys: Keys = np.concatenate([np.empty(0, np.int64), *parts])
        if not len(keys):
            return keys
        relevant: Keys = keys[self.source.judge.graded(question, keys)[1] > 0]
        return relevant

    def _nearest(
        self, question: Question, searched: Searched, rankings: Rankings, keys: Keys
    ) -> int:
        """The relevant passage that came nearest to the results without being there.

        Where all are there, the first of the most relevant: it is not first, or none had failed.
        """
        judge = self.source.judge
        units, grades = judge.graded(question, keys)
        shown = judge.graded(question, searched.keys)[0] if len(searched.keys) else searched.keys
        absent = keys[~np.isin(units, shown)]
        order = searched.candidates.keys[
            np.concatenate([searched.selection.order, searched.selection.refused])
        ]
        ranks = {int(key): rank for rank, key in enumerate(order.tolist())}
        full = [rankings.full.near.keys, rankings.full.words.keys]
        places = [{int(key): at for at, key in enumerate(ranked.tolist())} for ranked in full]
        last = len(self.source.index.passages)

        def place(key: int) -> tuple[int, int, int]:
            return ranks.get(key, last), min(part.get(key, last) for part in places), key

        wanted: list[int] = (absent if len(absent) else keys[grades == grades.max()]).tolist()
        return min(wanted, key=place)

    def _unindexed(self, question: Question) -> Finding:
        """The cause where no passage of the index is relevant."""
        labels = [item for item in question.evidence if item.grade > 0]
        lost = next((item for item in labels if item.lost), None)
        if lost is not None:
            return lost_label(lost, self._texts([lost]), self._similar(lost))
        names = self._names([labels[0].document_id])
        name = names.get(labels[0].document_id, "The document")
        return Finding("excluded", f"{name} has the label, and the index has no passage of it.")

    def _texts(self, labels: Sequence[Evidence]) -> dict[str, str]:
        names = {item.document_id.removeprefix(LOST) for item in labels}
        with self._services.database.read() as connection:
            ids = documents.ids_by_name(connection, self._base_id)
            return {
                name: documents.text(connection, self._base_id, ids[name])
                for name in names
                if name in ids
            }

    def _similar(self, label: Evidence) -> list[tuple[str, str]]:
        searched = self._setting.corpus
        words = " ".join(label.quote.split()[:_MOST_WORDS])
        keys, _ = searched.lexical.search(words, _NEAR, **bm25_options(SearchRecipe()))
        return [(name, chunk.text) for chunk, name in searched.lookup(keys.tolist()).values()]

    def _names(self, ids: Sequence[str]) -> dict[str, str]:
        return self._services.database.fetch(documents.names, self._base_id, ids)

    def _corpus(self, search: SearchRecipe) -> Corpus:
        recipe = self.recipe.model_copy(update={"search": search})
        calibration: Calibration | None = self.threshold.calibration
        index = self.source.index
        return corpus(self._services, self._base_id, recipe, index, calibration)

    def _document(self, document_id: str) -> Document:
        return self._services.database.fetch(documents.get, self._base_id, document_id)


def _shortened(text: str) -> str:
    """The beginning of a text in quotation marks, without marks of citations."""
    return f"“{shorten(plain_answer(text), _SHOWN, placeholder=' …')}”"


def _part(answer: str, expected: str) -> str:
    """The part of an answer that is nearest to the expected one, in quotation marks."""
    return f"“{nearest_part(plain_answer(answer), expected, _SHOWN)}”"


def _label(question: Question, chunk: Chunk) -> Evidence:
    """The evidence that a passage answers: that with which it shares most.

    Raises NotFound if its document has none.
    """
    labels = [
        item
        for item in question.evidence
        if item.grade > 0 and item.document_id == chunk.document_id
    ]
    if not labels:
        raise NotFound("The label of the question is gone.", "Run the diagnosis again.")
    if judged_by_document(question):
        return next((item for item in labels if item.end is None), labels[0])

    def shared(item: Evidence) -> int:
        end = item.end if item.end is not None else chunk.end
        return min(end, chunk.end) - max(item.start, chunk.start)

    return max(labels, key=shared)
