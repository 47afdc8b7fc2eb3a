"""A knowledge base: what it holds, how it answers, and how good it is, behind one name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from rag import answering, telemetry
from rag.answering import AnswerStream, QuotesExplanation
from rag.answering.asking.prompt import Beside, Prompt, prompt_of
from rag.answering.assessing.key_terms import key_terms, unknown_terms
from rag.conversations.answers import begun, searches, sufficiency, unsearched
from rag.conversations.prompts import Prompts
from rag.conversations.turn_metrics import log_turn
from rag.errors import NotFound, TouchstoneError
from rag.lexical import Explanation, leans_on_another
from rag.operation import operation, part
from rag.recipe import Recipe
from rag.retrieval import Part, merge_traces, retrieve
from rag.search.corpus import (
    StoredSources,
    StoredSurroundings,
    check_question,
    vectors_of,
)
from rag.search.model_fit import (
    NOT_TRIED,
    checks_quotes,
    grounded_budget,
    reads_passages,
    settled,
)
from rag.search.snapshot import SearchSnapshot, SearchState, read_state, take_snapshot
from rag.search.tools import answer_tools, named_tools, tool_parts, without_tools
from rag.services.indexing.index import Index, lookup
from rag.services.services import Services
from rag.storage import bases
from rag.storage.bases import Base
from rag.storage.conversations import LOCAL, Scope, SessionOwner, Turn
from rag.types import Example, Hit, Message, Trace

if TYPE_CHECKING:
    from rag.access.people import BaseAccess
    from rag.conversations.conversations import Conversations
    from rag.experiments.explanation.explainer import Explainer
    from rag.experiments.explanation.recipe_comparison import RetrievalComparison
    from rag.experiments.recipes import Recipes
    from rag.experiments.runs.runs import Runs
    from rag.experiments.systems.evaluate_job import SystemEvaluations
    from rag.experiments.tuning.tuning import Tuning
    from rag.library.all_documents import Documents
    from rag.library.maps import Maps
    from rag.library.questions.questions import Questions
    from rag.services.jobs import Jobs


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a principal beside the role.

    ``tour`` is the only one to be seen. ``may_name_keys`` says whether definitions may name
    environment variables of the server: they decide where their values go. ``may_run_commands``
    says whether systems may run that are commands of the server. ``permit_recipe``
    raises for a recipe with which dozens of texts cost more than the principal may spend.
    """

    tour: int | None = None
    may_name_keys: bool = True
    permit_recipe: Callable[[Recipe], None] = lambda _recipe: None
    may_run_commands: bool = True


UNLIMITED = Limits()


class _Searching:
    """The search of one knowledge base, which questions and explanations share."""

    def __init__(self, services: Services, base: Base) -> None:
        self._services = services
        self._database = services.database
        self.id = base.id
        self.name = base.name
        self._sources = StoredSources(services, base.id, base.name)
        self._prompts = Prompts(self._database, base.id)

    def _search(
        self,
        question: str,
        snapshot: SearchSnapshot,
        beside: Sequence[FederatedBase] = (),
        history: Sequence[Message] = (),
    ) -> Trace:
        request = {"base": self.id, "question": question, "recipe": snapshot.recipe}
        with telemetry.spanning("search", request) as span:
            started = perf_counter()
            recipe = snapshot.recipe
            first = self._part(question, snapshot, history=history)
            trace = first.trace
            if beside or recipe.search.tools:
                tools = tool_parts(self._services, trace.question, recipe, trace)
                others, failures = federated_parts(trace.question, beside)
                top_k = recipe.search.top_k
                trace = merge_traces([first, *tools, *others], recipe.hash, top_k, failures)
            count = self._services.models.embedder(recipe.index.embedder).tokenizer.count
            around = StoredSurroundings(self._database, self.id, snapshot.index.cut_id)
            budget = grounded_budget(self._services, recipe.answer)
            span.about = trace = answering.with_context(trace, budget, count, recipe.search, around)
            telemetry.note_work("search", perf_counter() - started, trace)
            return trace

    def _part(
        self,
        question: str,
        snapshot: SearchSnapshot,
        weight: float = 1.0,
        history: Sequence[Message] = (),
    ) -> Part:
        services, recipe, rule = self._services, snapshot.recipe, snapshot.threshold_rule
        question = check_question(question)
        history = tuple(history)
        # A model that only words quotes is often too small to write a question.
        leans = bool(history) and leans_on_another(question)
        if leans and reads_passages(services, recipe):
            rewriting = recipe.with_fields({"search.rewrite": True})
            snapshot = replace(snapshot, recipe=rewriting)

        def search() -> Trace:
            return retrieve(question, snapshot.recipe, snapshot.corpus(), rule.threshold, history)

        alone = replace(snapshot, recipe=without_tools(recipe))
        key = self._state(alone), question, history
        trace = replace(services.results.trace(key, search), recipe=recipe.hash)
        scale = f"cosine of {services.models.embedder(recipe.index.embedder).id}"
        return Part(self.name, trace, "probability" if rule.calibration else scale, weight)

    def _snapshot(self, recipe: Recipe) -> SearchSnapshot:
        return take_snapshot(self._services, self.id, recipe)

    def _state(self, state: SearchState, beside: Sequence[FederatedBase] = ()) -> str:
        search, answer = state.recipe.search, state.recipe.answer
        parts = [
            *state.parts(),
            (answer.provider, answer.model) if search.asks_chat else (),
            *(tool.model_dump_json() for tool in named_tools(self._services, search)),
            *((further.weight, further.base.state(further.recipe)) for further in beside),
        ]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def _index(self, recipe: Recipe) -> Index:
        return self._services.indexes.current(self.id, recipe.index)


