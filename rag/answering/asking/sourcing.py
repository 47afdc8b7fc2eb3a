"""Sources of an answer: passages, the result of a tool, or general knowledge.

A model decides on questions that the documents do not answer, in JSON amid other words.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from rag.answering.asking.prompt import Beside
from rag.answering.asking.speech import Listener
from rag.answering.refusal import refusal
from rag.errors import TouchstoneError, validation_words
from rag.fences import fenced, mark, neutral
from rag.recipe import AnswerRecipe
from rag.types import Decision, DecisionStep, Delta, Hit, Message, Stage, Trace

_DECODER = json.JSONDecoder(strict=False)  # models break lines within strings
_MOST_TRIES = 100
"""So many places where an object may begin: each is read up to where it goes wrong."""


def objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects of a text in order of their beginnings, those within others too."""
    for match in itertools.islice(re.finditer(r"\{", text), _MOST_TRIES):
        try:
            yield _DECODER.raw_decode(text, match.start())[0]
        except (ValueError, RecursionError):  # json.JSONDecodeError, or a figure of many digits
            continue


LONGEST_QUESTION = 400
MOST_TOKENS = 300
_Question = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_QUESTION)
]

# With a constraint, half of a character is no text.
_Words = Annotated[str, StringConstraints(strip_whitespace=True)]


@dataclass(frozen=True, slots=True)
class AnswerTool:
    """A tool that a model may call with a question. ``ask`` raises TouchstoneError."""

    name: str
    description: str
    ask: Callable[[str], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class Tried:
    """A call that gave nothing, and why."""

    tool: str
    question: str
    problem: str


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    question: _Question


class ToolCall(BaseModel):
    """The choice of a tool."""

    model_config = ConfigDict(extra="forbid", strict=True)

    use: Literal["tool"]
    tool: str
    arguments: _Arguments
    why: _Words = ""


class Knowledge(BaseModel):
    """The choice of general knowledge."""

    model_config = ConfigDict(extra="forbid", strict=True)

    use: Literal["knowledge"]
    why: _Words = ""


Choice = ToolCall | Knowledge
_CHOICE: TypeAdapter[Choice] = TypeAdapter(Annotated[Choice, Field(discriminator="use")])


class Unreadable(ValueError):
    """A reply that is no choice, and why."""


def choose(
    question: str,
    tools: Sequence[AnswerTool],
    tried: Sequence[Tried],
    listener: Listener,
    beside: Beside,
) -> Choice:
    """Return the model's choice, after at most one repair of an invalid reply.

    Raises Unreadable if the second reply is invalid too, and ProviderError.
    """
    contents = [message.content for message in beside.history]
    key = mark(question, *contents, *(one.problem for one in tried))
    listed = "\n".join(
        f"- {tool.name}: {tool.description or 'a service that is asked a question'}"
        for tool in tools
    )
    rules = beside.wording.filled("decide", mark=key, tools=listed)
    parts = [
        *(
            fenced(f"turn-{key}", message.content, f'by="{message.role}"')
            for message in beside.history
        ),
        *(
            f"Asked already, without result: {one.tool}, {neutral(one.question)!r}\n"
            + fenced(f"result-{key}", one.problem)
            for one in tried
        ),
        f"Question: {neutral(question)}",
    ]
    messages = [Message("system", rules), Message("user", "\n\n".join(parts))]
    reply = listener.hear(messages, MOST_TOKENS)
    try:
        return read_choice(reply, tools, tried)
    except Unreadable as problem:
        again = f"That cannot be used: {problem}. Reply with one JSON object in one of the forms."
        repaired = [*messages, Message("assistant", reply), Message("user", again)]
        return read_choice(listener.hear(repaired, MOST_TOKENS), tools, tried)


def read_choice(reply: str, tools: Sequence[AnswerTool], tried: Sequence[Tried]) -> Choice:
    """The choice in a reply, checked against the tools that there are. Raises Unreadable."""
    try:
        # The first JSON object in a reply, which may stand between other words
        parsed = next(objects(reply), None)
        if parsed is None:
            raise Unreadable("there is no JSON object")
        choice = _CHOICE.validate_python(parsed)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Unreadable(f"{where or 'the object'}: {validation_words(first)}") from error
    if isinstance(choice, Knowledge):
        return choice
    names = [tool.name for tool in tools]
    if choice.tool not in names:
        raise Unreadable(f"there is no tool {choice.tool!r}, only {', '.join(names)}")
    if any((one.tool, one.question) == (choice.tool, choice.arguments.question) for one in tried):
        raise Unreadable(f"{choice.tool} was asked this already and gave nothing")
    return choice


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
