"""Definition of an HTTP tool: its request, and the results in its response.

JMESPath expressions say where those are. Whatever the results say is data.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

import jmespath
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from rag.errors import InvalidInput, ProviderMisbehaved, TouchstoneError, validation_words
from rag.input_rules import why_not_json
from rag.network.requests import checked_url

QUESTION = "{question}"
VARIABLE = re.compile(r"TOUCHSTONE_TOOL_[A-Z0-9_]+")
SECRET = re.compile(r"(?:(Bearer|Token|Basic|ApiKey) )?(TOUCHSTONE_TOOL_[A-Z0-9_]+)")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_FRAMING = {"host", "content-length", "transfer-encoding", "connection", "content-type"}
_ELSEWHERE = "touchstone-question"  # where the question would stand


def _path(text: str) -> str:
    text = text.strip()
    if text:
        try:
            jmespath.compile(text)
        except (jmespath.exceptions.JMESPathError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(
                f"“{text}” is not a JMESPath expression, such as data.results ({reason})"
            ) from error
    return text


Path = Annotated[str, AfterValidator(_path)]

_MESSAGES = {"string_pattern_mismatch": "use up to 40 letters, digits, hyphens and underscores"}


class HttpTool(BaseModel):
    """A named HTTP service. Holds names of variables, never their values.

    ``{question}`` stands in the path or query of ``url``, or in strings of ``body``, which is
    JSON. ``headers`` map a header to ``[Bearer ]TOUCHSTONE_TOOL_NAME``: the environment variable
    that has its value. The other texts are JMESPath expressions (https://jmespath.org):
    ``results`` on the answer, "" for the answer itself, the rest on one result.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    noun: ClassVar[str] = "tool"

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")
    url: str = Field(min_length=1, max_length=2000)
    method: Literal["GET", "POST"] = "GET"
    body: str = Field("", max_length=20_000)
    headers: dict[str, str] = Field(default_factory=dict)
    results: Path = ""
    text: Path = Field("text", min_length=1)
    title: Path = ""
    link: Path = ""
    score: Path = ""
    most: int = Field(10, ge=1, le=50, description="maximum number of results of a response")
    description: str = Field(
        "", max_length=300, description="its purpose, shown to the language model"
    )
    seconds: float = Field(10.0, gt=0, le=60, description="longest wait for an answer")

    @classmethod
    def parse(cls, data: Any) -> Self:
        """Raise InvalidInput that names the field."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "as a whole"
            reason = _MESSAGES.get(first["type"], validation_words(first))
            raise InvalidInput(
                f"The {cls.noun}, {where}: {reason}.", "Correct it and try again."
            ) from None

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{self.noun} {self.name}"

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that its headers name."""
        matches = (SECRET.fullmatch(value) for value in self.headers.values())
        return tuple(dict.fromkeys(match.group(2) for match in matches if match))

    @field_validator("url")
    @classmethod
    def _fixed_server(cls, url: str) -> str:
        url = url.strip()
        if not url and "command" in cls.model_fields:  # a system without an address
            return url
        try:
            filled = checked_url(url.replace(QUESTION, _ELSEWHERE))
        except TouchstoneError as error:
            raise ValueError(f"{error.message} {error.hint}".strip(" .")) from error
        server = urlsplit(filled).netloc
        if _ELSEWHERE in server or "{" in server:
            raise ValueError("the question may not name the server")
        return url

    @field_validator("body")
    @classmethod
    def _is_json(cls, body: str) -> str:
        if body.strip():
            try:
                json.loads(body)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"the body is not JSON: {why_not_json(error)}") from error
        return body.strip()

    @field_validator("headers")
    @classmethod
    def _names_only(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _HEADER.fullmatch(name) or name.lower() in _FRAMING:
                raise ValueError(f"“{name}” is not a header that can be set")
            if not SECRET.fullmatch(value):  # it may be a secret: it is not repeated
                raise ValueError(
                    f"the value of {name} must be the name of an environment variable that begins "
                    "with TOUCHSTONE_TOOL_, after Bearer where the service wants that"
                )
        return headers

    @model_validator(mode="after")
    def _asks(self) -> HttpTool:
        if self.method == "GET" and self.body:
            raise ValueError("a GET request has no body; use POST")
        if QUESTION not in self.url + self.body:
            raise ValueError(
                "neither url nor body has {question}, so the question would not be sent"
            )
        return self


def compiled(path: str) -> Callable[[Any], Any]:
    """Compile an expression: None for "", and for data it can't be applied to.

    Raises InvalidInput.
    """
    if not path:
        return lambda _value: None
    try:
        expression = jmespath.compile(path)
    except (jmespath.exceptions.JMESPathError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"“{path[:100]}” is not a JMESPath expression.", "See https://jmespath.org."
        ) from error

    def search(value: Any) -> Any:
        try:
            return expression.search(value)
        except (jmespath.exceptions.JMESPathError, RecursionError):
            return None

    return search


LONGEST_TEXT = 8_000  # characters of one result
LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class ToolResult:
    """``url`` is http or https or ""; ``score`` is the service's own, None where it gives none."""

    text: str
    title: str
    url: str
    score: float | None


def parse_results(tool: HttpTool, data: bytes) -> tuple[list[ToolResult], int]:
    """The first ``tool.most`` results, in the service's order, and how many had no text.

    What comes twice counts once.

    Raises ProviderMisbehaved for what is not JSON, or has nothing where the results should be.
    """
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _misbehaved(tool, "did not answer with JSON") from error
    values = _at(tool, tool.results or "@", answer)
    if isinstance(values, Mapping) and tool.results:
        values = [values]
    if not isinstance(values, list):
        where = f"at “{tool.results}”" if tool.results else "at its top"
        has = f"It has: {', '.join(map(str, answer))[:200]}." if isinstance(answer, dict) else ""
        raise _misbehaved(tool, f"answered without a list of results {where}", has)
    results = [_result(tool, item) for item in values[: tool.most]]
    with_text = [result for result in results if result.text]
    if results and not with_text:
        raise _misbehaved(tool, f"answered results that have no text at “{tool.text}”")
    distinct: dict[tuple[str, str, str], ToolResult] = {}
    for result in with_text:
        distinct.setdefault((result.url, result.title, result.text), result)
    return list(distinct.values()), len(results) - len(with_text)


def _result(tool: HttpTool, item: Any) -> ToolResult:
    url = _words(_at(tool, tool.link, item)).strip() if tool.link else ""
    title = " ".join(_words(_at(tool, tool.title, item)).split()) if tool.title else ""
    return ToolResult(
        text=_words(_at(tool, tool.text, item)).strip()[:LONGEST_TEXT],
        title=title[:LONGEST_TITLE],
        url=url if url.lower().startswith(("http://", "https://")) and len(url) <= 2000 else "",
        score=number_of(_at(tool, tool.score, item)) if tool.score else None,
    )


def _at(tool: HttpTool, path: str, data: Any) -> Any:
    try:
        return jmespath.search(path, data)
    except (jmespath.exceptions.JMESPathError, RecursionError) as error:
        raise _misbehaved(tool, f"answered what “{path}” cannot be applied to") from error


def _words(value: Any) -> str:
    """Text of a string, of a number, or of a list of strings; else ""."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_words, value)))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).replace("\0", "").encode("utf-8", "replace").decode()


def number_of(value: Any) -> float | None:
    """Return a finite number, also from its text; else None."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None


def _misbehaved(tool: HttpTool, what: str, more: str = "") -> ProviderMisbehaved:
    hint = "Test the tool, and compare its paths with the answer."
    return ProviderMisbehaved(f"The tool {tool.name} {what}.", f"{more} {hint}".strip())
