"""Routing of questions that documents do not answer, by a model: tools or general knowledge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from rag.answering.asking.listening import Listener
from rag.answering.asking.objects import objects
from rag.answering.asking.prompt import Beside
from rag.errors import validation_words
from rag.fences import fenced, mark, neutral
from rag.types import Hit, Message

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
