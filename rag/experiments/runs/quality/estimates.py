"""Estimates of the relevant open hits of runs, from a random human sample and from a judge."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev

import numpy as np

from rag.evaluation.intervals import Interval
from rag.evaluation.pooling.sampling import (
    FEWEST,
    Agreement,
    SampledMean,
    agreement,
    sampled_mean,
)
from rag.evaluation.report.words import counted
from rag.experiments.runs.quality.judges import passage_rubrics
from rag.experiments.runs.stored import StoredRuns
from rag.library.questions.judging_queue import JudgingPool
from rag.operation import operation
from rag.storage import Connection
from rag.storage import questions as question_rows
from rag.storage.labels import SAMPLED
from rag.storage.quality import answers as rows
from rag.types import percent

CUTOFF = 10
"""Hits of every question that are judged."""
RELEVANT = 2
"""The least grade of the judge's rubric that counts as relevant: it holds a part of the answer."""

Hit = tuple[str, str]
"""A question's id, and the passage or document."""


@dataclass(frozen=True, slots=True)
class OpenHits:
    """The hits that nobody had judged when the random sample was begun.

    ``sampled`` of ``pool`` were drawn and judged by people since. ``relevant`` estimates the share
    that is relevant; None below ten. ``judge`` names the model whose grades were used, "" for none;
    it has graded ``graded`` of the pool, and counts only where that is all. ``agreement`` is that
    of people and judge on the sample, ``spread`` the mean standard deviation of its repeated
    verdicts, None where it gave one each. ``questions`` are those with an answer that one run was
    asked, 0 for two runs. ``models`` counts the judge's grades by the version that the server said
    it answered with, and ``judges`` has the agreement with people of each judge that graded hits
    of the sample.
    """

    pool: int
    sampled: int
    relevant: SampledMean | None
    judge: str = ""
    graded: int = 0
    agreement: Agreement | None = None
    spread: float | None = None
    questions: int = 0
    models: Mapping[str, int] = field(default_factory=dict)
    judges: Mapping[str, Agreement] = field(default_factory=dict)

    @property
    def more_precision(self) -> tuple[float, Interval] | None:
        """By how much precision@10 is higher than the labels say, with its 95% interval.

        Every open hit was as likely to be drawn, so the share of relevant ones times their number
        is without bias (Horvitz and Thompson 1952; for average precision: Yilmaz and Aslam's infAP,
        CIKM 2006).
        """
        if self.relevant is None or not self.questions:
            return None
        places = self.pool / (CUTOFF * self.questions)
        low, high = self.relevant.interval
        return self.relevant.mean * places, Interval(low * places, high * places)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The estimates in plain English, one statement each."""
        parts = [
            f"{counted(self.pool, 'hit')} among the first ten had no label. People "
            f"judged {self.sampled:,} of them in a random sample."
        ]
        if self.relevant is not None:
            mean, (low, high) = self.relevant.mean, self.relevant.interval
            narrower = (
                f", {percent(self.relevant.narrower)} narrower than people alone give"
                if self.relevant.power
                else ""
            )
            parts.append(
                f"Relevant among them: {percent(mean, 1)}, 95% interval {percent(low, 1)} to "
                f"{percent(high, 1)}{narrower}."
            )
        if self.more_precision is not None:
            more, (low, high) = self.more_precision
            parts.append(
                f"So precision@{CUTOFF} is higher by {more:.3f} ({low:.3f} to {high:.3f}) than the "
                "labels say."
            )
        if self.judge:
            parts.append(f"{self.judge} has graded {self.graded:,} of them.")
        if self.agreement is not None and self.agreement.kappa is not None:
            ends = self.agreement.interval
            spread = f", 95% interval {ends.low:.2f} to {ends.high:.2f}" if ends else ""
            kappa = self.agreement.kappa
            parts.append(f"Agreement of people and judge: kappa {kappa:.2f}{spread}.")
        parts += [
            f"{name} agrees with people on {other.agreed} of {other.hits} hits"
            + ("." if other.kappa is None else f", kappa {other.kappa:.2f}.")
            for name, other in self.judges.items()
            if name != self.judge
        ]
        if len(self.models) > 1:
            versions = ", ".join(f"{name} {count:,}" for name, count in self.models.items())
            parts.append(
                f"Several versions of the judge gave these grades, and they are not comparable: "
                f"{versions}."
            )
        if self.spread is not None:
            parts.append(f"Spread of the judge's repeated verdicts: {self.spread:.3f}.")
        return tuple(parts)


class Estimates(StoredRuns):
    """Estimates from runs, random samples and judgements of one knowledge base."""

    @operation("guest")
    def open_hits(
        self, run_id: str, other_id: str | None = None, *, judge: str | None = None
    ) -> OpenHits:
        """Return the estimate for the open hits among the first ten of one run, or of two runs.

        If ``judge`` is None, the judge with the most judgements is used. Raises NotFound and
        InvalidInput in the same cases as ``JudgingQueue.judging_queue``.
        """
        run_ids = [run_id] if other_id is None else [run_id, other_id]
        with self._database.read() as connection:
            pool = JudgingPool.read(connection, self._base_id, run_ids)
            rankings = pool.rankings(None)
            items = {place[:3]: item for (_, item), place in pool.places(rankings).items()}
            open_now, _ = pool.open_hits(CUTOFF, sampled=True)
            # The human judgements of the random sample by hit: 1 relevant, 0 not
            question_set = question_rows.get_question_set(
                connection, self._base_id, pool.runs[0].question_set
            )
            origin = SAMPLED + pool.origin
            people: dict[Hit, float] = {}
            for question in question_rows.list_labelled_questions(connection, question_set.id):
                for label in question.labels:
                    if label.origin == origin and label.document_id is not None:
                        place = label.document_id, label.start, label.end
                        item = items.get(place, label.document_id)
                        people[question.id, item] = float(label.grade > 0)
            name, verdicts, models = _verdicts(connection, self._base_id, run_ids, judge)
            by_judge = {
                other: _verdicts(connection, self._base_id, run_ids, other)[1]
                for run_id in run_ids
                for other, _ in rows.judges(connection, run_id)
            }
        hits = list(dict.fromkeys([*people, *((hit.question_id, hit.item) for hit in open_now)]))
        compared = {other: _agreed(people, votes) for other, votes in by_judge.items()}
        return replace(
            _estimated(people, hits, name, verdicts),
            questions=0 if other_id else len(rankings),
            models=models,
            judges={other: agreed for other, agreed in compared.items() if agreed},
        )


def _verdicts(
    connection: Connection, base_id: int, run_ids: list[str], judge: str | None
) -> tuple[str, dict[Hit, list[float]], dict[str, int]]:
    """The judge, its verdicts by hit (1 relevant, one for every repetition), and its versions."""
    rubrics = {rubric.name for rubric in passage_rubrics(connection, base_id)}
    judges = [
        name for run_id in run_ids for name, by in rows.judges(connection, run_id) if by in rubrics
    ]
    name = judge if judge is not None else next(iter(judges), "")
    votes: dict[Hit, list[float]] = defaultdict(list)
    models = Counter[str]()
    for run_id in run_ids:
        for judgement in rows.judgements_of_run(connection, run_id, name):
            if judgement.rubric not in rubrics:
                continue  # in words that are not in use any more
            votes[judgement.question_id, judgement.item].append(float(judgement.grade >= RELEVANT))
            models.update([judgement.model] if judgement.model else [])
    return (name if votes else ""), dict(votes), dict(models)


def _agreed(people: dict[Hit, float], verdicts: dict[Hit, list[float]]) -> Agreement | None:
    """The agreement of people and a judge on the hits that both graded."""
    both = [hit for hit in people if hit in verdicts]
    if not both:
        return None
    judged = np.array([float(fmean(verdicts[hit]) >= 0.5) for hit in both])
    return agreement(np.array([people[hit] for hit in both]), judged)


def _estimated(
    people: dict[Hit, float], pool: list[Hit], judge: str, verdicts: dict[Hit, list[float]]
) -> OpenHits:
    graded = sum(hit in verdicts for hit in pool)
    grades = np.array(list(people.values()))
    spreads = [pstdev(grades) for grades in verdicts.values() if len(grades) > 1]
    estimate = None
    if len(people) >= FEWEST:
        whole = judge and graded == len(pool)
        estimate = (
            sampled_mean(
                grades,
                len(pool),
                np.array([fmean(verdicts[hit]) for hit in people]),
                np.array([fmean(verdicts[hit]) for hit in pool]),
            )
            if whole
            else sampled_mean(grades, len(pool))
        )
    return OpenHits(
        pool=len(pool),
        sampled=len(people),
        relevant=estimate,
        judge=judge,
        graded=graded,
        agreement=_agreed(people, verdicts),
        spread=fmean(spreads) if spreads else None,
    )
