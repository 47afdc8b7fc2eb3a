"""The evidence that suits a language model, quotes or passages, and the tokens of its prompts."""

from __future__ import annotations

from rag import answering, providers
from rag.errors import ProviderError
from rag.recipe import AnswerRecipe, Recipe
from rag.services.services import Services
from rag.types import Decision, Trace

SMALL = 4e9
"""Parameters of a model below which it words quotes, where a recipe leaves that open."""
CHECKING = 1e9
"""Parameters of a model from which on it tells whether a quote answers a question."""
NOT_TRIED = "the model was not tried yet"
PROBE_SECONDS = 30.0
"""The longest that a model is tried; one that takes longer gets quotes, which are short."""


def settled(
    services: Services, recipe: Recipe, trace: Trace | None = None, *, tries: bool = False
) -> tuple[Recipe, list[Decision]]:
    """Return a recipe with the evidence and the budget that suit its model, and why.

    Where an answer from ``trace`` has no choice of evidence, that is left open. A model of unknown
    size words quotes until it was tried: with ``tries``, it is asked three questions, once.
    """
    answer = recipe.answer
    quotes = answer.provider == "extractive"
    if quotes or services.models.name(answer.provider, answer.model) is None:
        return recipe, []
    decisions = list[Decision]()
    if answer.evidence == "auto" and answering.has_evidence(answer, trace):
        evidence, why = _evidence(services, recipe, tries)
        decisions.append(Decision("evidence", evidence, why))
        if evidence == "quotes alone":
            return recipe.with_fields({"answer.provider": "extractive"}), decisions
        recipe = recipe.with_fields({"answer.evidence": evidence})
    budget = services.models.readable_tokens(recipe.answer)
    if budget < answer.context_tokens:
        why = "its server cut a longer prompt"
        decisions.append(Decision("context", f"at most {budget:,} tokens", why))
        recipe = recipe.with_fields({"answer.context_tokens": budget})
    return recipe, decisions


def _evidence(services: Services, recipe: Recipe, tries: bool) -> tuple[str, str]:
    """Return what a model reads, and why: by its size, else by what it answers."""
    answer, models = recipe.answer, services.models
    facts = models.facts(answer.provider, answer.model)
    if facts is not None and facts.evidence:
        return facts.evidence, facts.evidence_reason or ""
    size = models.parameters(answer.provider, answer.model)
    if size is not None:
        why = f"the model has {size / 1e9:.1f} billion parameters"
        if size < providers.WORDING:
            return "quotes alone", f"{why}, too few to word them"
        return "quotes" if size < SMALL else "passages", why
    if providers.may_cost(answer.provider, services.settings):
        return "passages", "the size of the model is not known, and to try it may cost money"
    return _tried(services, recipe) if tries else ("quotes", NOT_TRIED)


def _tried(services: Services, recipe: Recipe) -> tuple[str, str]:
    """Ask a model the three questions, and store what suits it."""
    models, answer = services.models, recipe.answer
    chat = models.step_chat(answer)
    count = models.embedder(recipe.index.embedder).tokenizer.count
    try:
        right = answering.right_readings(chat, count, PROBE_SECONDS) if chat is not None else None
    except ProviderError as error:
        return "quotes", f"the model could not be tried: {error.message}"
    evidence = "passages" if right == answering.READING_QUESTIONS else "quotes"
    why = f"{right} of {answering.READING_QUESTIONS} test questions answered right from passages"
    if right is None:
        why = f"{answering.READING_QUESTIONS} test questions took more than {PROBE_SECONDS:g} s"
    models.learn(answer.provider, answer.model, evidence=evidence, evidence_reason=why)
    return evidence, why


def checks_quotes(services: Services, answer: AnswerRecipe) -> bool:
    """Return whether a model is known to be large enough to tell whether a quote answers."""
    models, model = services.models, (answer.provider, answer.model)
    return models.name(*model) is not None and (models.parameters(*model) or 0.0) >= CHECKING


def reads_passages(services: Services, recipe: Recipe) -> bool:
    """Return whether a model reads passages, as far as is known without asking it."""
    answer = settled(services, recipe)[0].answer
    return answer.provider != "extractive" and answer.evidence != "quotes"


def grounded_budget(services: Services, recipe: AnswerRecipe) -> int:
    """Return the tokens of passages in a prompt; in mode grounded only here what a server reads."""
    budget = answering.passage_budget(recipe)
    if recipe.provider == "extractive" or recipe.mode != "grounded":
        return budget
    readable = services.models.readable_tokens(recipe)
    return budget if readable >= recipe.context_tokens else min(budget, readable // 2)
