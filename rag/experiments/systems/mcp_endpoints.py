"""Systems behind MCP servers, over streamable HTTP or as a process that ends with the work.

Source: https://modelcontextprotocol.io/specification, revision 2025-06-18. Requests obey the rules
of all addresses that users name, which clients of the protocol do not.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

from rag.errors import ProviderMisbehaved, ProviderRejected, ProviderUnavailable
from rag.experiments.systems.endpoints import HttpSystem, results_of_answer
from rag.experiments.systems.formats.shapes import LISTS, LONGEST_TEXT, TEXTS, TITLES
from rag.experiments.systems.formats.tables import Returned, ReturnedText
from rag.input_rules import storable
from rag.network import checked_client, unpacked_blocks
from rag.providers.http_tools import (
    MOST_BYTES,
    Exchange,
    body_for,
    checked_status,
    exchange,
    number_of,
    read_within,
    secret_headers,
)

if TYPE_CHECKING:
    import httpx

_TITLES = (*TITLES, "path", "url")
_IDS = ("id", "chunk_id", "document_id", "path", "url")
_SCORES = ("score", "relevance_score")
_LONGEST_NAME = 500
_LINK = re.compile(r"\[([^\]\n]{1,300})\]\(([^)\s]{1,1000})\)")
_ITEM = re.compile(r"^(?:#{1,6} |\d{1,3}[.)] |[-*] (?=\[|\*\*)|---+\s*$)", re.MULTILINE)


def recognised(content: Any) -> list[ReturnedText]:
    """Return the results in the content of a tool, in their order; a text is one result."""
    if isinstance(content, list) and all(isinstance(part, str) for part in content):
        parts = [_parsed(part) for part in content]
        content = parts[0] if len(parts) == 1 else parts
    if isinstance(content, str):
        return _of_markdown(content)
    items = _list_in(content)
    if items is None:
        items = [content] if isinstance(content, dict) and _text(content) else []
    results = []
    for item in items:
        if isinstance(item, str):
            results += _of_markdown(item)
        elif isinstance(item, dict):
            results.append(_of_object(item))
    return results


def whole_text(content: Any) -> str:
    """Return the text of a document in the content of a tool."""
    if isinstance(content, list) and all(isinstance(part, str) for part in content):
        text = "\n".join(content)
        content = _parsed(text)
    if isinstance(content, dict) and isinstance(content.get("result"), str):
        content = content["result"]
    if isinstance(content, str):
        return storable(content).strip()
    return "\n".join(result.text for result in recognised(content))


def _parsed(text: str) -> Any:
    """JSON in a text, or the text."""
    with_brackets = text.lstrip()[:1] in ("{", "[")
    try:
        return json.loads(text) if with_brackets else text
    except (ValueError, RecursionError):
        return text


def _list_in(content: Any) -> list[Any] | None:
    """Return the list of results: the content itself, by a usual name, or the only list."""
    if isinstance(content, list):
        return content
    if not isinstance(content, dict):
        return None
    for name in LISTS:
        if isinstance(content.get(name), list):
            return list(content[name])
    lists = [value for value in content.values() if isinstance(value, list) and value]
    if len(lists) == 1:
        return list(lists[0])
    inner = [value for value in content.values() if isinstance(value, dict | str)]
    if len(inner) == 1:
        value = _parsed(inner[0]) if isinstance(inner[0], str) else inner[0]
        if isinstance(value, str):
            return [value]
        return _list_in(value)
    return None


def _of_object(item: Mapping[str, Any]) -> ReturnedText:
    inner = item.get("document") or item.get("metadata")
    if isinstance(inner, dict):
        item = {**inner, **item}
    scores = (number_of(item.get(name)) for name in _SCORES)
    return ReturnedText(
        text=_text(item)[:LONGEST_TEXT],
        score=next((score for score in scores if score is not None), None),
        id=_first(item, _IDS)[:_LONGEST_NAME],
        title=_first(item, _TITLES)[:_LONGEST_NAME],
    )


def _text(item: Mapping[str, Any]) -> str:
    """Return what has a usual name of a text, or the longest one that no other field is named by.

    The results of 13 public search tools have a text by it, and 11 by names alone.
    """
    rest = [
        value
        for name, value in item.items()
        if isinstance(value, str) and " " in value.strip() and name not in (*_TITLES, *_IDS)
    ]
    return _first(item, TEXTS) or storable(max(rest, key=len, default="")).strip()


def _first(item: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = item.get(name)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = "\n".join(value)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return storable(str(value)).strip()
    return ""


def _of_markdown(text: str) -> list[ReturnedText]:
    """Return the items of a Markdown list, or sections; the whole text where there are none."""
    marks = [(match.start(), _kind(match[0])) for match in _ITEM.finditer(text)]
    # Texts have headings and lists of their own: those of the results are like the first.
    starts = [start for start, kind in marks if kind == marks[0][1]]
    blocks = [text[start:end] for start, end in zip(starts, [*starts[1:], None], strict=False)]
    results = list(_of_blocks(blocks or [text]))
    return results or list(_of_blocks([text]))


def _kind(mark: str) -> str:
    """Return the kind of a mark that begins an item: its level or sign, whatever its number."""
    return "1" if mark[0].isdigit() else mark.strip()


def _of_blocks(blocks: list[str]) -> Iterator[ReturnedText]:
    for block in blocks:
        head, _, rest = block.strip().strip("-").strip().partition("\n")
        link = _LINK.search(block)
        title = link.group(1) if link else _ITEM.sub("", head, count=1).strip("*# ")
        text = storable(rest.strip() or ("" if link else head)).strip()
        if text or link:
            yield ReturnedText(
                text=text[:LONGEST_TEXT],
                id=link.group(2)[:_LONGEST_NAME] if link else "",
                title=storable(title)[:_LONGEST_NAME],
            )


_REVISION = "2025-06-18"
_CLIENT = {"name": "touchstone", "version": "1"}
_JSON, _EVENTS = "application/json", "text/event-stream"


def ask_mcp(
    system: HttpSystem, question: str, variables: Mapping[str, str], *, allow_private: bool
) -> Returned:
    """Ask a server one question: search, then fetch for each result without a text.

    All of it takes ``system.seconds`` at most. Raises as ``ask`` of endpoints.
    """
    secrets = secret_headers(system, variables)
    plain = {"User-Agent": "Touchstone", "Accept": f"{_JSON}, {_EVENTS}"}
    deadline = time.monotonic() + system.seconds
    with checked_client(
        plain, allow_private=allow_private, deadline=deadline, timeout=system.seconds
    ) as client:
        session = _HttpSession(system, client=client, secrets=secrets)
        session.begin()
        return ask_session(session, question)


def ask_session(session: Session, question: str) -> Returned:
    """Ask a server that a session was begun with one question. Raises as ``ask_mcp``."""
    system = session.system
    arguments = json.loads(body_for(system, question) or b"{}")
    content = session.call(system.tool, arguments)
    if system.recognised:
        texts = recognised(content)[: system.most]
    else:
        texts = results_of_answer(system, session.json_of(system.tool, content))
    if system.fetch:
        texts = [_fetched(session, text) if not text.text else text for text in texts]
    return Returned(question, tuple(texts))


def _fetched(session: Session, result: ReturnedText) -> ReturnedText:
    """Return a result with the text that its server has for its id; without an id, as it is."""
    system = session.system
    if not result.id:
        return result
    answer = session.call(system.fetch, {system.fetch_argument: result.id})
    if system.recognised:
        return replace(result, text=whole_text(answer))
    answer = session.json_of(system.fetch, answer)
    found = answer.get("text") if isinstance(answer, dict) else None
    return replace(result, text=storable(found).strip()) if isinstance(found, str) else result


@dataclass(slots=True)
class Session(ABC):
    """The requests to a server; a transport sends them."""

    system: HttpSystem
    revision: str = ""
    number: int = 0

    def begin(self) -> None:
        """Agree on a revision of the protocol, as a client must before it calls a tool."""
        parameters = {
            "protocolVersion": _REVISION,
            "capabilities": {},
            "clientInfo": _CLIENT,
        }
        result = self._request("initialize", parameters)
        revision = result.get("protocolVersion")
        if not isinstance(revision, str):
            raise ProviderMisbehaved(
                f"The {self.system.label} is not an MCP server: it names no protocol version.",
                "Check its address, which often ends in /mcp.",
            )
        self.revision = storable(revision)[:20]
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    @abstractmethod
    def _send(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a message; return the response to it, {} to a notification."""

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool; return its structured content, or the texts of its content."""
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        content = result.get("content")
        texts = [
            item["text"]
            for item in (content if isinstance(content, list) else ())
            if isinstance(item, dict) and isinstance(item.get("text"), str)
        ]
        text = "\n".join(texts)
        if result.get("isError"):
            raise ProviderRejected(
                f"The tool {tool} of the {self.system.label} answers with an error: "
                f"{storable(text)[:200] or 'no reason'}",
                "Check its arguments, and the rights of its key.",
            )
        if isinstance(result.get("structuredContent"), dict):
            return result["structuredContent"]
        return texts

    def json_of(self, tool: str, content: Any) -> Any:
        """Return the structured content of a tool, or the JSON of its texts."""
        if isinstance(content, dict):
            return content
        try:
            return json.loads("\n".join(content))
        except (ValueError, RecursionError) as error:
            raise ProviderMisbehaved(
                f"The tool {tool} of the {self.system.label} did not answer with JSON.",
                "It must answer in the form of search and fetch: {“results”: [{“id”, “title”}]}.",
            ) from error

    def _request(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        self.number += 1
        sent = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}
        answer = self._send(sent)
        error = answer.get("error")
        if isinstance(error, dict):
            message = storable(str(error.get("message") or "no reason"))[:200]
            raise ProviderRejected(
                f"The {self.system.label} answers {method} with an error: {message}",
                "Check its address, and whether it has the tools search and fetch.",
            )
        result = answer.get("result")
        if not isinstance(result, dict):
            raise ProviderMisbehaved(
                f"The {self.system.label} did not answer {method}.",
                "Check its address, which often ends in /mcp.",
            )
        return result


@dataclass(slots=True)
class _HttpSession(Session):
    """The requests of one question. ``received`` counts the bytes of all answers."""

    client: httpx.Client = field(kw_only=True)
    secrets: Mapping[str, str] = field(kw_only=True)
    id: str = ""
    received: int = 0

    def _send(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a message; return the response to it, {} to a notification."""
        headers = {"Mcp-Session-Id": self.id} if self.id else {}
        if self.revision:
            headers["MCP-Protocol-Version"] = self.revision
        request = Exchange("POST", self.system.url, json.dumps(message).encode(), headers)
        number = message.get("id")

        def read(response: httpx.Response) -> dict[str, Any]:
            checked_status(self.system, response)
            self.id = self.id or response.headers.get("mcp-session-id", "")[:500]
            if number is None:
                return {}
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == _EVENTS:
                return self._event(response, number)
            return self._message(read_within(self.system, response, self._room, (_JSON,)), number)

        return exchange(self.client, self.system, request, self.secrets, read)

    @property
    def _room(self) -> int:
        return MOST_BYTES - self.received

    def _message(self, data: bytes, number: int) -> dict[str, Any]:
        self.received += len(data)
        try:
            message = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ProviderMisbehaved(
                f"The {self.system.label} did not answer with JSON.", "Check its address."
            ) from error
        is_response = isinstance(message, dict) and message.get("id") == number
        return message if is_response else {}

    def _event(self, response: httpx.Response, number: int) -> dict[str, Any]:
        """Read events until the response: the stream may stay open after it."""
        for data in self._data(response):
            if message := self._message(data, number):
                return message
        return {}

    def _data(self, response: httpx.Response) -> Iterator[bytes]:
        """Generate the data of events."""
        pending, data = bytearray(), list[bytes]()
        for block in unpacked_blocks(response):
            pending += block
            if len(pending) + sum(map(len, data)) > self._room:
                raise ProviderMisbehaved(
                    f"The response of the {self.system.label} is larger than "
                    f"{MOST_BYTES / 1e6:.0f} MB.",
                    "Request fewer or shorter results.",
                )
            *lines, rest = bytes(pending).replace(b"\r\n", b"\n").split(b"\n")
            pending = bytearray(rest)
            for line in lines:
                if line.startswith(b"data:"):
                    data.append(line[5:].removeprefix(b" "))
                elif not line and data:
                    yield b"\n".join(data)
                    data.clear()


