"""Estimates of the relevant open hits of runs, from a random human sample and from a judge."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import fmean, pstdev

import numpy as np

from rag.evaluation.intervals import Interval
from rag.evaluation.judges import RUBRICS
from rag.evaluation.pooling.sampling import (
    FEWEST,
    Agreement,
    SampledMean,
    agreement,
    sampled_mean,
)
from rag.evaluation.report.words import counted
from rag.operation import operation
from rag.questions.judging_queue import JudgingQueue, origin_of
from rag.storage import Connection, Database, passages, runs
from rag.storage import questions as question_rows
from rag.storage.labels import SAMPLED
from rag.storage.quality import judgements as rows

_ALL = 1_000_000
CUTOFF = 10
"""Hits of every question that are judged."""
RELEVANT = 2
"""The least grade of the judge's rubric that counts as relevant: it holds a part of the answer."""

Place = tuple[str, int, int | None]
"""A document, and the span of a passage in it."""
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
    asked, 0 for two runs.
    """

    pool: int
    sampled: int
    relevant: SampledMean | None
    judge: str = ""
    graded: int = 0
    agreement: Agreement | None = None
    spread: float | None = None
    questions: int = 0

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
        said = [
            f"{counted(self.pool, 'hit')} among the first ten had no label; people judged "
            f"{self.sampled:,} of them at random."
        ]
        if self.relevant is not None:
            mean, (low, high) = self.relevant.mean, self.relevant.interval
            narrower = (
                f", {self.relevant.narrower:.0%} narrower than people alone give"
                if self.relevant.power
                else ""
            )
            said.append(
                f"Relevant among them: {mean:.1%}, 95% interval {low:.1%} to {high:.1%}{narrower}."
            )
        if self.more_precision is not None:
            more, (low, high) = self.more_precision
            said.append(
                f"So precision@{CUTOFF} is higher by {more:.3f} ({low:.3f} to {high:.3f}) than the "
                "labels say."
            )
        if self.judge:
            said.append(f"{self.judge} has graded {self.graded:,} of them.")
        if self.agreement is not None and self.agreement.kappa is not None:
            ends = self.agreement.interval
            spread = f", 95% interval {ends.low:.2f} to {ends.high:.2f}" if ends else ""
            kappa = self.agreement.kappa
            said.append(f"Agreement of people and judge: kappa {kappa:.2f}{spread}.")
        if self.spread is not None:
            said.append(f"Spread of the judge's repeated verdicts: {self.spread:.3f}.")
        return tuple(said)


class Estimates:
    """Reads runs, random samples and judgements of one knowledge base."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id
        self._queue = JudgingQueue(database, base_id)

    @operation("guest")
    def open_hits(
        self, run_id: str, other_id: str | None = None, *, judge: str | None = None
    ) -> OpenHits:
        """Return the estimate for the open hits among the first ten of one run, or of two runs.

        If ``judge`` is None, the judge with the most judgements is used. Raises NotFound and
        InvalidInput in the same cases as ``JudgingQueue.ordered``.
        """
        open_now = self._queue.ordered(run_id, other_id, limit=_ALL, sampled=True)
        wanted = [run_id] if other_id is None else [run_id, other_id]
        with self._database.read() as connection:
            places = self._places(connection, wanted)
            people = self._sample(connection, wanted, places)
            name, verdicts = _verdicts(connection, wanted, judge)
            asked = self._asked(connection, run_id) if other_id is None else 0
        rest = [
            (
                each.question_id,
                places.get((each.document_id, each.start, each.end), each.document_id),
            )
            for each in open_now
        ]
        pool = list(dict.fromkeys([*people, *rest]))
        return replace(_estimated(people, pool, name, verdicts), questions=asked)

    def _asked(self, connection: Connection, run_id: str) -> int:
        """Count the answerable questions that a run was asked."""
        run = runs.get(connection, self._base_id, run_id)
        held = question_rows.get_question_set(connection, self._base_id, run.question_set)
        usable = question_rows.usable(connection, self._base_id, held.id)
        answerable = {each.id for each in usable if each.answerable}
        return sum(each.question_id in answerable for each in runs.results(connection, run_id))

    def _places(self, connection: Connection, wanted: list[str]) -> dict[Place, str]:
        """Ids of ranked passages by document and span."""
        found: dict[Place, str] = {}
        for each in wanted:
            run = runs.get(connection, self._base_id, each)
            ids = {key for item in runs.results(connection, each) for key, *_ in item.ranking}
            chunks = passages.passages_by_id(connection, self._base_id, run.recipe.index.cut, ids)
            for key, chunk in chunks.items():
                found[chunk.document_id, chunk.start, chunk.end] = key
        return found

    def _sample(
        self,
        connection: Connection,
        wanted: list[str],
        places: dict[Place, str],
    ) -> dict[Hit, float]:
        """Return the human judgements of the random sample by hit: 1 relevant, 0 not."""
        run = runs.get(connection, self._base_id, wanted[0])
        found = question_rows.get_question_set(connection, self._base_id, run.question_set)
        origin = SAMPLED + origin_of(wanted)
        people: dict[Hit, float] = {}
        for question in question_rows.list_labelled_questions(connection, found.id):
            for label in question.labels:
                if label.origin == origin and label.document_id is not None:
                    place = label.document_id, label.start, label.end
                    item = places.get(place, label.document_id)
                    people[question.id, item] = float(label.grade > 0)
        return people


def _verdicts(
    connection: Connection, wanted: list[str], judge: str | None
) -> tuple[str, dict[Hit, list[float]]]:
    """The judge, and its verdicts by hit: 1 relevant, one for every repetition."""
    rubric = RUBRICS["relevance"].name
    known = [name for each in wanted for name, by in rows.judges(connection, each) if by == rubric]
    name = judge if judge is not None else next(iter(known), "")
    found: dict[Hit, list[float]] = defaultdict(list)
    for run_id in wanted:
        for each in rows.of_run(connection, run_id, name, rubric):
            found[each.question_id, each.item].append(float(each.grade >= RELEVANT))
    return (name if found else ""), dict(found)


def _estimated(
    people: dict[Hit, float], pool: list[Hit], judge: str, verdicts: dict[Hit, list[float]]
) -> OpenHits:
    graded = sum(hit in verdicts for hit in pool)
    said = np.array(list(people.values()))
    both = [hit for hit in people if hit in verdicts]
    agreed = (
        agreement(
            np.array([people[hit] for hit in both]),
            np.array([float(fmean(verdicts[hit]) >= 0.5) for hit in both]),
        )
        if both
        else None
    )
    spreads = [pstdev(each) for each in verdicts.values() if len(each) > 1]
    estimate = None
    if len(people) >= FEWEST:
        whole = judge and graded == len(pool)
        estimate = (
            sampled_mean(
                said,
                len(pool),
                np.array([fmean(verdicts[hit]) for hit in people]),
                np.array([fmean(verdicts[hit]) for hit in pool]),
            )
            if whole
            else sampled_mean(said, len(pool))
        )
    return OpenHits(
        pool=len(pool),
        sampled=len(people),
        relevant=estimate,
        judge=judge,
        graded=graded,
        agreement=agreed,
        spread=fmean(spreads) if spreads else None,
    )
