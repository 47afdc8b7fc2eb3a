"""Answers of one knowledge base: the model, what it is shown beside the passages, its tools."""

from __future__ import annotations

from rag import answering
from rag.answering import renumbered
from rag.conversations.prompts import Prompts
from rag.recipe import AnswerRecipe, Recipe
from rag.services.services import Services
from rag.storage.conversations import Turn
from rag.types import Stage, Trace


def searches(recipe: AnswerRecipe) -> bool:
    """Whether an answer looks at passages; one from general knowledge does not."""
    return recipe.mode != "general"


def unsearched(question: str, recipe: Recipe) -> Trace:
    """The trace of a question that nothing is searched for."""
    stage = Stage("question", 0, 0, note="nothing is searched: mode general")
    return Trace(question.strip(), recipe.hash, 0, None, (stage,), (), 0.0)


def begun(turn: Turn, trace: Trace) -> str:
    """The text of a turn, with the numbers that its passages have in the prompt of ``trace``.

    As stored they count citations in the order in which the text cites them.
    """
    numbers = {hit.chunk.id: number for number, hit in enumerate(trace.context, start=1)}
    cited = {
        citation.n: numbers[citation.chunk_id]
        for citation in turn.citations
        if citation.chunk_id in numbers
    }
    return renumbered(turn.answer, cited)


def sufficiency(
    services: Services, recipe: AnswerRecipe, prompts: Prompts
) -> answering.Sufficiency | None:
    """Return the model that decides whether passages are sufficient, where a recipe names one."""
    if recipe.decider is None:
        return None
    model = services.models.decider(recipe.decider, for_answer=True)
    question = prompts.wording().text("sufficient")
    return answering.Sufficiency(model, question, recipe.sufficient) if model else None
