"""Sources of an answer: passages, the result of a tool, or general knowledge."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag.answering.asking.listening import Listener
from rag.answering.asking.prompt import Beside
from rag.answering.asking.routing import AnswerTool, Knowledge, Tried, Unreadable, choose
from rag.answering.refusal import refusal
from rag.errors import TouchstoneError
from rag.recipe import AnswerRecipe
from rag.types import Decision, DecisionStep, Delta, Hit, Stage, Trace


class Sourcing:
    """Settles the mode of one answer, and the hits that it may cite.

    ``decisions`` has each choice; ``trace`` gets a stage for each call of a tool.
    ``asked`` says that the model was asked to decide.
    """

    def __init__(
        self,
        trace: Trace,
        recipe: AnswerRecipe,
        listener: Listener,
        beside: Beside,
        tools: Sequence[AnswerTool],
        decisions: list[Decision],
    ) -> None:
        self.trace, self._recipe, self._listener = trace, recipe, listener
        self._beside, self._tools, self._decisions = beside, tools, decisions
        self.mode: str = recipe.mode
        self.hits: tuple[Hit, ...] = trace.context
        self.asked = False

    def _decide(self, step: DecisionStep, chosen: str, why: str, *, failed: bool = False) -> None:
        self._decisions.append(Decision(step, chosen, why, failed))

    def settle(self) -> Iterator[Delta]:
        """Decides; empty deltas between its steps, so that a caller can stop it."""
        if self.mode == "balanced" and not self.hits:
            self.mode = "general"
            self._decide("sources", "general knowledge", _nothing(self.trace))
        elif self.mode == "general":
            self.hits = ()
        elif self.mode == "auto" and self.hits:
            self.mode = "strict"
            self._decide("sources", "passages", _reached(self.trace))
        elif self.mode == "auto":
            yield from self._tool_or_knowledge()

    def _tool_or_knowledge(self) -> Iterator[Delta]:
        self.mode, why = "general", _nothing(self.trace)
        calls = self._recipe.tool_calls if self._tools else 0
        if not calls:
            reason = "no tool may be called" if not self._tools else "no call of a tool is allowed"
            self._decide("sources", "general knowledge", f"{why}; {reason}")
            return
        tried = list[Tried]()
        while len(tried) < calls:
            yield Delta()
            self.asked = True
            try:
                choice = choose(
                    self.trace.question, self._tools, tried, self._listener, self._beside
                )
            except Unreadable as error:
                complaint = f"the model's decision cannot be used: {error}"
                self._decide("sources", "general knowledge", f"{why}; {complaint}", failed=True)
                return
            if isinstance(choice, Knowledge):
                self._decide("sources", "general knowledge", f"{why}; {choice.why or 'no reason'}")
                return
            tool, question = choice.tool, choice.arguments.question
            self._decide("sources", f"tool {tool}", f"{why}; {choice.why or 'no reason'}")
            yield Delta()
            problem = self._called(tool, question)
            if not problem:
                return
            tried.append(Tried(tool, question, problem))
        times = "once" if calls == 1 else f"{calls} times"
        self._decide("sources", "general knowledge", f"tools were called {times}, without a result")

    def _called(self, name: str, question: str) -> str:
        """Calls a tool; why it gave nothing, or "" with its results as what is cited."""
        tool = next(candidate for candidate in self._tools if candidate.name == name)
        started, hits, problem = time.perf_counter(), tuple[Hit, ...](), ""
        try:
            hits = tuple(tool.ask(question))
            problem = "" if hits else f"{name} returned nothing"
        except TouchstoneError as error:
            problem = error.message
        seconds = time.perf_counter() - started
        summary = f"asked “{question}”: " + (problem or f"{len(hits)} results" * (len(hits) != 1))
        summary = summary if problem or len(hits) != 1 else f"asked “{question}”: 1 result"
        self._decide("tool", name, summary, failed=bool(problem))
        failed = bool(problem) and not problem.endswith("found nothing")
        stage = Stage("tool", 0, len(hits), (), seconds, problem or f"{name}, {summary}", failed)
        self.trace = replace(self.trace, stages=(*self.trace.stages, stage))
        if hits:
            self.mode, self.hits = "tool", hits
        return problem


def _reached(trace: Trace) -> str:
    best = max(hit.relevance for hit in trace.context)
    if trace.threshold is None:
        return f"there is no threshold; the best passage has a relevance of {best:.2f}"
    if best < trace.threshold:
        return "a passage passes the threshold by its words"
    return f"the best passage has a relevance of {best:.2f}, the threshold is {trace.threshold:.2f}"


def _nothing(trace: Trace) -> str:
    """Return the reason why there is no passage to answer from."""
    return refusal(trace)[1]
