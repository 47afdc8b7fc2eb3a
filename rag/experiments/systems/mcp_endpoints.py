"""Systems behind MCP servers: a tool that searches and one that fetches, over streamable HTTP.

Source: https://modelcontextprotocol.io/specification, revision 2025-06-18. Requests obey the rules
of all addresses that users name, which clients of the protocol do not.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rag.errors import ProviderMisbehaved, ProviderRejected
from rag.experiments.systems.endpoints import HttpSystem, results_of_answer
from rag.experiments.systems.recognised import recognised, whole_text
from rag.experiments.systems.returned import Returned, ReturnedText
from rag.input_rules import storable
from rag.network.requests import checked_client, unpacked_blocks
from rag.providers.http_tools.calling import (
    MOST_BYTES,
    Exchange,
    body_for,
    checked_status,
    exchange,
    read_within,
    secret_headers,
)

if TYPE_CHECKING:
    import httpx

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
