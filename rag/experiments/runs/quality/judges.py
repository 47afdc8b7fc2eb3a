"""Judges by name, a model as "provider:model", with their costs and calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from rag.answering.asking.prompt import Wording
from rag.errors import InvalidInput
from rag.evaluation.calibration import stated_threshold
from rag.evaluation.judges import (
    RUBRICS,
    UNCALIBRATED,
    Judgement,
    Rubric,
    ask,
    decide,
    passage_rubric,
)
from rag.evaluation.reliability import Quality, ReliabilityBin, quality, reliability
from rag.experiments.runs.stored import StoredRuns
from rag.library.questions.judging_queue import JudgingPool
from rag.operation import operation
from rag.protocols import ChatModel
from rag.services.services import Services
from rag.storage import Connection
from rag.storage.quality import answers
from rag.storage.registries import list_prompt_versions
from rag.types import Cost, Usage, percent


@dataclass(frozen=True, slots=True)
class NamedJudge:
    """A chat model that judges answers."""

    name: str
    chat: ChatModel
    _services: Services

    def grade(self, rubric: str, parts: Mapping[str, str]) -> Judgement:
        """Raise as ``ask`` does."""
        return ask(RUBRICS[rubric], self.chat, parts)

    def cost(self, usage: Usage) -> Cost | None:
        """Return the cost of the judge's tokens; None if the price is unknown."""
        return _cost(self._services, self.name, usage)


def judge_named(services: Services, name: str) -> NamedJudge:
    """The chat model that "provider:model" names. Raises InvalidInput, ProviderError."""
    provider, _, model = name.partition(":")
    chat = services.models.chat(provider, model or None)
    if chat is None:
        raise InvalidInput(
            f"{name!r} is not a language model, so it cannot judge.",
            "Name a chat provider and its model, such as ollama:llama3.2.",
        )
    return NamedJudge(name, chat, services)


@dataclass(frozen=True, slots=True)
class PassageJudge:
    """A chat model or a decision model that grades passages by a rubric.

    ``grade`` takes the texts ``question`` and ``passage``, and raises as ``ask`` does.
    """

    rubric: Rubric
    grade: Callable[[Mapping[str, str]], Judgement]
    cost: Callable[[Usage], Cost | None]


def passage_judge(services: Services, base_id: int, name: str) -> PassageJudge:
    """The judge that "provider:model" names. Raises InvalidInput, ProviderError."""
    decider = services.models.decider(name)
    relevance, decision = services.database.fetch(passage_rubrics, base_id)
    cost = partial(_cost, services, name)
    if decider is not None:
        return PassageJudge(decision, partial(decide, decision, decider), cost)
    return PassageJudge(relevance, partial(ask, relevance, judge_named(services, name).chat), cost)


def passage_rubrics(connection: Connection, base_id: int) -> tuple[Rubric, Rubric]:
    """The rubrics of a knowledge base, in its words: of chat models, and of decision models."""
    texts = {version.name: version.text for version in list_prompt_versions(connection, base_id)}
    wording = Wording({name: text for name, text in texts.items() if text})
    return passage_rubric(wording), passage_rubric(wording, decides=True)


def _cost(services: Services, name: str, usage: Usage) -> Cost | None:
    provider, _, model = name.partition(":")
    price = services.models.price(provider, model or None)
    return price.of(usage) if price else None


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
        return self._database.fetch(judge_calibration, self._base_id, run_id, judge)


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