class KnowledgeBase(_Searching):
    """One knowledge base. Cheap to make: everything is read when it is asked for."""

    def __init__(
        self,
        services: Services,
        jobs: Jobs,
        maps: Maps,
        base: Base,
        visitor: SessionOwner = LOCAL,
        limits: Limits = UNLIMITED,
    ) -> None:
        super().__init__(services, base)
        self._base = base
        self._jobs = jobs
        self._maps = maps
        self._scope = Scope(base.id, visitor)
        self._limits = limits

    @part
    def documents(self) -> Documents:
        from rag.library.all_documents import Documents

        key, permit = self._limits.may_name_keys, self._limits.permit_recipe
        return Documents(self._services, self._jobs, self._maps, self._scope, key, permit)

    @part
    def questions(self) -> Questions:
        from rag.library.questions.questions import Questions

        return Questions(self._services, self._jobs, self.id)

    @part
    def recipes(self) -> Recipes:
        from rag.experiments.recipes import Recipes

        return Recipes(self._services, self._jobs, self.id)

    @part
    def explanations(self) -> Explanations:
        permit = self._limits.permit_recipe
        return Explanations(self._services, self._base, self.documents, self.questions, permit)

    @part
    def tuning(self) -> Tuning:
        from rag.experiments.tuning.tuning import Tuning

        return Tuning(self._services, self._jobs, self.id, self._limits.permit_recipe)

    @part
    def systems(self) -> SystemEvaluations:
        from rag.experiments.systems.evaluate_job import SystemEvaluations

        return SystemEvaluations(
            self._services,
            self._jobs,
            self.id,
            may_name_keys=self._limits.may_name_keys,
            may_run_commands=self._limits.may_run_commands,
        )

    @part
    def runs(self) -> Runs:
        from rag.experiments.runs.runs import Runs
        from rag.experiments.tuning.diagnosis.job import failure_note

        failures = partial(failure_note, self.tuning.diagnoses)
        return Runs(self._services, self._jobs, self.id, self._scope.visitor, failures)

    @part
    def access(self) -> BaseAccess:
        from rag.access.people import BaseAccess

        return BaseAccess(self._database, self.id)

    @part
    def conversations(self) -> Conversations:
        from rag.conversations.conversations import Conversations

        return Conversations(self._services, self._scope, self.name, self._limits.tour)

    @operation("guest")
    def recipe(self) -> Recipe:
        """The saved recipe."""
        return self._database.fetch(bases.by_id, self.id).recipe

    @operation("guest")
    def version(self) -> int:
        """Return the number of changes to the documents; caches compare it."""
        return self._database.fetch(bases.version, self.id)

    @operation("guest", models="none")
    def state(self, recipe: Recipe, beside: Sequence[FederatedBase] = ()) -> str:
        """Names all that a search depends on, besides the question and what was said before it.

        Caches of what was found, or of what follows from it, have this as key. Of the part that
        answers only the model counts, and only where a step of the search asks it. Raises
        InvalidInput as ``Recipes.threshold`` does.
        """
        return self._state(read_state(self._services, self.id, recipe), beside)

    @operation("guest", audit="search")
    def search(
        self,
        question: str,
        recipe: Recipe,
        beside: Sequence[FederatedBase] = (),
        history: Sequence[Message] = (),
    ) -> Trace:
        """Find passages; in other knowledge bases and the recipe's tools too (see ``merged``).

        ``history`` is the conversation before, from which a follow-up is made complete: by the
        model that answers, or by the terms of the question before. What fails elsewhere is a note.
        Raises InvalidInput for an empty question.
        """
        return self._search(question, self._snapshot(recipe), beside, history)

    @operation("guest", audit="ask", models="answer")
    def ask(
        self,
        question: str,
        recipe: Recipe,
        beside: Sequence[FederatedBase] = (),
        without: Collection[str] = (),
    ) -> AnswerStream:
        """Searches, unless the mode is general, then answers; the stream yields pieces of text.

        Past interactions about the questions ``without`` are no examples.
        """
        request = {"base": self.id, "question": question, "recipe": recipe}
        turn = telemetry.begin("turn", request, telemetry.current())
        with telemetry.within(turn):
            if searches(recipe.answer):
                snapshot = self._snapshot(recipe)
                index, trace = snapshot.index, self._search(question, snapshot, beside)
            else:
                index, trace = self._index(recipe), unsearched(check_question(question), recipe)
            examples = self.conversations.memory.examples(trace.question, recipe, without=without)
            stream = self._answer(trace, recipe, index, examples)
            return stream.ending(turn, partial(log_turn, self.id, None))

    @operation("guest", audit="ask", models="answer")
    def answer(
        self,
        trace: Trace,
        recipe: Recipe,
        examples: Sequence[Example] = (),
        history: Sequence[Message] = (),
        goes_on: Turn | None = None,
    ) -> AnswerStream:
        """Answers from a retrieval that has been done.

        ``examples`` are past interactions (see ``Memory.examples``), ``history`` is the
        conversation before: both are shown to a model as far as the budget has room. A model goes
        on with the answer of the turn ``goes_on``.
        """
        return self._answer(trace, recipe, self._index(recipe), examples, history, goes_on)

    def _answer(
        self,
        trace: Trace,
        recipe: Recipe,
        index: Index,
        examples: Sequence[Example] = (),
        history: Sequence[Message] = (),
        goes_on: Turn | None = None,
    ) -> AnswerStream:
        """Answer the question of ``trace`` with the words of ``index``."""
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
            sufficiency=sufficiency(services, recipe.answer, self._prompts),
        )
        for decision in decisions:
            stream = stream.deciding(decision)
            if decision.why == NOT_TRIED:  # three questions take a slow model long
                try_model = partial(settled, services, asked_for, tries=True)
                what = ("try", recipe.answer.provider, recipe.answer.model)
                start = partial(services.models.background.start, what, try_model)
                stream = stream.followed_by(start)
        return stream if price is None else stream.priced(price.of)


