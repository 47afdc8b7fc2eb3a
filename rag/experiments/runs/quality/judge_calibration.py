"""The probabilities that a decision model states as a judge, against what people say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rag.errors import InvalidInput
from rag.evaluation.calibration import stated_threshold
from rag.evaluation.judges.asking import UNCALIBRATED
from rag.evaluation.reliability import Quality, ReliabilityBin, quality, reliability
from rag.experiments.runs.quality.judges import passage_rubrics
from rag.experiments.runs.stored import StoredRuns
from rag.library.questions.judging_queue import JudgingPool
from rag.operation import operation
from rag.storage import Connection
from rag.storage.quality import answers
from rag.types import percent


@dataclass(frozen=True, slots=True)
class JudgeCalibration:
    """Stated probabilities on ``hits`` that people judged, ``relevant`` of them relevant.

    ``bins`` and ``quality`` are those of the probabilities as stated. From ``threshold`` on a hit
    counts as relevant; ``fitted`` says that the labels gave it, and not the lack of them.
    """

    hits: int
    relevant: int
    threshold: float
    fitted: bool
    quality: Quality
    bins: tuple[ReliabilityBin, ...]

    @property
    def sentence(self) -> str:
        """The reliability of the probabilities, and where relevance begins."""
        scores = self.quality
        better = "less" if scores.useful else "no less"
        why = "as the labels say" if self.fitted else "as the labels are too few to choose it"
        return (
            f"On {self.hits} hits that people judged, the stated probabilities err {better} than "
            f"the base rate of {percent(scores.base_rate)} (Brier {scores.brier:.3f} against "
            f"{scores.base_brier:.3f}). Relevant is what has at least {self.threshold:.2f}, {why}."
        )


class JudgeCalibrations(StoredRuns):
    """Calibrations of the decision models that judged the runs of one knowledge base."""

    @operation("guest")
    def judge_calibration(self, run_id: str, judge: str) -> JudgeCalibration | None:
        """Compare a judge with the labels of today; None where it stated no probability of them.

        Raises NotFound.
        """
        with self._database.read() as connection:
            return judge_calibration(connection, self._base_id, run_id, judge)


def judge_calibration(
    connection: Connection, base_id: int, run_id: str, judge: str
) -> JudgeCalibration | None:
    """The same within a transaction."""
    rubric = passage_rubrics(connection, base_id)[1].name
    pool = JudgingPool.read(connection, base_id, [run_id])
    grades = pool.grades(pool.places(pool.rankings(None)))
    owners = {question_id: place for place, question_id in enumerate(grades)}
    both = [
        (one.stated, grades[one.question_id][one.item] > 0, owners[one.question_id])
        for one in answers.judgements_of_run(connection, run_id, judge, rubric)
        if one.stated is not None and one.item in grades.get(one.question_id, {})
    ]
    if not both:
        return None
    said, right, owner = (np.array(column) for column in zip(*both, strict=True))
    try:
        threshold, fitted = stated_threshold(said, right, owner), True
    except InvalidInput:
        threshold, fitted = UNCALIBRATED, False
    return JudgeCalibration(
        hits=len(said),
        relevant=int(right.sum()),
        threshold=threshold,
        fitted=fitted,
        quality=quality(said, np.full(len(said), right.mean()), right),
        bins=reliability(said, right),
    )
