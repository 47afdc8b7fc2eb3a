"""What does the jobs that measure."""

from __future__ import annotations

from functools import partial

from rag.jobs import Handler
from rag.runs.evaluate_job import evaluate
from rag.runs.quality.answer_job import Answering, evaluate_answers
from rag.runs.quality.judge_job import judge_hits
from rag.services import Services


def measuring(services: Services, answering: Answering) -> dict[str, Handler]:
    """Handlers by kind of job; ``answering`` answers questions of evaluations."""
    return {
        "evaluate": partial(evaluate, services),
        "evaluate-answers": partial(evaluate_answers, services, answering),
        "judge": partial(judge_hits, services),
    }
