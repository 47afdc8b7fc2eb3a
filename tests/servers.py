"""A local HTTP server that answers what a test tells it to, and keeps what it was asked."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """A handler that reads bodies whole, answers with their length, and writes no log."""

    def respond(self) -> None:
        """Answer a request, whatever its method is."""
        raise NotImplementedError

    def do_GET(self) -> None:
        self.respond()

    def do_POST(self) -> None:
        self.respond()

    def body(self) -> bytes:
        """Read the body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, body: bytes = b"", status: int = 200, **headers: str) -> None:
        """Send an answer; ``headers`` may have a name that is no identifier."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):  # who asked may have gone
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def http_server(handler: type[Handler]) -> Iterator[str]:
    """The address of a server that ends with the block, whatever ends it.

    A thread that serves a closed socket never waits: it takes the processor from all later tests.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@dataclass(frozen=True)
class Reply:
    """One answer. ``cut`` promises more bytes than it sends, then closes the connection."""

    status: int = 200
    body: str | bytes = "{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    delay: float = 0.0
    cut: bool = False


@dataclass
class Script:
    """Replies in order (the last one again and again), and the requests that came.

    With ``reply_to``, replies depend on the path of a request instead.
    """

    url: str
    replies: list[Reply]
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    reply_to: Callable[[str], Reply] | None = None

    def next(self) -> Reply:
        if self.reply_to is not None:
            return self.reply_to(self.paths[-1])
        return self.replies[min(len(self.requests), len(self.replies)) - 1]


@contextmanager
def scripted(*replies: Reply) -> Iterator[Script]:
    script = Script("", list(replies))

    class Scripted(Handler):
        def respond(self) -> None:
            body = self.body()
            script.paths.append(self.path)
            script.headers.append({name.lower(): value for name, value in self.headers.items()})
            form = "form-urlencoded" in self.headers.get("Content-Type", "")
            script.requests.append({} if form or not body else json.loads(body))
            reply = script.next()
            time.sleep(reply.delay)
            data = reply.body.encode() if isinstance(reply.body, str) else reply.body
            headers = {
                "Content-Type": reply.content_type,
                "Content-Length": str(len(data) + (1000 if reply.cut else 0)),
                "Connection": "close",
            }
            self.answer(data, reply.status, **{**headers, **reply.headers})

    with http_server(Scripted) as script.url:
        yield script


def openai_vectors(*vectors: Sequence[float], order: Sequence[int] | None = None) -> Reply:
    """An embeddings answer; ``order`` is the order in which the vectors are sent."""
    items = [
        {"object": "embedding", "index": index, "embedding": vectors[index]}
        for index in (range(len(vectors)) if order is None else order)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return Reply(body=json.dumps({"object": "list", "data": items, "model": "m", "usage": usage}))


def openai_error(status: int, message: str, **headers: str) -> Reply:
    return Reply(status, json.dumps({"error": {"message": message, "type": "t"}}), headers)


def openai_stream(*pieces: str, usage: tuple[int, int] | None = (7, 3), **more: Any) -> Reply:
    """A streamed chat answer that ends properly unless ``more`` says ``finish=False``."""
    finish = more.pop("finish", True)
    events = [_chunk([{"index": 0, "delta": {"content": piece}}]) for piece in pieces]
    if finish:
        events.append(_chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}]))
    if finish and usage:
        prompt, completion = usage
        total = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": 10}
        events.append(_chunk([], usage=total))
    body = "".join(f"data: {event}\n\n" for event in events) + ("data: [DONE]\n\n" * finish)
    return Reply(body=body, content_type="text/event-stream", **more)


def _chunk(choices: list[dict[str, Any]], **more: Any) -> str:
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return json.dumps(head | {"choices": choices} | more)


def ollama_stream(
    *pieces: str, done: bool = True, usage: tuple[int, int] = (7, 3), **more: Any
) -> Reply:
    parts = [
        {"message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces
    ]
    last = {"role": "assistant", "content": ""}
    prompt, completion = usage
    counts = {"prompt_eval_count": prompt, "eval_count": completion}
    end = {"message": last, "done": True, **counts}
    lines = [*parts, end] if done else parts
    body = "".join(json.dumps({"model": "m"} | line) + "\n" for line in lines)
    return Reply(body=body, content_type="application/x-ndjson", **more)
