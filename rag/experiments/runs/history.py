"""The kept runs of a knowledge base: notes, a baseline, a leaderboard, and comparisons."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from rag.errors import InvalidInput, NotFound
from rag.evaluation.comparison import (
    Comparison,
    Figures,
    Groups,
    compare,
    compare_pairs,
)
from rag.evaluation.metrics import MEASURES, WITHOUT_DIRECTION, lower_is_better, parse_metric
from rag.experiments.runs.differences import (
    NO_DIRECTION,
    RunDifferences,
    metric_obstacle,
)
from rag.experiments.runs.leaderboard import LeaderboardRow, compared, leaderboard, other_runs
from rag.experiments.runs.quality.model_calls import bills_text
from rag.experiments.runs.rankings import with_open_hits
from rag.experiments.runs.stored import (
    Loaded,
    StoredRuns,
    by_labels_of_today,
    figure_of,
    groups_of_set,
    questions_of_set,
    ranks_hits,
    same_questions,
)
from rag.library.questions.trial_log import Attempt
from rag.operation import ALL, operation
from rag.recipe import Recipe
from rag.storage import Connection, registries, runs
from rag.storage.quality import answers
from rag.types import Question
from rag.types.results import QuestionResult, Run

LEADING = "ndcg@10"
"""The metric that runs are ranked by, unless another is asked for."""

Outcome = Literal["won", "lost", "tied"]

_OTHERS = "runs of this set that are comparable with the baseline"
_LONGEST_NOTE = 2000
_LONGEST_TAG = 40
_MOST_TAGS = 20

_DECIDED = ("better", "worse")


@dataclass(frozen=True, slots=True)
class QuestionDifference:
    """One question in two runs: the metric of each, and the ids that each retrieved, in order.

    ``gain`` is the difference, above 0 where the run is ahead also if less is better.
    ``cut_before`` and ``cut_after`` are the ranks of relevant results that the threshold cut.
    """

    question_id: str
    text: str
    tags: tuple[str, ...]
    before: float
    after: float
    difference: float
    gain: float
    first_before: int | None
    first_after: int | None
    cut_before: int | None = None
    cut_after: int | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome of the run on the question, compared with the baseline."""
        return "won" if self.gain > 0 else "lost" if self.gain < 0 else "tied"


@dataclass(frozen=True, slots=True)
class RunComparison:
    """A run against a baseline: the statistics, and every question, largest difference first.

    ``differences`` say what is not the same in both; where that is more than recipe and code,
    ``figures`` have no verdict. ``attempt`` tells what was compared with this baseline before,
    ``groups`` which questions the test counted as one.
    """

    run: Run
    baseline: Run
    figures: Comparison
    rows: tuple[QuestionDifference, ...]
    differences: RunDifferences
    attempt: Attempt
    groups: Groups

    @property
    def untouched(self) -> tuple[str, ...] | None:
        """The ids of the compared questions where edits leave others out; None without edits."""
        if not self.differences.edited or self.figures.obstacle:
            return None
        return tuple(self.figures.differences)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Sentences on what besides the recipe differs, and which questions that leaves."""
        if self.untouched is None:
            return self.differences.sentences
        which = "this document" if len(self.differences.edited) == 1 else "these documents"
        only = f"Only the questions without a label in {which} are compared."
        return (*self.differences.sentences, only)

    @property
    def chips(self) -> tuple[str, ...]:
        """The changes in retrieval of the run's recipe."""
        return self.differences.recipe

    def recommendation(self, names: Mapping[str, str], saved: Recipe) -> str:
        """Return the next step with the names of both runs (by id), and which is ``saved``."""
        having = (run.id for run in (self.baseline, self.run) if run.recipe == saved)
        kept = next(having, "")
        new, old = names[self.run.id], names[self.baseline.id]
        return self.figures.recommend(new, old, names[kept] if kept else "")

    @property
    def regressions(self) -> tuple[QuestionDifference, ...]:
        """Questions on which the run lost, the largest loss first."""
        return tuple(row for row in self.rows if row.outcome == "lost")


