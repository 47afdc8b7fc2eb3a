"""HTTP tools: their definition, their request, and the results in its response.

Definition of an HTTP tool: its request, and the results in its response.

JMESPath expressions say where those are. Whatever the results say is data.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar
from urllib.parse import quote, urlsplit

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

from rag.errors import (
    InvalidInput,
    ProviderMisbehaved,
    ProviderRejected,
    ProviderUnavailable,
    TouchstoneError,
    validation_words,
)
from rag.input_rules import why_not_json
from rag.network import TooLarge, body_of, checked_client, checked_url, failures

if TYPE_CHECKING:
    import httpx


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


Answer = TypeVar("Answer")

MOST_BYTES = 5_000_000
_REDIRECTS = 3
_AGENT = "Touchstone (asks services that its users name)"
_REPEATED = {307, 308}  # redirects that keep method and body


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """``results`` in the service's order; ``empty`` counts those that had no text."""

    results: tuple[ToolResult, ...]
    empty: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request; ``headers`` go to the first server only."""

    method: str
    url: str
    content: bytes | None
    headers: Mapping[str, str] = field(default_factory=dict)


def call(
    tool: HttpTool, question: str, variables: Mapping[str, str], *, allow_private: bool
) -> ToolOutcome:
    """Ask a tool. ``variables`` has the environment variables that its headers name.

    Raises BlockedAddress, and ProviderError: unavailable (refused, timed out, 5xx), rejected (4xx,
    a variable is not set), misbehaved (no JSON, nothing at its paths, too large).
    """
    started = time.monotonic()
    data = answer_of(tool, question, variables, allow_private=allow_private)
    results, empty = parse_results(tool, data)
    return ToolOutcome(tuple(results), empty, time.monotonic() - started)


def answer_of(
    tool: HttpTool, question: str, variables: Mapping[str, str], *, allow_private: bool
) -> bytes:
    """The body of the answer. Raises what ``call`` raises, except for the contents of the body."""
    secrets = secret_headers(tool, variables)
    request = Exchange(tool.method, url_for(tool, question), body_for(tool, question))
    plain = {"User-Agent": _AGENT, "Accept": "application/json"}
    deadline = time.monotonic() + tool.seconds
    with checked_client(
        plain, allow_private=allow_private, deadline=deadline, timeout=tool.seconds
    ) as client:
        return exchange(client, tool, request, secrets, partial(_received, tool))


def url_for(tool: HttpTool, question: str) -> str:
    """The address with the question as one percent-encoded piece (RFC 3986).

    Raises ProviderRejected for a piece of the path that would mean another one: no encoding keeps
    servers from taking dots for a step up.
    """
    piece = quote(question, safe="", errors="replace")
    for part in urlsplit(tool.url).path.split("/"):
        if QUESTION in part and part.replace(QUESTION, piece) in (".", ".."):
            raise ProviderRejected(
                f"The {tool.label} needs a question with words.", "Ask in words."
            )
    return tool.url.replace(QUESTION, piece)


def body_for(tool: HttpTool, question: str) -> bytes | None:
    """The body as JSON; the question goes into its strings, so no sign of it is syntax."""
    if tool.method != "POST":
        return None
    content = json.loads(tool.body) if tool.body else {}
    return json.dumps(_filled(content, question)).encode()


def _filled(content: Any, question: str) -> Any:
    if isinstance(content, dict):
        return {name: _filled(value, question) for name, value in content.items()}
    if isinstance(content, list):
        return [_filled(value, question) for value in content]
    return content.replace(QUESTION, question) if isinstance(content, str) else content


def secret_headers(tool: HttpTool, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a tool with their values. Raises ProviderRejected for unset ones."""
    headers = {}
    for name, value in tool.headers.items():
        match = SECRET.fullmatch(value)
        if match is None:  # a field of a user
            headers[name] = value
            continue
        scheme, variable = match.groups()
        secret = variables.get(variable, "")
        if not secret:
            raise ProviderRejected(
                f"The {tool.label} needs {variable}, which is not set.",
                "Set it in the environment of the server and start it again.",
            )
        if not (secret.isascii() and secret.isprintable()):
            raise ProviderRejected(
                f"{variable} has characters that are not allowed in a header.",
                "Set it again without them.",
            )
        headers[name] = f"{scheme} {secret}" if scheme else secret
    return headers


