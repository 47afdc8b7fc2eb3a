"""Decisions which of two runs is better, by judging only hits that can change the verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rag.errors import InvalidInput, NotFound, TouchstoneError
from rag.evaluation.deciding import MEASURES, Decision, decide, drawn_hits
from rag.evaluation.intervals import signed
from rag.evaluation.judge_next import OpenHit, Pair
from rag.evaluation.report.words import counted
from rag.experiments.runs.stored import StoredRuns
from rag.library.questions.judging_queue import HitToJudge, JudgingPool, Place, Places
from rag.library.questions.label_edits import label_span, store_label
from rag.library.questions.sets import counted_edit
from rag.operation import operation
from rag.storage import Connection, Database, documents, runs
from rag.storage.quality import answers, decisions
from rag.storage.quality.decisions import StoredDecision, StoredHit
from rag.types.results import FOREIGN, Run


@dataclass(frozen=True, slots=True)
class RunDecision:
    """The state of a decision of run ``run`` against run ``other``.

    ``questions`` is the number of questions that both runs measured, and ``before`` the number of
    hits that had a label before the draw. ``next_hits`` are the hits to judge, in order; there are
    none once it is decided.
    """

    run: str
    other: str
    metric: str
    question_set: str
    questions: int
    before: int
    state: Decision
    next_hits: tuple[HitToJudge, ...]

    @property
    def sentence(self) -> str:
        """The verdict, its interval, the labels and their reach, in words."""
        state = self.state
        headline = self.headline(f"Run {self.run}", f"run {self.other}")
        return f"{headline} {state.labels:,} of {state.pool:,} hits are judged. {self.reach}"

    @property
    def reach(self) -> str:
        """The questions that the verdict holds for."""
        return (
            f"This holds for these {counted(self.questions, 'question')}. It does not say that "
            "other questions would agree."
        )

    @property
    def measure(self) -> str:
        """The metric as people write it: ``DCG@10`` or ``precision@10``."""
        return self.metric.replace("dcg", "DCG")

    def headline(self, run: str, other: str) -> str:
        """The verdict first, then its figures. ``run`` and ``other`` are names of the two runs."""
        state, ends = self.state, self.state.interval
        labels = counted(state.labels, "label")
        between = f"{signed(ends.low)} to {signed(ends.high)}"
        figures = (
            f"{signed(state.difference)} {self.measure} (95% interval {between}) after {labels}."
        )
        match state.verdict:
            case "equal":
                return f"{run} and {other} are equal within {state.margin:g}: {figures}"
            case "open":
                # The estimate of the first labels jumps; its interval says so.
                return (
                    f"{self._more()} After {labels} the difference in {self.measure} is "
                    f"{between} (95% interval)."
                )
            case verdict:
                return f"{run} is {verdict} than {other}: {figures}"

    def _more(self) -> str:
        if self.state.more is None:
            return "Not decided yet."
        verb = "decides" if self.state.more == 1 else "decide"
        return f"About {counted(self.state.more, 'more label')} {verb} this."


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """A decision in a list. ``decision`` is None where ``obstacle`` says what is gone."""

    run: str
    other: str
    metric: str
    started: datetime
    decision: RunDecision | None
    obstacle: str

    @property
    def finished(self) -> bool:
        """Whether it has a verdict."""
        return self.decision is not None and self.decision.state.verdict != "open"


EQUAL_MARGIN = 0.05
_MOST_K = 100
_AGAIN = "Measure both runs again, and decide between the new runs."


class Decisions(StoredRuns):
    """Decisions between runs of one knowledge base.

    A decision fixes its hits, their order and their probabilities when it starts. Labels that come
    later, from whomever, are read in that order, so that the interval stays valid.
    """

    @operation("labeller", audit="labels")
    def start_decision(self, run_id: str, other_id: str, metric: str) -> None:
        """Draw the hits to judge for two runs; does nothing if the two have a decision.

        ``metric`` is precision@k or dcg@k. Raises NotFound, and InvalidInput for another metric,
        for runs of different question sets, and for runs of deleted documents.
        """
        measure, k = _cutoff(metric)
        with self._database.write() as connection:
            if decisions.of_runs(connection, self._base_id, (run_id, other_id), metric):
                return
            pool = self._pool(connection, run_id, other_id, k)
            rankings = pool.rankings(k)
            if not rankings:
                raise InvalidInput("The two runs share no question of the set.", _AGAIN)
            places = pool.places(rankings)
            _check_places(pool.runs, rankings, places)
            grades = pool.grades(places)
            seed = _seed(run_id, other_id, metric)
            verdicts = _verdicts(connection, run_id, other_id)
            hits = [
                StoredHit(
                    hit.question_id,
                    hit.item,
                    *places[hit.question_id, hit.item][:3],
                    *hit.ranks,
                    hit.weight,
                    hit.chance,
                    hit.size,
                    hit.probability,
                    hit.item in grades.get(hit.question_id, ()),
                )
                for hit in drawn_hits(rankings, grades, measure, k, seed, verdicts)
            ]
            ids = (run_id, other_id)
            decisions.add(connection, self._base_id, ids, metric, seed, len(rankings), hits)

    @operation("viewer")
    def decision(
        self, run_id: str, other_id: str, metric: str, margin: float = EQUAL_MARGIN, most: int = 10
    ) -> RunDecision:
        """Return the verdict by the labels of today, and at most ``most`` hits to judge next.

        The interval does not depend on ``margin``, within which the runs are equal. Raises NotFound
        where nothing was started, and InvalidInput for a margin that is not between 0 and 1 and for
        deleted questions, documents or earlier labels.
        """
        if not 0.0 < margin < 1.0:
            raise InvalidInput(f"The margin {margin:g} is not between 0 and 1.", "Write 0.05.")
        return self._database.fetch(self._state, (run_id, other_id), metric, margin, most)

    @operation("viewer")
    def started_decisions(self, question_set: str) -> list[tuple[str, str, str]]:
        """The two runs and the metric of each decision of a question set, newest first."""
        return [
            (stored.run_id, stored.other_id, stored.metric)
            for stored in self._database.fetch(decisions.of_base, self._base_id, question_set)
        ]

    @operation("viewer")
    def decisions(
        self, *run_ids: str, question_set: str | None = None, margin: float = EQUAL_MARGIN
    ) -> list[DecisionEntry]:
        """Decisions by the labels of today, newest first, without hits to judge.

        With ``run_ids``, only those in which all of them take part, seen from the first of them;
        with ``question_set``, only those between runs of that set.
        """
        with self._database.read() as connection:
            return [
                self._entry(connection, stored, run_ids, margin)
                for stored in decisions.of_base(connection, self._base_id, question_set)
                if {stored.run_id, stored.other_id}.issuperset(run_ids)
            ]

    def _entry(
        self,
        connection: Connection,
        stored: StoredDecision,
        run_ids: Sequence[str],
        margin: float,
    ) -> DecisionEntry:
        pair = stored.run_id, stored.other_id
        if run_ids and run_ids[0] == stored.other_id:
            pair = pair[::-1]
        try:
            state, obstacle = self._state(connection, pair, stored.metric, margin, 0), ""
        except TouchstoneError as error:  # what it was drawn from is gone
            state, obstacle = None, str(error)
        return DecisionEntry(*pair, stored.metric, stored.created, state, obstacle)

    def _state(
        self,
        connection: Connection,
        run_ids: tuple[str, str],
        metric: str,
        margin: float,
        most: int,
    ) -> RunDecision:
        stored, hits = self._stored(connection, *run_ids, metric)
        pool = JudgingPool.read(connection, self._base_id, run_ids)
        grades = pool.grades(_places(hits))
        before, drawn, relevance = _judged(hits, grades)
        state = decide(before, [_drawn(hit) for hit in drawn], relevance, margin)
        left = [hit for hit in drawn if hit.item not in grades.get(hit.question_id, ())]
        next_hits = []
        for hit in left[:most] if state.verdict == "open" else []:
            if documents.exists(connection, self._base_id, hit.document_id) is None:
                raise InvalidInput("The document of a hit to judge no longer exists.", _AGAIN)
            place = Place(hit.document_id, hit.start, hit.end)
            next_hits.append(pool.to_judge(_drawn(hit), place, pool.origin))
        return RunDecision(
            *run_ids,
            metric,
            pool.runs[0].question_set,
            stored.questions,
            len(before),
            state,
            tuple(next_hits),
        )

    @operation("labeller", audit="labels")
    def judge_decision(
        self,
        run_id: str,
        other_id: str,
        metric: str,
        grades: Sequence[tuple[str, str, int]],
        *,
        replace_labels: bool = True,
    ) -> list[int | None]:
        """Label hits of a decision: question id, passage or document id, and grade of each.

        Returns the id of the label of each. All labels are stored, or none. Without
        ``replace_labels``, a hit that somebody judged meanwhile keeps its label, and its id is
        None. Raises NotFound, and InvalidInput for a grade or a hit that is not there.
        """
        with self._database.read() as connection:
            _, hits = self._stored(connection, run_id, other_id, metric)
            pool = JudgingPool.read(connection, self._base_id, (run_id, other_id))
        stored: list[int | None] = []
        places = {(hit.question_id, hit.item): hit for hit in hits}
        question_set = pool.runs[0].question_set
        with counted_edit(self._database, self._base_id, question_set) as (connection, set_id):
            for question_id, item, grade in grades:
                hit = places.get((question_id, item))
                if hit is None:
                    raise InvalidInput(
                        f"Passage {item!r} of question {question_id!r} is no hit of this decision.",
                        "Use the ids of the hits to judge next.",
                    )
                if not replace_labels:
                    today = JudgingPool.read(connection, self._base_id, (run_id, other_id))
                    if item in today.grades(_places([hit])).get(question_id, ()):
                        stored.append(None)
                        continue
                span = label_span(
                    connection, self._base_id, hit.document_id, hit.start, hit.end, grade
                )
                label = replace(span, origin=pool.origin)
                stored.append(store_label(connection, set_id, question_id, label))
        return stored

    def _stored(
        self, connection: Connection, run_id: str, other_id: str, metric: str
    ) -> tuple[StoredDecision, list[StoredHit]]:
        """The decision and its hits, seen from ``run_id``."""
        stored = decisions.of_runs(connection, self._base_id, (run_id, other_id), metric)
        if stored is None:
            raise NotFound(
                f"There is no decision between runs {run_id} and {other_id} in {metric}.",
                "`python -m rag decide KB RUN --against RUN` starts one.",
            )
        hits = decisions.hits(connection, stored.id)
        return stored, hits if stored.run_id == run_id else [_turned(hit) for hit in hits]

    def _pool(self, connection: Connection, run_id: str, other_id: str, k: int) -> JudgingPool:
        """The pool of two runs that can be decided at a cutoff. Raises NotFound, InvalidInput."""
        if run_id == other_id:
            runs.get(connection, self._base_id, run_id)
            raise InvalidInput("A run cannot be compared with itself.", "Name another run.")
        pool = JudgingPool.read(connection, self._base_id, (run_id, other_id))
        for run in pool.runs:
            depths = [int(name[5:]) for name in run.metrics if name.startswith("ndcg@")]
            if depths and max(depths) < k:
                raise InvalidInput(
                    f"Run {run.id} was measured down to rank {max(depths)}.",
                    "Choose a smaller cutoff, or evaluate again with --k.",
                )
        return pool


def _cutoff(metric: str) -> tuple[str, int]:
    measure, _, cutoff = metric.partition("@")
    if measure not in MEASURES or not cutoff.isascii() or not cutoff.isdigit():
        raise InvalidInput(
            f"{metric} cannot be decided by single labels.", "Use precision@10 or dcg@10."
        )
    if len(cutoff) > 3 or not 1 <= int(cutoff) <= _MOST_K or cutoff != str(int(cutoff)):
        raise InvalidInput(f"The cutoff of {metric} is not from 1 to {_MOST_K}.", "Use dcg@10.")
    return measure, int(cutoff)


def _seed(run_id: str, other_id: str, metric: str) -> int:
    """Return the seed of a decision, independent of the order of its runs."""
    text = "\0".join([*sorted((run_id, other_id)), metric])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def _check_places(pair: Sequence[Run], rankings: Mapping[str, Pair], places: Places) -> None:
    """Raise InvalidInput for hits that are in no document, or no longer."""
    for number, run in enumerate(pair):
        hits = {(name, item) for name, both in rankings.items() for item in both[number]}
        if any(item.startswith(FOREIGN) for _, item in hits):
            raise InvalidInput(
                f"Run {run.id} has texts that are in no document, so they cannot be labelled.",
                "Add the documents that the system searches, and evaluate it again.",
            )
        if hits - places.keys():
            raise InvalidInput(
                f"Passages of run {run.id} no longer exist: documents changed.", _AGAIN
            )


def _verdicts(connection: Connection, *run_ids: str) -> dict[tuple[str, str], bool]:
    """The majority of the grades that models gave to hits, by question and id."""
    votes: dict[tuple[str, str], list[bool]] = {}
    for run_id in run_ids:
        for judgement in answers.judgements_of_run(connection, run_id):
            votes.setdefault((judgement.question_id, judgement.item), []).append(
                judgement.grade > 0
            )
    return {hit: 2 * sum(given) > len(given) for hit, given in votes.items()}


def _places(hits: Iterable[StoredHit]) -> Places:
    return {(hit.question_id, hit.item): Place(hit.document_id, hit.start, hit.end) for hit in hits}


def _turned(hit: StoredHit) -> StoredHit:
    return replace(hit, weight=-hit.weight, rank=hit.other_rank, other_rank=hit.rank)


def _drawn(hit: StoredHit) -> OpenHit:
    return OpenHit(
        hit.question_id,
        hit.item,
        (hit.rank, hit.other_rank),
        hit.weight,
        hit.chance,
        hit.size,
        hit.probability,
    )


def _judged(
    hits: Sequence[StoredHit], grades: Mapping[str, Mapping[str, int]]
) -> tuple[list[tuple[OpenHit, float]], list[StoredHit], list[float]]:
    """Hits with earlier labels, the drawn ones, and the relevance of their judged beginning.

    Labels further down count once the hits before them are judged: those were drawn first.
    """
    before, drawn = [], []
    for hit in hits:
        if hit.question_id not in grades:
            raise InvalidInput(f"Question {hit.question_id!r} no longer exists.", _AGAIN)
        if not hit.labelled:
            drawn.append(hit)
        elif hit.item in grades[hit.question_id]:
            before.append((_drawn(hit), float(grades[hit.question_id][hit.item] > 0)))
        else:
            raise InvalidInput(
                f"An earlier label of question {hit.question_id!r} no longer exists.",
                "Judge that passage again, or measure both runs again.",
            )
    relevance: list[float] = []
    for hit in drawn:
        if hit.item not in grades[hit.question_id]:
            break
        relevance.append(float(grades[hit.question_id][hit.item] > 0))
    return before, drawn, relevance


def finished_decisions(
    database: Database, base_id: int, run_id: str, baseline_id: str
) -> tuple[RunDecision, ...]:
    """Return the finished decisions of a run against a baseline, by the labels of today.

    Those of another run count if it returned the same: a gate measures anew each time.
    """
    decisions = Decisions(database, base_id)
    verdicts = []
    for entry in decisions.decisions(baseline_id):
        _, _, cutoff = entry.metric.partition("@")
        if not entry.finished or run_id == baseline_id:
            continue
        if entry.other == run_id or _same_results(database, run_id, entry.other, int(cutoff)):
            verdicts.append(decisions.decision(entry.other, baseline_id, entry.metric, most=0))
    return tuple(verdicts)


def _same_results(database: Database, run_id: str, decided_id: str, k: int) -> bool:
    """Whether a run returned the first k of each question as the one that was decided."""
    with database.read() as connection:
        new, decided = (
            {
                (result.question_id, result.text): [item for item, *_ in result.ranking[:k]]
                for result in runs.results(connection, one, k)
            }
            for one in (run_id, decided_id)
        )
    return all(new.get(question) == ranking for question, ranking in decided.items())
