"""Questions that a run fails and how each fails, and the states of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from rag import answering, providers
from rag.evaluation.answers import CONTAINMENT, has_expected, lacks_expected
from rag.library.documents.stored import documents_hash
from rag.recipe import AnswerRecipe, Recipe
from rag.retrieval import retrieve
from rag.search.corpus import StoredSources
from rag.search.snapshot import SearchSnapshot
from rag.services.services import Services
from rag.types import ProgressCallback, Question
from rag.types.results import QuestionResult, Run

METRIC = "correct_doubt"
FALSE_DOUBT = "false_doubt"
"""The same of questions that the documents answer; measured where answers are."""
DECISION = "correct_decision"
"""Of all questions: 1 where the answer is flagged as it should be, or not as it should not."""
CONFLICT = "conflicting_sources"
"""Of all questions: 1 where the answer says that its sources disagree."""
FLAGGED = ("doubtful", "refused")
"""States that tell the reader not to rely on an answer."""


def correct_doubts(
    services: Services,
    snapshot: SearchSnapshot,
    questions: Sequence[Question],
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> Mapping[str, Mapping[str, float]]:
    """``METRIC`` by the id of each unanswerable question: 1 where its answer is flagged.

    Nothing is measured where ``answer_states`` has no state.
    """
    unanswerable = [question for question in questions if not question.answerable]
    states = answer_states(services, snapshot, unanswerable, on_progress)
    return {name: {METRIC: float(state in FLAGGED)} for name, state in states.items()}


def answer_states(
    services: Services,
    snapshot: SearchSnapshot,
    questions: Sequence[Question],
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> Mapping[str, str]:
    """The state of the answer to each question by its id.

    What a workspace answered of the same documents by the same recipe, as for a diagnosis after an
    evaluation, is not answered again. Answers are quotes. There is no state where that would ask a
    model or service outside.
    """
    recipe = snapshot.recipe
    if (
        recipe.search.asks_chat
        or recipe.search.rerank
        or not providers.is_local(recipe.index.embedder)
    ):
        return {}
    index = snapshot.index
    sources = StoredSources(services, snapshot.base_id, "")
    words = answering.Vocabulary(index.lexical, len(index.passages))
    embedder = services.remembering(recipe.index.embedder)
    corpus, threshold = snapshot.corpus(), snapshot.threshold_rule.threshold
    searched = *snapshot.parts(), documents_hash(index.keys), len(index.without_vector)

    def state(question: Question) -> str:
        key = question.text, *searched
        if (known := services.answer_states.get(key)) is not None:
            return known
        trace = retrieve(question.text, recipe, corpus, threshold)
        quoted = answering.answer(
            trace, AnswerRecipe(), embedder=embedder, chat=None, sources=sources, words=words
        )
        answered = quoted.answer.state or ""
        services.answer_states.put(key, answered)
        return answered

    states = dict[str, str]()
    for place, question in enumerate(questions):
        on_progress(place, len(questions))
        states[question.id] = state(question)
    return states


Failure = Literal["answered", "not refused", "low", "parts", "doubtful", "unexpected"]

PASSING = 0.5
"""Least nDCG at the depth of a recipe of a question that passes."""
_DOUBTED, _DOUBTED_WRONGLY = "correct_doubt", "false_doubt"


def failing_depth(run: Run) -> int | None:
    """The cutoff by which questions fail: top-k of the recipe, or the deepest one of the run.

    None for a run without ranking metrics.
    """
    cutoffs = {int(name.partition("@")[2]) for name in run.metrics if name.startswith("ndcg@")}
    top_k = run.recipe.search.top_k if run.recipe else 10
    return top_k if top_k in cutoffs else max(cutoffs, default=None)


def newest_scored(runs: Iterable[Run], recipe: Recipe, documents_hash: str) -> Run | None:
    """The first of some runs that scored the answers of a recipe on the same documents."""
    return next(
        (
            run
            for run in runs
            if run.recipe == recipe
            and run.documents_hash == documents_hash
            and _DOUBTED_WRONGLY in run.metrics
        ),
        None,
    )


def with_answers(
    results: Iterable[QuestionResult], scored: Mapping[str, Mapping[str, float]]
) -> list[QuestionResult]:
    """Results with the measures of their answers from another run, which has them by question.

    To answer all questions takes longer than to search them, so the newest run may lack them.
    """

    def joined(result: QuestionResult) -> QuestionResult:
        others = scored.get(result.question_id, {}).items()
        of_answers = {name: value for name, value in others if "@" not in name}
        return replace(result, metrics={**result.metrics, **of_answers})

    return [joined(result) for result in results]


def first_failure(result: QuestionResult, k: int) -> Failure | None:
    """The first thing that a question fails by; None if it passes.

    A low rank is no failure of a question whose answer contains the expected one. A question
    without an answer fails if it was answered, or returned passages in a run that did not score
    answers.
    """
    if not result.answerable:
        if not result.ranking or result.metrics.get(_DOUBTED):
            return None
        return "answered" if _DOUBTED in result.metrics else "not refused"
    if ranks_low(result, k) and not has_expected(result.metrics):
        return "low"
    if result.metrics.get(f"nugget_recall@{k}", 1.0) < 1:
        return "parts"
    if result.metrics.get(_DOUBTED_WRONGLY):
        return "doubtful"
    return "unexpected" if lacks_expected(result.metrics) else None


def ranks_low(result: QuestionResult, k: int) -> bool:
    """Whether the relevant passages of a question rank low, or are not found.

    Those of a question without labels that is scored by its answer are not known.
    """
    unknown = 1.0 if CONTAINMENT in result.metrics and not result.relevant else 0.0
    return result.answerable and result.metrics.get(f"ndcg@{k}", unknown) < PASSING


def failing(run: Run, results: Sequence[QuestionResult]) -> frozenset[str]:
    """The ids of the measured questions that a run fails."""
    k = failing_depth(run)
    counting = {f"ndcg@{k}", CONTAINMENT}  # a question without labels counts by its answer
    measured = [one for one in results if not one.answerable or counting & one.metrics.keys()]
    return frozenset(
        one.question_id for one in measured if k is not None and first_failure(one, k) is not None
    )
