"""Gathers what a report of a run tells: labels, and passages that came instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from rag.answering.markup import unmarked
from rag.errors import InvalidInput, NotFound
from rag.evaluation.answers import plain_answer
from rag.evaluation.comparison import Groups
from rag.evaluation.inference.planning import Plan, plan
from rag.evaluation.intervals import Interval
from rag.evaluation.report import (
    Baseline,
    CalibrationNote,
    Expected,
    FailureNote,
    Miss,
    Retrieved,
    RunReport,
    on_cards,
    render,
)
from rag.evaluation.report.results import wrong_answer
from rag.evaluation.run_intervals import (
    TagFigures,
    UnjudgedShare,
    by_tag,
    intervals,
    unjudged_share,
)
from rag.experiments.runs.decisions import finished_decisions
from rag.experiments.runs.history import LEADING, RunComparison, RunHistory
from rag.experiments.runs.leaderboard import looked
from rag.experiments.runs.quality.failing import failing
from rag.experiments.runs.rankings import Pooling
from rag.experiments.runs.recipe_names import run_name
from rag.experiments.runs.stored import DEPTH, Loaded, StoredRuns, groups_of_set, questions_of_set
from rag.library.documents.stored import documents_hash
from rag.operation import ALL, operation
from rag.recipe import Recipe
from rag.retrieval.filters import filter_digest
from rag.search.corpus import fitted, threshold_rule
from rag.services.services import Services
from rag.storage import (
    Connection,
    bases,
    builds,
    documents,
    passage_edits,
    passages,
    questions,
    registries,
    runs,
)
from rag.storage import questions as question_rows
from rag.storage.quality import answers as answer_rows
from rag.storage.questions import LabelledQuestion
from rag.types.results import FOREIGN, QuestionResult, Run

_LATEST = 6
"""Runs of a set whose differences tell what the next one will differ by."""


class RunFigures(StoredRuns):
    """The figures of the runs of one knowledge base."""

    @operation("guest")
    def intervals(self, run_id: str) -> dict[str, Interval]:
        """The 95% interval of every mean of a run. Raises NotFound."""
        loaded, groups = self._loaded(run_id)
        return intervals(list(loaded.results.values()), list(loaded.run.metrics), groups)

    @operation("guest")
    def by_tag(self, run_id: str, names: Sequence[str]) -> list[TagFigures]:
        """The figures of a run by tag of its questions. Raises NotFound."""
        loaded, groups = self._loaded(run_id)
        return by_tag(list(loaded.results.values()), names, groups)

    def _loaded(self, run_id: str) -> tuple[Loaded, Groups]:
        with self._database.read() as connection:
            loaded = Loaded.read(connection, self._base_id, run_id, DEPTH)
            return loaded, groups_of_set(connection, self._base_id, loaded.run.question_set)

    @operation("guest")
    def unjudged(self, run_id: str, k: int = 10) -> UnjudgedShare | None:
        """Return the unjudged share of a run's first k hits; None if no question has a label now.

        Raises NotFound.
        """
        with self._database.read() as connection:
            loaded = Loaded.read(connection, self._base_id, run_id, k)
            run = loaded.run
            question_set, questions = questions_of_set(connection, self._base_id, run.question_set)
            ids = sorted({item.document_id for question in questions for item in question.evidence})
            cut_id = builds.cut_id(connection, self._base_id, run.cut)
            spans = passages.spans(connection, self._base_id, cut_id, ids)
        rankings = {
            name: [key for key, *_ in item.ranking] for name, item in loaded.results.items()
        }
        current = question_set.version == run.set_version
        of_system = run.system is not None
        return unjudged_share(questions, rankings, spans, k, current, of_system=of_system)

    @operation("guest")
    def plan(self, set_name: str, metric: str = LEADING) -> Plan:
        """Return the smallest difference that the labelled questions of a set can detect.

        Its deviation is estimated from the latest runs of the set.

        Raises NotFound.
        """
        with self._database.read() as connection:
            question_set = question_rows.get_question_set(connection, self._base_id, set_name)
            of_set = [
                run.id
                for run in runs.list_runs(connection, self._base_id)
                if run.question_set == set_name and metric in run.metrics
            ][:_LATEST]
            figures = runs.figures(connection, of_set)
            questions = question_rows.list_labelled_questions(connection, question_set.id)
        labelled = sum(
            question.answerable and any(label.grade > 0 for label in question.labels)
            for question in questions
        )
        measured = [
            {name: values[metric] for name, values in figures[run_id].items() if metric in values}
            for run_id in of_set
        ]
        return plan(labelled, measured, metric)


_OTHER_LABELS = "The questions or their labels have changed since this run."
_MISSES = 6
_SHOWN = 3  # passages beside the evidence
_SPANS = 3  # labels of one question
_EXPECTED_LENGTH = 420
_RETRIEVED_LENGTH = 200
_PREFERRED = "ndcg@10"


class Reports(RunHistory, RunFigures, Pooling):
    """Reports on the runs of one knowledge base."""

    _services: Services
    _failures: Callable[[Run], FailureNote | None]

    @operation("guest", audit="export", audited_arguments=ALL)
    def report(self, run_id: str, baseline_id: str | None = None) -> str:
        """A run as one HTML file, compared with the pinned baseline unless another is named.

        Raises NotFound, InvalidInput where the two runs cannot be compared.
        """
        run = self.get(run_id)
        if baseline_id is None:
            pinned = self.baseline(run.question_set)
            baseline_id = pinned.id if pinned and pinned.id != run.id else None
        return render(self._report(run, baseline_id))

    def _report(self, run: Run, baseline_id: str | None) -> RunReport:
        returned = run.recipe.search.top_k if run.recipe else 0
        results = self.results(run.id, depth=max(_SHOWN, returned))
        metric = _metric(run)
        with self._database.read() as connection:
            # Wrong answers, then what fails, then the lowest figures; the ideal ones are no misses
            fails = failing(run, results)

            def place(one: QuestionResult) -> tuple[bool, bool, float]:
                is_passing = one.question_id not in fails
                return not wrong_answer(one), is_passing, one.metrics.get(metric, is_passing)

            bad = sorted((one for one in results if place(one) < (True, True, 1)), key=place)
            worst = bad[:_MISSES]
            answers = answer_rows.answers_of_run(connection, self._base_id, run.id)
            sets = questions.list_question_sets(connection, self._base_id)
            question_set = next((one for one in sets if one.name == run.question_set), None)
            labels = {}
            if question_set is not None:
                labelled = questions.list_labelled_questions(connection, question_set.id)
                labels = {item.id: item for item in labelled}
            texts = self._texts(connection, run, worst)
            misses = [
                Miss(
                    item,
                    _expected(item, labels.get(item.question_id)),
                    _retrieved(item, texts),
                    _short(plain_answer(answers[item.question_id].text), _EXPECTED_LENGTH)
                    if item.question_id in answers
                    else "",
                )
                for item in worst
            ]
            built = builds.passages_of(connection, self._base_id, run.cut)
            same_labels = question_set and question_set.version == run.set_version
            notes = [] if same_labels else [_OTHER_LABELS]
            notes += self._changes_of_documents(connection, run)
            groups = groups_of_set(connection, self._base_id, run.question_set)
            base = bases.by_id(connection, self._base_id).name
            name = run_name(run, registries.list_recipe_names(connection, self._base_id))
        return RunReport(
            base=base,
            run=run,
            name=name,
            results=results,
            passages=built,
            threshold=self._threshold(run.recipe) if run.recipe else None,
            metric=metric,
            misses=misses,
            baseline=self._baseline(run, baseline_id, metric) if baseline_id else None,
            notes=tuple(notes),
            unjudged=self._unjudged_share(run, metric),
            calibrated=self._calibrated(run.recipe) if run.recipe else None,
            groups=groups,
            failures=self._failures(run),
        )

    def _unjudged_share(self, run: Run, metric: str) -> UnjudgedShare | None:
        k = int(metric.partition("@")[2])
        try:
            return self.unjudged(run.id, k)
        except NotFound:  # the question set is gone
            return None

    def _calibrated(self, recipe: Recipe) -> CalibrationNote | None:
        calibration = fitted(self._services, self._base_id, recipe.index)
        if calibration is None:
            return None
        used = recipe.search.relevance == "probability"
        return CalibrationNote(
            calibration.question_set,
            calibration.questions,
            calibration.quality,
            calibration.bins,
            used,
        )

    def _threshold(self, recipe: Recipe) -> float | None:
        try:
            rule = threshold_rule(self._services, self._base_id, recipe.index, recipe.search)
            return rule.threshold
        except InvalidInput:  # the calibration is gone: what ``auto`` meant is not known any more
            return None if recipe.search.threshold == "auto" else recipe.search.threshold

    def _baseline(self, run: Run, baseline_id: str, metric: str) -> Baseline:
        (comparison,) = self.compare([run.id], baseline_id, metric)
        looked(self._database, "report", run, comparison.baseline, metric)
        curve = [name for name in run.metrics if name.startswith("ndcg@")]
        return Baseline(
            run=comparison.baseline,
            figures=comparison.figures,
            texts={row.question_id: row.text for row in comparison.rows},
            chips=comparison.chips,
            step=self._step(comparison),
            caveats=(*comparison.caveats, *self._pooled(comparison)),
            changes={
                **self.changes(run.id, baseline_id, curve),
                **self.changes(run.id, baseline_id, on_cards(run)),
            },
            decisions=tuple(
                decision.headline("this run", "the baseline")
                for decision in finished_decisions(
                    self._database, self._base_id, run.id, baseline_id
                )
            ),
        )

    def _step(self, compared: RunComparison) -> str:
        """Return the recommendation, with the names of the runs."""
        with self._database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe
            given = registries.list_recipe_names(connection, self._base_id)
        names = {run.id: run_name(run, given) for run in (compared.run, compared.baseline)}
        return compared.recommendation(names, saved)

    def _pooled(self, compared: RunComparison) -> tuple[str, ...]:
        """Return the possible effect of unjudged hits on the difference, in words."""
        try:
            pooled = self.pooled_difference(
                compared.run.id, compared.baseline.id, compared.figures.metric, compared.untouched
            )
        except NotFound:  # the question set is gone
            return ()
        return (pooled.sentence,) if pooled and pooled.sentence else ()

    def _changes_of_documents(self, connection: Connection, run: Run) -> Iterator[str]:
        ids = documents.ids_by_name(connection, self._base_id).values()
        edits = passage_edits.digest(connection, self._base_id)
        if documents_hash(ids, edits) != run.documents_hash:
            yield "The documents have changed since this run."
        elif run.recipe and run.filter_digest != filter_digest(
            run.recipe.search, partial(documents.traits, connection, self._base_id)
        ):
            yield "Tags or dates that its recipe filters by have changed since this run."

    def _texts(
        self, connection: Connection, run: Run, results: Sequence[QuestionResult]
    ) -> dict[str, tuple[str, str]]:
        """(document name, text) of what came first, by the id of a passage or document."""
        ids = {entry[0] for item in results for entry in item.ranking[:_SHOWN]}
        chunks = passages.passages_by_id(connection, self._base_id, run.cut, ids)
        document_ids = ids | {chunk.document_id for chunk in chunks.values()}
        names = documents.names(connection, self._base_id, sorted(document_ids))
        foreign = [name for name in ids if name.startswith(FOREIGN)]
        foreign_texts = runs.foreign_texts(connection, run.id, foreign)
        return (
            {name: (title, "") for name, title in names.items()}
            | {chunk.id: (names[chunk.document_id], chunk.text) for chunk in chunks.values()}
            | {name: ("in no document", foreign_texts.get(name, "")) for name in foreign}
        )


def _metric(run: Run) -> str:
    """nDCG@10, or at the deepest cutoff that the run has. Raises InvalidInput where it has none."""
    if _PREFERRED in run.metrics:
        return _PREFERRED
    depths = [int(name.partition("@")[2]) for name in run.metrics if name.startswith("ndcg@")]
    if not depths:
        raise InvalidInput(
            f"No question of run {run.id} has an answer in the documents, so there is "
            "nothing to report.",
            "The figures of the run say how many were refused.",
        )
    return f"ndcg@{max(depths)}"


def _expected(item: QuestionResult, labelled: LabelledQuestion | None) -> tuple[Expected, ...]:
    if labelled is None or labelled.text != item.text:
        return (Expected("", "The labels of this question have changed since the run."),)
    if not item.answerable:
        return (Expected("", "No answer: no document has it."),)
    relevant = [label for label in labelled.labels if label.grade > 0]
    spans = [
        Expected(label.document_name, _short(label.quote, _EXPECTED_LENGTH))
        for label in relevant[:_SPANS]
    ]
    return (*([Expected("", labelled.answer)] if wrong_answer(item) else []), *spans)


def _retrieved(item: QuestionResult, texts: Mapping[str, tuple[str, str]]) -> tuple[Retrieved, ...]:
    gone = ("a passage that is not stored any more", "")
    passages = []
    for rank, (name, _, grade) in enumerate(item.ranking[:_SHOWN], start=1):
        document, text = texts.get(name, gone)
        passages.append(Retrieved(rank, document, _short(text, _RETRIEVED_LENGTH), grade))
    return tuple(passages)


def _short(text: str, length: int) -> str:
    words = " ".join(unmarked(text).split())
    return words if len(words) <= length else words[:length].rsplit(" ", 1)[0] + " …"