_START_SECONDS = 120.0  # a command may install itself first
_MOST_MEMORY = 4 << 30  # bytes of data of the process
_MOST_LINES = 16  # that wait to be looked at: a process may print without end


@contextlib.contextmanager
def started(
    system: HttpSystem,
    variables: Mapping[str, str],
    usual: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[ProcessSession]:
    """Start the command of a system, and agree with it on the protocol; end it afterwards.

    It gets the ``usual`` variables, and those of ``variables`` that its definition names.
    Raises ProviderRejected where it cannot start, and what its answers raise.
    """
    environment = dict(usual)
    for name, variable in system.env.items():
        if not variables.get(variable):
            raise ProviderRejected(
                f"The {system.label} needs {variable}, which is not set.",
                "Set it in the environment of the server and start it again.",
            )
        environment[name] = variables[variable]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                shlex.split(system.command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ProviderRejected(
                f"The command of the {system.label} cannot start: {error}.",
                "Check that it is installed, and give its whole path.",
            ) from error
        try:
            _limit_memory(process.pid)
            session = ProcessSession(system, process=process, complaints=complaints)
            session.deadline = time.monotonic() + _START_SECONDS
            session.begin()
            yield session
        finally:
            _end(process)


def _limit_memory(pid: int) -> None:
    """Limit the data of a process, where the system can: what it forks has the same limit."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        resource.prlimit(pid, resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started."""
    with contextlib.suppress(OSError):
        if process.stdin:
            process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()


@dataclass(slots=True)
class ProcessSession(Session):
    """The requests to a process: one JSON object a line. ``deadline`` is that of a question."""

    process: subprocess.Popen[bytes] = field(kw_only=True)
    complaints: BinaryIO = field(kw_only=True)
    deadline: float = 0.0
    _lines: queue.Queue[bytes] = field(default_factory=lambda: queue.Queue(_MOST_LINES))

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, question: str) -> Returned:
        """Ask one question within the seconds of the system. Raises ProviderError."""
        self.deadline = time.monotonic() + self.system.seconds
        return ask_session(self, question)

    def _read(self) -> None:
        """Take lines until the process ends, no faster than they are looked at."""
        stream = self.process.stdout
        with contextlib.suppress(OSError, ValueError):
            while stream and (line := stream.readline(MOST_BYTES + 1)):
                while not self._took(line):
                    if self.process.poll() is not None:
                        return
        self._took(b"")

    def _took(self, line: bytes) -> bool:
        try:
            self._lines.put(line, timeout=1.0)
        except queue.Full:
            return False
        return True

    def _send(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            if self.process.stdin:
                self.process.stdin.write(json.dumps(message).encode() + b"\n")
                self.process.stdin.flush()
        except OSError as error:
            raise self._ended() from error
        if (number := message.get("id")) is None:
            return MappingProxyType({})
        while (left := self.deadline - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=left)
            except queue.Empty:
                break
            if not line:
                raise self._ended()
            if len(line) > MOST_BYTES:
                raise ProviderMisbehaved(
                    f"The {self.system.label} answers with more than {MOST_BYTES:,} bytes.",
                    "Ask it for fewer results.",
                )
            with contextlib.suppress(ValueError, RecursionError):  # a log line
                answer = json.loads(line)
                if isinstance(answer, dict) and answer.get("id") == number:
                    return answer
        raise ProviderUnavailable(
            f"The {self.system.label} did not answer in time.",
            "Give it more seconds, or ask it for fewer results.",
        )

    def _ended(self) -> ProviderUnavailable:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        self.complaints.seek(0)
        last = self.complaints.read()[-400:].decode("utf-8", "replace").strip()
        reason = storable(last.splitlines()[-1]) if last else "no reason"
        return ProviderUnavailable(
            f"The command of the {self.system.label} ended: {reason}",
            "Run the command in a terminal to see what it needs.",
        )