class RunHistory(StoredRuns):
    """The history of the runs of one knowledge base."""

    @operation("guest")
    def list_all(self, set_name: str | None = None) -> list[Run]:
        """All runs, or those of one question set, newest first."""
        return self._database.fetch(runs.list_runs, self._base_id, set_name)

    @operation("guest")
    def has_runs(self) -> bool:
        """Return whether there is a run."""
        return self._database.fetch(runs.has_runs, self._base_id)

    @operation("guest")
    def get(self, run_id: str) -> Run:
        """One run. Raises NotFound."""
        return self._database.fetch(runs.get, self._base_id, run_id)

    @operation("guest")
    def results(self, run_id: str, depth: int | None = None) -> list[QuestionResult]:
        """Return the results of all questions of a run. Raises NotFound.

        Rankings have at least their first ``depth`` entries, and all entries without ``depth``.
        """
        with self._database.read() as connection:
            return list(Loaded.read(connection, self._base_id, run_id, depth).results.values())

    @operation("editor", audit="evaluation", audited_arguments=ALL)
    def remove(self, run_id: str) -> None:
        """Delete a run. Raises NotFound."""
        with self._database.write() as connection:
            runs.remove(connection, runs.get(connection, self._base_id, run_id))

    @operation("editor", audit="evaluation")
    def describe(
        self, run_id: str, *, note: str | None = None, tags: Sequence[str] | None = None
    ) -> None:
        """Replace the note and the tags of a run: both, or those that are given.

        Raises NotFound, InvalidInput for a note that is too long, and for long or many tags.
        """
        note = None if note is None else note.strip()
        if note is not None and len(note) > _LONGEST_NOTE:
            raise InvalidInput(f"A note has at most {_LONGEST_NOTE:,} characters.")
        clean = list(dict.fromkeys(tag.strip() for tag in tags or () if tag.strip()))
        if len(clean) > _MOST_TAGS or any(len(tag) > _LONGEST_TAG for tag in clean):
            raise InvalidInput(
                f"A run has at most {_MOST_TAGS} tags of at most {_LONGEST_TAG} characters."
            )
        with self._database.write() as connection:
            run = runs.get(connection, self._base_id, run_id)
            if note is not None:
                runs.set_note(connection, run.id, note)
            if tags is not None:
                runs.set_tags(connection, run.id, clean)

    @operation("editor", audit="evaluation", audited_arguments=ALL)
    def pin(self, run_id: str) -> None:
        """Make a run the baseline of its question set. Raises NotFound."""
        with self._database.write() as connection:
            runs.pin(connection, runs.get(connection, self._base_id, run_id))

    @operation("editor", audit="evaluation")
    def unpin(self, set_name: str) -> None:
        """Leave a question set without a baseline."""
        self._database.execute(runs.unpin, self._base_id, set_name)

    @operation("guest")
    def baseline(self, set_name: str) -> Run | None:
        """The pinned run of a question set, or None."""
        with self._database.read() as connection:
            run_id = runs.baseline_id(connection, self._base_id, set_name)
            return runs.get(connection, self._base_id, run_id) if run_id else None

    @operation("guest")
    def leaderboard(self, set_name: str, metric: str = LEADING) -> list[LeaderboardRow]:
        """The runs of a question set, best first; those that lack the metric come last.

        Runs that are not comparable with the baseline, or without one with the newest run of a
        recipe, come after those that are.
        """
        set_runs = self.list_all(set_name)
        if not set_runs:
            return []
        baseline = self.baseline(set_name)
        with self._database.read() as connection:
            ids = [run.id for run in set_runs]
            figures, questions = runs.figures(connection, ids), runs.question_texts(connection, ids)
            names = registries.list_recipe_names(connection, self._base_id)
            groups = groups_of_set(connection, self._base_id, set_name)
        return leaderboard(set_runs, baseline, metric, figures, questions, names, groups)

    @operation("guest")
    def spent(self, set_name: str) -> dict[str, tuple[int, str]]:
        """Tokens of the answers of each run of a set and of their judge, and what they cost in
        words; runs for which no language model was asked are absent."""
        ids = [run.id for run in self.list_all(set_name)]
        bills_by_run = self._database.fetch(answers.bills, ids)
        return {
            run_id: (sum(bill.tokens for bill in bills), bills_text(bills))
            for run_id, bills in bills_by_run.items()
        }

    @operation("guest")
    def differences(self, run_id: str, before_id: str) -> RunDifferences:
        """Return the differences of a run from another run. Raises NotFound."""
        with self._database.read() as connection:
            run, before = by_labels_of_today(
                connection,
                [Loaded.read(connection, self._base_id, key, 0) for key in (run_id, before_id)],
                LEADING,
            )
        return run.differences(before)

    @operation("guest")
    def compare(
        self,
        run_ids: Sequence[str],
        baseline_id: str,
        metric: str = LEADING,
        held_out: Collection[str] | None = None,
    ) -> list[RunComparison]:
        """Runs against one baseline, corrected for all runs of the set that compare with it.

        ``held_out`` restricts the comparison to questions by id. If people edited documents between
        two runs, or left some out of search, the questions without a label in these are compared.
        The ledger of the set counts each metric, and each split of the questions, once: later ones
        need smaller p-values. Raises NotFound, InvalidInput where a run did not measure the metric
        or is of another question set.
        """
        with self._database.read() as connection:
            sides = [Loaded.read(connection, self._base_id, key) for key in (baseline_id, *run_ids)]
            baseline, *loaded = by_labels_of_today(connection, sides, metric)
            groups = groups_of_set(connection, self._base_id, baseline.run.question_set)
            looks = other_runs(connection, baseline, run_ids, metric, held_out)
            between = {candidate.run.id: candidate.differences(baseline) for candidate in loaded}
            grounds = {
                candidate.run.id: common_ground(
                    connection, baseline.run, between[candidate.run.id], held_out
                ).by(metric, candidate.run, baseline.run)
                for candidate in loaded
            }
        for candidate in loaded:
            if candidate.run.question_set != baseline.run.question_set:
                raise InvalidInput(
                    f"{candidate.run.id} measured {candidate.run.question_set!r}, "
                    f"{baseline.run.id} measured {baseline.run.question_set!r}.",
                    "Compare runs of one question set.",
                )
        figures = dict[str, tuple[str, Figures, Figures]]()
        for candidate in loaded:
            only, _ = grounds[candidate.run.id]
            values = same_questions(candidate.figures(metric, only), candidate, baseline.texts)
            figures[candidate.run.id] = metric, values, baseline.figures(metric, only)
        attempt = compared(
            self._database, baseline.run, metric, held_out, len(figures) + len(looks)
        )
        kind = "held-out" if held_out is not None else ""
        against = baseline.figures(metric, held_out)
        tested = {key: pair for key, pair in figures.items() if not grounds[key].obstacle}
        tested |= {key: (metric, values, against) for key, values in looks.items()}
        compared_pairs = compare_pairs(
            list(tested.values()), kind=kind, groups=groups, alpha=attempt.level
        )
        table = dict(zip(tested, compared_pairs, strict=True))
        for key in figures.keys() - tested.keys():
            _, mine, theirs = figures[key]
            apart = compare(metric, mine, theirs, kind=kind, groups=groups)
            table[key] = replace(apart, obstacle=grounds[key].obstacle)
        for candidate in loaded:
            by_labels = {metric: replace(table[candidate.run.id], others=_OTHERS)}
            table[candidate.run.id] = self._doubted(candidate, baseline, by_labels, groups)[metric]
        return [
            _comparison(
                candidate,
                baseline,
                table[candidate.run.id],
                between[candidate.run.id],
                attempt,
                groups,
            )
            for candidate in loaded
        ]

    @operation("guest")
    def changes(self, run_id: str, before_id: str, metrics: Sequence[str]) -> dict[str, Comparison]:
        """Several metrics of a run that are shown side by side, corrected together.

        Those that both runs measured. If people edited documents between the runs, or left
        some out of search, the questions without a label in these are compared. Raises NotFound.
        """
        ranking = [name for name in metrics if name.partition("@")[0] in MEASURES]
        depth = max((parse_metric(name).k for name in ranking), default=0)
        with self._database.read() as connection:
            run, before = (
                Loaded.read(connection, self._base_id, key, depth) for key in (run_id, before_id)
            )
            groups = groups_of_set(connection, self._base_id, run.run.question_set)
            graded = by_labels_of_today(connection, [run, before], LEADING)
            sides = {True: graded, False: [run, before]}
            grounds = {
                of_hits: common_ground(connection, run.run, pair[0].differences(pair[1]))
                for of_hits, pair in sides.items()
            }
        pairs = list[tuple[str, Figures, Figures]]()
        for name in metrics:
            if name in run.run.metrics and name in before.run.metrics:
                (now, then), ground = sides[ranks_hits(name)], grounds[ranks_hits(name)]
                mine = same_questions(now.figures(name, ground.only), now, then.texts)
                pairs.append((name, mine, then.figures(name, ground.only)))
        comparisons = {
            found.metric: replace(
                found,
                obstacle=grounds[ranks_hits(found.metric)]
                .by(found.metric, run.run, before.run)
                .obstacle,
            )
            for found in compare_pairs(pairs, groups=groups)
        }
        return self._doubted(graded[0], graded[1], comparisons, groups)

    @operation("guest")
    def paired(self, run_id: str, before_id: str, metric: str) -> RunComparison:
        """A run against an earlier one on the questions that both were asked.

        Unlike ``compare`` it decides also where questions came or went; not where the labels or
        the documents of those that stayed are not the same. Knows ``correct_refusal`` too. Raises
        NotFound, InvalidInput where a run did not measure the metric.
        """
        with self._database.read() as connection:
            read = [Loaded.read(connection, self._base_id, key) for key in (run_id, before_id)]
            run, before = by_labels_of_today(connection, read, metric)
            groups = groups_of_set(connection, self._base_id, run.run.question_set)
        between = run.differences(before)
        figures = same_questions(run.figures(metric, None), run, before.texts)
        tested = compare(metric, figures, before.figures(metric, None), groups=groups)
        comparison = _possible(tested, run, before)
        data = [part for part in between.data if part != "questions"]
        same_build = run.run.recipe and run.run.build_hash == before.run.build_hash
        if same_build and any(
            name in before.results and before.results[name].relevant != run.results[name].relevant
            for name in figures
        ):
            data = list(dict.fromkeys([*data, "labels"]))
        ground = _Ground(None, replace(between, data=tuple(data)).obstacle)
        obstacle = ground.by(metric, run.run, before.run).obstacle
        by_labels = {metric: replace(comparison, obstacle=obstacle)}
        judged = self._database.fetch(with_open_hits, self._base_id, run, before, by_labels, groups)
        return _comparison(run, before, judged[metric], between, Attempt(), groups)

    def _doubted(
        self, run: Loaded, before: Loaded, figures: Mapping[str, Comparison], groups: Groups
    ) -> dict[str, Comparison]:
        """Add the possible effect of judging open hits to the comparisons that labels decide.

        Intervals end at what the labels allow.
        """
        figures = {name: _possible(found, run, before) for name, found in figures.items()}
        decided = {
            name: comparison
            for name, comparison in figures.items()
            if comparison.verdict_by_labels in _DECIDED
        }
        with self._database.read() as connection:
            read = connection, self._base_id
            return dict(figures) | with_open_hits(*read, run, before, decided, groups)

    @operation("guest")
    def regressions(self, run_id: str, metric: str = LEADING) -> list[QuestionDifference]:
        """Questions that got worse than in the pinned baseline, the largest loss first.

        Raises NotFound, also where the question set has no baseline.
        """
        run = self.get(run_id)
        baseline = self.baseline(run.question_set)
        if baseline is None:
            raise NotFound(f"{run.question_set!r} has no baseline.", "Pin a run as the baseline.")
        return list(self.compare([run_id], baseline.id, metric)[0].regressions)