class Explanations(_Searching):
    """Explanations of what a search of this base alone did, for the people who tune it."""

    def __init__(
        self,
        services: Services,
        base: Base,
        documents: Documents,
        questions: Questions,
        permit_recipe: Callable[[Recipe], None],
    ) -> None:
        """``permit_recipe`` raises for a recipe that embeds dozens of texts at too high a cost."""
        super().__init__(services, base)
        self._documents = documents
        self._questions = questions
        self._permit_recipe = permit_recipe

    @operation("guest", audit="search")
    def part(self, question: str, recipe: Recipe, weight: float = 1.0) -> Part:
        """Return the results of this base alone, before the cut to a prompt."""
        return self._part(question, self._snapshot(recipe), weight)

    @operation("viewer", audit="search")
    def explain(self, question: str, recipe: Recipe, trace: Trace | None = None) -> Explainer:
        """Explain what this base alone found, without tools; search where there is no ``trace``.

        Raises as ``search`` does.
        """
        from rag.experiments.explanation.explainer import Explainer

        alone = without_tools(recipe)
        snapshot = self._snapshot(alone)
        if trace is None or recipe.search.tools:
            trace = self._search(question, snapshot)
        threshold = snapshot.threshold_rule.threshold
        explainer = Explainer(trace, alone, snapshot.corpus(), threshold, self._documents)
        explainer.permit_attribution = partial(self._permit_recipe, recipe)
        return explainer

    @operation("viewer", audit="search")
    def compare(
        self, question: str, before: Recipe, after: Recipe, set_name: str | None = None
    ) -> RetrievalComparison:
        """Two recipes on one question, with the labels that a set has for it.

        Raises as ``search`` does.
        """
        from rag.experiments.explanation.recipe_comparison import compare_retrievals

        recipes = before, after = without_tools(before), without_tools(after)
        labels_of, name = self._questions.labels_of, set_name or ""
        labels = labels_of(name, question, before.index), labels_of(name, question, after.index)
        search, snapshot = self._search, self._snapshot
        traces = search(question, snapshot(before)), search(question, snapshot(after))
        return compare_retrievals(traces, recipes, labels, self._documents)

    @operation("guest")
    def prompt(self, trace: Trace, recipe: Recipe) -> Prompt:
        """Return the prompt of a language model for a retrieval, without previous messages."""
        index = self._index(recipe)
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

    @operation("viewer")
    def explain_quotes(self, trace: Trace, recipe: Recipe) -> QuotesExplanation | None:
        """Return the state of an answer of quotes and what became of each passage.

        None where a model reads the passages, or nothing is searched.
        """
        services, index = self._services, self._index(recipe)
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
            sufficiency=sufficiency(services, recipe.answer, self._prompts),
        )

    @operation("guest", models="none")
    def unknown_words(self, trace: Trace, recipe: Recipe) -> tuple[str, ...]:
        """Return the key words of a question that no passage has, nor another form of them."""
        index = self._index(recipe)
        words = answering.Vocabulary(index.lexical, len(index.passages))
        terms = key_terms(trace.corrected, words)
        return tuple(term.text for term in unknown_terms(terms, trace))

    @operation("guest")
    def unranked(self, key: int, question: str, recipe: Recipe) -> Hit:
        """Any passage as a hit without a rank (0), with its cosine. Raises NotFound."""
        index = self._index(recipe)
        rows = lookup(self._database, self.id, index.cut_id)([key])
        if key not in rows:
            raise NotFound("The passage no longer exists.", "Its document was deleted or replaced.")
        vector = self._services.models.embedder(recipe.index.embedder).embed([question], "query")[0]
        cosine = float(vectors_of(index).vectors(np.array([key]))[0] @ vector)
        return Hit(*rows[key], rank=0, score=0.0, relevance=cosine, parts={"dense": cosine})

    @operation("guest", models="none")
    def word_finder(
        self, trace: Trace, recipe: Recipe, *, context: bool = False
    ) -> Callable[[Hit], list[tuple[int, int]]]:
        """Find the spans of a hit's text whose words BM25 matched with the question.

        With ``context`` spans of the hit's context, which is indexed and not part of its text.
        """
        search, words = recipe.search, self._index(recipe).lexical
        return lambda hit: words.matched_spans(
            trace.words or trace.question,
            hit.chunk.context if context else hit.chunk.text,
            fuzzy=search.fuzzy,
            prefix=search.prefix,
        )

    @operation("guest", models="none")
    def explain_words(self, key: int, trace: Trace, recipe: Recipe) -> Explanation:
        """Explain the BM25 score of a passage word by word. Raises NotFound for an unknown key."""
        index, search = self._index(recipe), recipe.search
        explanation = index.lexical.explain(
            trace.words or trace.question,
            key,
            k1=search.k1,
            b=search.b,
            fuzzy=search.fuzzy,
            prefix=search.prefix,
        )
        passage = lookup(self._services.database, self.id, index.cut_id)([key]).get(key)
        if passage is None:
            return explanation
        return explanation.with_context(passage[0].context, index.lexical.analyzer)

    @operation("guest", models="none")
    def spelled(self, text: str, recipe: Recipe) -> Mapping[str, str]:
        """Index terms of a text, each as the word that it was first made of there."""
        return self._index(recipe).lexical.spellings(text)


@dataclass(frozen=True, slots=True)
class FederatedBase:
    """A knowledge base that is searched beside another one, with the recipe it is searched by."""

    base: KnowledgeBase
    recipe: Recipe
    weight: float = 1.0


def federated_parts(question: str, others: Sequence[FederatedBase]) -> tuple[list[Part], list[str]]:
    """Return the results of the other bases, and the reasons of those that failed.

    A failure does not stop the other bases.
    """
    parts, failures = [], []
    for further in others:
        try:
            explanations = further.base.explanations
            parts.append(explanations.part(question, further.recipe, further.weight))
        except TouchstoneError as error:
            failures.append(f"{further.base.name} returned nothing: {error.message}")
    return parts, failures
