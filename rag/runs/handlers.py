"""Handlers of the jobs that measure."""

from __future__ import annotations

from functools import partial

from rag.jobs import Handler
from rag.runs.evaluate_job import evaluate
from rag.runs.quality.answer_job import Opening, evaluate_answers
from rag.runs.quality.judge_job import judge_hits
from rag.runs.quality.preference_job import judge_answers
from rag.services import Services


def measuring(services: Services, opened: Opening) -> dict[str, Handler]:
    """Handlers by kind of job; ``opened`` gives what is to answer."""
    return {
        "evaluate": partial(evaluate, services),
        "evaluate-answers": partial(evaluate_answers, services, opened),
        "judge": partial(judge_hits, services),
        "prefer": partial(judge_answers, services),
    }
