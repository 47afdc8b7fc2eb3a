"""The questions of a knowledge base: one part, with one module for each purpose."""

from __future__ import annotations

from rag.jobs import Jobs
from rag.questions.edits import QuestionEdits
from rag.questions.exchange import Exchange
from rag.questions.judging_queue import JudgingQueue
from rag.questions.label_edits import LabelEdits
from rag.questions.passage_labels import PassageLabels
from rag.questions.proposals import Proposals
from rag.questions.sets import QuestionSets
from rag.services import Services


class Questions(
    QuestionSets, QuestionEdits, LabelEdits, PassageLabels, JudgingQueue, Exchange, Proposals
):
    """The question sets of one knowledge base, with their labels and proposals."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        super().__init__(services.database, base_id)
        self._services = services
        self._jobs = jobs