def _possible(comparison: Comparison, run: Loaded, before: Loaded) -> Comparison:
    names = list(comparison.differences)
    return comparison.within(max(one.highest(comparison.metric, names) for one in (run, before)))


class _Ground(NamedTuple):
    """The ids of the questions on which two runs compare, None for all, and the obstacle."""

    only: Collection[str] | None
    obstacle: str

    def by(self, metric: str, run: Run, before: Run) -> _Ground:
        """Return the same with what stands in the way of this metric alone."""
        neutral = NO_DIRECTION if metric in WITHOUT_DIRECTION else ""
        obstacle = self.obstacle or neutral or metric_obstacle(metric, run, before)
        return self._replace(obstacle=obstacle)


def common_ground(
    connection: Connection,
    run: Run,
    between: RunDifferences,
    among: Collection[str] | None = None,
) -> _Ground:
    """Return the questions, ``among`` some by id, that edits between two runs leave as they were.

    All of them, with the obstacle, where the edits leave none with a label, or the set is gone.
    """
    outside = list[Question]()
    if between.edited:
        with suppress(NotFound):
            _, questions = questions_of_set(connection, run.base_id, run.question_set)
            outside = [
                question
                for question in questions
                if (among is None or question.id in among)
                and not any(label.document_id in between.edited for label in question.evidence)
            ]
    if not any(question.answerable for question in outside):
        return _Ground(among, between.obstacle)
    return _Ground({question.id for question in outside}, between.without_edits().obstacle)


def _comparison(
    run: Loaded,
    baseline: Loaded,
    figures: Comparison,
    between: RunDifferences,
    attempt: Attempt,
    groups: Groups,
) -> RunComparison:
    metric, rows = figures.metric, list[QuestionDifference]()
    for name, difference in figures.differences.items():
        before, after = baseline.results[name], run.results[name]
        rows.append(
            QuestionDifference(
                question_id=name,
                text=after.text,
                tags=after.tags,
                before=figure_of(before, metric) or 0.0,
                after=figure_of(after, metric) or 0.0,
                difference=difference,
                gain=0.0 - difference if lower_is_better(metric) else difference,
                first_before=before.first_relevant,
                first_after=after.first_relevant,
                cut_before=before.cut_rank,
                cut_after=after.cut_rank,
            )
        )
    rows.sort(key=lambda row: abs(row.difference), reverse=True)
    return RunComparison(run.run, baseline.run, figures, tuple(rows), between, attempt, groups)
