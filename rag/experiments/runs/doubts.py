"""The states of answers to questions of a set: whether they are refused or doubtful."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rag import answering, providers
from rag.recipe import AnswerRecipe
from rag.retrieval import retrieve
from rag.search.corpus import StoredSources
from rag.search.snapshot import SearchSnapshot
from rag.services.services import Services
from rag.types import ProgressCallback, Question

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

    Answers are quotes. There is no state where that would ask a model or service outside.
    """
    recipe = snapshot.recipe
    if (
        recipe.search.asks_chat
        or recipe.search.rerank
        or not providers.is_local(recipe.index.embedder)
    ):
        return {}
    index = snapshot.index
    sources = StoredSources(services.database, snapshot.base_id, "")
    words = answering.Vocabulary(index.lexical, len(index.passages))
    embedder = services.remembering(recipe.index.embedder)
    corpus, threshold = snapshot.corpus(), snapshot.threshold_rule.threshold

    def state(question: Question) -> str:
        trace = retrieve(question.text, recipe, corpus, threshold)
        quoted = answering.answer(
            trace, AnswerRecipe(), embedder=embedder, chat=None, sources=sources, words=words
        )
        return quoted.answer.state or ""

    states = dict[str, str]()
    for place, question in enumerate(questions):
        on_progress(place, len(questions))
        states[question.id] = state(question)
    return states
