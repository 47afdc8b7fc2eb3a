"""A knowledge base: what it holds, how it answers, and how good it is, behind one name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from rag import answering, telemetry
from rag.answering import AnswerStream, QuotesExplanation
from rag.conversations.answers import Answers, searches, unsearched
from rag.conversations.prompts import Prompts
from rag.conversations.turn_metrics import log_turn
from rag.errors import NotFound
from rag.lexical import Explanation, leans_on_another
from rag.operation import operation, part
from rag.recipe import Recipe
from rag.retrieval import Part, ScoreContribution, merge_traces, retrieve, score_contributions
from rag.search.corpus import (
    StoredSources,
    StoredSurroundings,
    check_question,
    threshold_rule,
    vectors_of,
)
from rag.search.model_fit import grounded_budget, reads_passages
from rag.search.snapshot import SearchSnapshot, SearchState, read_state, take_snapshot
from rag.search.tools import named_tools, tool_parts, without_tools
from rag.services.indexing.index import Index, lookup
from rag.services.services import Services
from rag.storage import Connection, bases, builds
from rag.storage.bases import Base
from rag.storage.conversations import LOCAL, Scope, SessionOwner, Turn
from rag.types import Example, Hit, Message, Trace
from rag.workspace.knowledge_base.federated import SavedRecipe, federated_parts

if TYPE_CHECKING:
    from rag.access.people import BaseAccess
    from rag.answering.asking.prompt import Prompt
    from rag.conversations.conversations import Conversations
    from rag.experiments.explanation.explainer import Explainer
    from rag.experiments.explanation.recipe_comparison import RetrievalComparison
    from rag.experiments.exports.recipe_exports import RecipeExports
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


class KnowledgeBase:
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
        self._services = services
        self._jobs = jobs
        self._maps = maps
        self._scope = Scope(base.id, visitor)
        self._limits = limits
        self._database = services.database
        self.id = base.id
        self.name = base.name

    @part
    def documents(self) -> Documents:
        from rag.library.all_documents import Documents

        return Documents(
            self._services,
            self._jobs,
            self._maps,
            self._scope,
            may_name_keys=self._limits.may_name_keys,
            permit_recipe=self._limits.permit_recipe,
        )

    @part
    def questions(self) -> Questions:
        from rag.library.questions.questions import Questions

        return Questions(self._services, self._jobs, self.id)

    @part
    def recipe_exports(self) -> RecipeExports:
        from rag.experiments.exports.recipe_exports import RecipeExports

        return RecipeExports(self._services, self.id)

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

    @cached_property
    def _sources(self) -> StoredSources:
        return StoredSources(self._database, self.id, self.name)

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self._services, self._sources, Prompts(self._database, self.id))

    @operation("guest")
    def recipe(self) -> Recipe:
        """The saved recipe."""
        return self._database.fetch(bases.by_id, self.id).recipe

    @operation("editor", audit="recipe")
    def save_recipe(self, recipe: Recipe, instead_of: Recipe | None = None) -> bool:
        """Make a recipe the saved one, earlier ones stay; not if that is no more ``instead_of``.

        Raises InvalidRecipe for an embedder or analyzer that nobody knows, ProviderRejected for a
        key that is not set.
        """
        self._services.models.require(recipe.index)
        return self._database.execute(self._save_recipe, recipe, instead_of)

    @operation("editor", audit="recipe")
    def save_and_build(self, recipe: Recipe, instead_of: Recipe | None = None) -> SavedRecipe:
        """Save a recipe and queue the build that its index lacks. Raises as ``save_recipe``."""
        from rag.library.documents import bulk_jobs

        self._services.models.require(recipe.index)
        with self._database.write() as connection:
            if not self._save_recipe(connection, recipe, instead_of):
                return SavedRecipe(saved=False)
            if not builds.missing(connection, self.id, recipe.index.hash):
                return SavedRecipe(saved=True)
            job = bulk_jobs.queue(connection, self.id, recipe.index)
        self._jobs.wake()
        return SavedRecipe(saved=True, job=job)

    def _save_recipe(
        self, connection: Connection, recipe: Recipe, instead_of: Recipe | None
    ) -> bool:
        """Save a recipe with the row of its build, so that new documents get into its index."""
        bases.hold(connection, self.id)
        if not bases.save_recipe(connection, self.id, recipe, instead_of):
            return False
        builds.ensure(connection, self.id, recipe.index)
        return True

    @operation("viewer")
    def saved_recipes(self) -> list[tuple[datetime, Recipe]]:
        """All versions, newest first."""
        return self._database.fetch(bases.saved_recipes, self.id)

    @operation("guest")
    def version(self) -> int:
        """Return the number of changes to the documents; caches compare it."""
        return self._database.fetch(bases.version, self.id)

    @operation("guest", models="none")
    def state(self, recipe: Recipe, beside: Sequence[FederatedBase] = ()) -> str:
        """Names all that a search depends on, besides the question and what was said before it.

        Caches of what was found, or of what follows from it, have this as key. Of the part that
        answers only the model counts, and only where a step of the search asks it. Raises
        InvalidInput as ``threshold`` does.
        """
        return self._state(read_state(self._services, self.id, recipe), beside)

    def _state(self, state: SearchState, beside: Sequence[FederatedBase] = ()) -> str:
        recipe, rule = state.recipe, state.threshold_rule
        search, answer = recipe.search, recipe.answer
        parts = [
            *(str(self._services.settings.home), self.id, state.version, state.filter_digest),
            *(recipe.index.hash, search.hash, rule.digest, rule.threshold),
            (answer.provider, answer.model) if search.asks_chat else (),
            *(tool.model_dump_json() for tool in named_tools(self._services, search)),
            *((further.weight, further.base.state(further.recipe)) for further in beside),
        ]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

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

    @operation("guest", audit="search")
    def part(self, question: str, recipe: Recipe, weight: float = 1.0) -> Part:
        """Return the results of this base alone, before the cut to a prompt."""
        return self._part(question, self._snapshot(recipe), weight)

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
        explainer = Explainer(trace, alone, snapshot.corpus(), threshold, self.documents)
        explainer.permit_attribution = partial(self._limits.permit_recipe, recipe)
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
        labels_of, name = self.questions.labels_of, set_name or ""
        labels = labels_of(name, question, before.index), labels_of(name, question, after.index)
        traces = (self.search(question, before), self.search(question, after))
        return compare_retrievals(traces, recipes, labels, self.documents)

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
            stream = self._answers.answer(trace, recipe, index, examples)
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
        return self._answers.answer(trace, recipe, self._index(recipe), examples, history, goes_on)

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

    @operation("guest")
    def prompt(self, trace: Trace, recipe: Recipe) -> Prompt:
        """The exact prompt that a language model would get for a retrieval, and what it takes."""
        return self._answers.prompt(trace, recipe, self._index(recipe))

    @operation("viewer")
    def explain_quotes(self, trace: Trace, recipe: Recipe) -> QuotesExplanation | None:
        """Return the state of an answer of quotes, and why each passage is quoted or not.

        None where a model reads the passages.
        """
        return self._answers.explain_quotes(trace, recipe, self._index(recipe))

    @operation("guest", models="none")
    def unknown_words(self, trace: Trace, recipe: Recipe) -> tuple[str, ...]:
        """Return the key words of the question of a retrieval that no passage has, in order."""
        return self._answers.unknown_words(trace, self._index(recipe))

    @operation("guest", models="none")
    def threshold(self, recipe: Recipe) -> float | None:
        """The least relevance that a recipe asks for: ``auto`` as a number, None for no limit.

        Raises InvalidInput for a probability without a calibration.
        """
        return threshold_rule(self._services, self.id, recipe.index, recipe.search).threshold

    @operation("guest", models="none")
    def count_tokens(self, text: str, recipe: Recipe) -> int:
        """Length of a text as budgets count it: in tokens of the recipe's embedder."""
        return self._services.models.embedder(recipe.index.embedder).tokenizer.count(text)

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

    @operation("guest", models="none")
    def score_contributions(self, trace: Trace, recipe: Recipe) -> Mapping[int, ScoreContribution]:
        """Return the contributions of dense and lexical retrieval to each score, by passage key."""
        return score_contributions(trace, recipe.search)

    def _index(self, recipe: Recipe) -> Index:
        return self._services.indexes.current(self.id, recipe.index)


@dataclass(frozen=True, slots=True)
class FederatedBase:
    """A knowledge base that is searched beside another one, with the recipe it is searched by."""

    base: KnowledgeBase
    recipe: Recipe
    weight: float = 1.0
