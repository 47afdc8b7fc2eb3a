"""Answers of one knowledge base: the model, what it is shown beside the passages, its tools."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rag import answering
from rag.answering import AnswerStream, QuotesExplanation, renumbered
from rag.answering.asking.prompt import Beside, Prompt, prompt_of
from rag.answering.assessing.key_terms import key_terms, unknown_terms
from rag.conversations.prompts import Prompts
from rag.recipe import AnswerRecipe, Recipe
from rag.search.corpus import StoredSources
from rag.search.model_fit import NOT_TRIED, checks_quotes, settled
from rag.search.tools import answer_tools
from rag.services.indexing.index import Index
from rag.services.services import Services
from rag.storage.conversations import Turn
from rag.types import Example, Message, Stage, Trace


class Answers:
    """Answers from retrievals that have been done."""

    def __init__(self, services: Services, sources: StoredSources, prompts: Prompts) -> None:
        self._services = services
        self._prompts = prompts
        self._sources = sources

    def answer(
        self,
        trace: Trace,
        recipe: Recipe,
        index: Index,
        examples: Sequence[Example] = (),
        history: Sequence[Message] = (),
        goes_on: Turn | None = None,
    ) -> AnswerStream:
        """Answer the question of ``trace`` with the words of ``index``.

        For the other arguments, see ``KnowledgeBase.answer``.
        """
        services = self._services
        asked_for = recipe
        recipe, decisions = settled(services, recipe, trace)
        chat = services.models.chat(recipe.answer.provider, recipe.answer.model)
        # In mode auto a model may have to decide first, which nothing can be gone on with.
        prefix, decides = "", recipe.answer.mode == "auto" and not trace.context
        if chat is not None and goes_on is not None and not decides:
            prefix = begun(goes_on, trace)
            chat = answering.Continuing(chat, prefix)
        asks_tools = chat is not None and decides
        words_quotes = answering.words_quotes(recipe.answer, trace)
        price = services.models.price(recipe.answer.provider, recipe.answer.model)
        stream = answering.answer(
            trace,
            recipe.answer,
            embedder=services.remembering(recipe.index.embedder),
            chat=chat,
            sources=self._sources,
            words=answering.Vocabulary(index.lexical, len(index.passages)),
            beside=None
            if chat is None
            else Beside(
                tuple(history),
                wording=self._prompts.wording(),
                begun=prefix,
                checks=words_quotes and checks_quotes(services, recipe.answer),
            ),
            examples=examples,
            tools=answer_tools(services, recipe) if asks_tools else (),
            sufficiency=self._sufficiency(recipe.answer),
        )
        for decision in decisions:
            stream = stream.deciding(decision)
            if decision.why == NOT_TRIED:  # three questions take a slow model long
                try_model = partial(settled, services, asked_for, tries=True)
                what = ("try", recipe.answer.provider, recipe.answer.model)
                start = partial(services.models.background.start, what, try_model)
                stream = stream.followed_by(start)
        return stream if price is None else stream.priced(price.of)

    def _sufficiency(self, recipe: AnswerRecipe) -> answering.Sufficiency | None:
        if recipe.decider is None:
            return None
        model = self._services.models.decider(recipe.decider, for_answer=True)
        question = self._prompts.wording().text("sufficient")
        return answering.Sufficiency(model, question, recipe.sufficient) if model else None

    def explain_quotes(
        self, trace: Trace, recipe: Recipe, index: Index
    ) -> QuotesExplanation | None:
        """Return the state of an answer of quotes and what became of each passage.

        None where a model reads the passages, or nothing is searched.
        """
        services = self._services
        recipe, _ = settled(services, recipe, trace)
        chat = services.models.chat(recipe.answer.provider, recipe.answer.model)
        if chat is not None and not answering.words_quotes(recipe.answer, trace):
            return None
        if not searches(recipe.answer):
            return None
        return answering.explain_quotes(
            trace,
            recipe.answer,
            embedder=services.remembering(recipe.index.embedder),
            sources=self._sources,
            words=answering.Vocabulary(index.lexical, len(index.passages)),
            sufficiency=self._sufficiency(recipe.answer),
        )

    def unknown_words(self, trace: Trace, index: Index) -> tuple[str, ...]:
        """Return the key words of a question that no passage has, nor another form of them."""
        words = answering.Vocabulary(index.lexical, len(index.passages))
        terms = key_terms(trace.corrected, words)
        return tuple(term.text for term in unknown_terms(terms, trace))

    def prompt(self, trace: Trace, recipe: Recipe, index: Index) -> Prompt:
        """Return the prompt of a language model for a retrieval, without previous messages."""
        recipe, _ = settled(self._services, recipe, trace)
        if answering.words_quotes(recipe.answer, trace):
            return answering.sentence_prompt(
                trace,
                embedder=self._services.remembering(recipe.index.embedder),
                sources=self._sources,
                words=answering.Vocabulary(index.lexical, len(index.passages)),
                wording=self._prompts.wording(),
            )
        count = self._services.models.embedder(recipe.index.embedder).tokenizer.count
        reader = answering.PassageReader(self._sources)
        beside = Beside(wording=self._prompts.wording())
        mode = "strict" if recipe.answer.mode == "auto" else recipe.answer.mode
        hits = () if mode == "general" else trace.context
        return prompt_of(mode, trace.question, hits, recipe.answer, beside, reader, count)


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