def exchange(
    client: httpx.Client,
    tool: HttpTool,
    request: Exchange,
    secrets: Mapping[str, str],
    read: Callable[[httpx.Response], Answer],
) -> Answer:
    """Send a request, follow its redirects, and read the last response.

    What is secret goes to the first server only. Raises what ``call`` and ``read`` raise.
    """
    import httpx

    first = httpx.URL(request.url)
    for _ in range(_REDIRECTS + 1):
        target = httpx.URL(request.url)
        same = (target.scheme, target.host, target.port) == (first.scheme, first.host, first.port)
        headers = {**secrets, **request.headers} if same else {}
        if request.content is not None:
            headers["Content-Type"] = "application/json"
        with (
            _translated(tool),
            client.stream(
                request.method, request.url, content=request.content, headers=headers
            ) as response,
        ):
            if not response.has_redirect_location:
                return read(response)
            request = _redirected(request, response)
    raise ProviderMisbehaved(
        f"The {tool.label} redirects more than {_REDIRECTS} times.", "Check its address."
    )


def _redirected(request: Exchange, response: httpx.Response) -> Exchange:
    url = checked_url(str(response.url.join(response.headers["location"])))
    if response.status_code in _REPEATED:
        return replace(request, url=url)
    return Exchange("GET", url, None)


def _received(tool: HttpTool, response: httpx.Response) -> bytes:
    checked_status(tool, response)
    return read_within(tool, response, MOST_BYTES, ("text/plain",))


def checked_status(tool: HttpTool, response: httpx.Response) -> None:
    """Raise ProviderUnavailable or ProviderRejected for a status other than success."""
    status = response.status_code
    if not response.is_success:
        message = f"The {tool.label} answers {status} {response.reason_phrase[:80]}".rstrip() + "."
        if status >= 500 or status == 429:
            header = response.headers.get("retry-after", "")
            wait = float(header) if header.isdecimal() and len(header) < 10 else None
            raise ProviderUnavailable(message, "Try again later.", wait)
        raise ProviderRejected(message, "Check its address, its headers and its body.")


def read_within(
    tool: HttpTool, response: httpx.Response, most: int, media_types: Collection[str]
) -> bytes:
    """The body of a response with JSON, or of one of these types. Raises ProviderMisbehaved."""
    import httpx

    kind_of = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind_of and not (kind_of.endswith(("/json", "+json")) or kind_of in media_types):
        raise ProviderMisbehaved(
            f"The {tool.label} returned {kind_of[:80]} instead of JSON.", "Check its address."
        )
    try:
        return body_of(response, most)
    except TooLarge as error:
        raise ProviderMisbehaved(
            f"The response of the {tool.label} is larger than {MOST_BYTES / 1e6:.0f} MB.",
            "Request fewer or shorter results.",
        ) from error
    except httpx.DecodingError as error:
        raise ProviderMisbehaved(
            f"The answer of the {tool.label} cannot be unpacked ({error}).",
            "Make it respond without compression, or with gzip once.",
        ) from error


@contextmanager
def _translated(tool: HttpTool) -> Iterator[None]:
    import httpcore
    import httpx

    try:
        yield
    except (httpx.TimeoutException, httpcore.TimeoutException) as error:
        raise ProviderUnavailable(
            f"The {tool.label} did not answer within {tool.seconds:g} s.",
            "Try again later, or allow more time.",
        ) from error
    except failures(InvalidInput) as error:  # or a redirect to what is no address
        raise ProviderUnavailable(
            f"The {tool.label} cannot be reached ({type(error).__name__}).",
            "Check its address, and whether it runs.",
        ) from error
