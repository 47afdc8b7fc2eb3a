"""How long a server is silent for others beside one hostile request, and what each costs it.

``python -m rag bench --only doors`` starts a server on a knowledge base of its own; it takes about
two minutes. Processor time is that of the server, so it is comparable on a busy machine.
"""

from __future__ import annotations

import io
import os
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import docx
import httpx

from rag import SCOPES, Settings, Workspace
from tests.dashboard import running
from tests.workspaces import QUICK, add

BASE = "/api/v1/knowledge-bases/manuals"
EVERY = 0.1  # seconds between two looks at /healthz
QUESTION = "How long may leave be carried over?"


def _search(question: str = QUESTION, **fields: Any) -> tuple[str, str, dict[str, Any]]:
    named = {f"search.{name}": value for name, value in fields.items()}
    return "POST", f"{BASE}/search", {"json": {"question": question, "fields": named}}


def _raw(text: str) -> dict[str, Any]:
    return {"content": text, "headers": {"Content-Type": "application/json"}}


def _file(name: str, content: str | bytes) -> tuple[str, str, dict[str, Any]]:
    data = content if isinstance(content, bytes) else content.encode()
    return "POST", f"{BASE}/documents", {"files": {"files": (name, data)}}


def _word_file(characters: int) -> bytes:
    """A Word file of one paragraph, whose text packs to a thousandth of its size."""
    document, packed = docx.Document(), io.BytesIO()
    document.add_paragraph("leave " * (characters // 6))
    document.save(packed)
    return packed.getvalue()


_DIGITS = '{"fields": {"search.top_k": ' + "9" * 100_000 + "}}"
_FIELDS = '{"question": "x", "fields": {' + '"f": [1], ' * 1_500_000 + '"f": [1]}}'
_FORGIVING = {"fuzzy": True, "spelling": True}


@cache
def inputs() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Requests by name: method, path and options. The job that reads a file is waited for."""
    return {
        "nothing hostile": _search(),
        "pages of 50,000 digits": _search(pages="9" * 50_000),
        "250,000 ranges of pages": _search(pages="1-2," * 250_000 + "3"),
        "200,000 names of documents": _search(documents=[f"*{n}*" for n in range(200_000)]),
        "200 patterns of 248 stars": _search(documents=[f"{n}" + "*a" * 248 for n in range(200)]),
        "200 patterns of 10 stars": _search(documents=[f"{n}" + "*a" * 10 for n in range(200)]),
        "250 ranges of pages": _search(pages=",".join(["1-2"] * 250)),
        "a heading of 1 MB": _search(heading="x" * 1_000_000),
        "a number of 100,000 digits": ("PATCH", f"{BASE}/recipe", _raw(_DIGITS)),
        "100,000 brackets": ("PATCH", f"{BASE}/recipe", _raw("[" * 100_000)),
        "a question of 1 MB, fuzzy and corrected": _search("carri " * 170_000, **_FORGIVING),
        "a question of 8,000 characters": _search("carri " * 1333, **_FORGIVING),
        "15 MB of JSON": ("POST", f"{BASE}/search", _raw(_FIELDS)),
        "20 MB of JSON, more than is taken": ("POST", f"{BASE}/search", _raw("x" * 20_000_000)),
        "Word: 60 million characters in 200 kB": _file("bomb.docx", _word_file(60_000_000)),
        "an address of 60 kB": ("GET", f"{BASE}?limit=" + "9" * 60_000, {}),
        "Markdown: a heading of 8 kB of backticks": _file("ticks.md", "# " + "`" * 8_000),
        "Markdown: 60 kB of brackets": _file("brackets.md", "[" * 60_000),
        "a pasted text of 60 kB of brackets": (
            "POST",
            f"{BASE}/documents/text",
            {"json": {"title": "brackets", "text": "[" * 60_000}},
        ),
        "CSV: a cell of 50 kB of digits": _file("digits.csv", "9" * 50_000 + ",b\n1,2\n"),
        "CSV: 1.05 MB of digits in 8 cells": _file("cells.csv", ("9" * 131_000 + "\n") * 8),
        "a web address of 100 kB of spaces": (
            "POST",
            f"{BASE}/documents/urls",
            {"json": {"urls": ["https://example.org/" + " " * 100_000 + "x"]}},
        ),
    }


def measure(_folder: Path, *, names: Collection[str] = ()) -> dict[str, float]:
    """By input: status, seconds of processor time, and the longest silence of ``/healthz``.

    All inputs are sent unless ``names`` has some.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        workspace = Workspace(Settings.from_env({}, home=home))
        base = workspace.create("manuals", QUICK)
        add(workspace, base, {f"{n}.md": f"# Leave {n}\n\nLeave is {n} days." for n in range(200)})
        secret, _ = workspace.access.tokens.create("bench", SCOPES)
        workspace.close()
        with running(home) as (url, process):
            headers = {"Authorization": f"Bearer {secret}"}
            with httpx.Client(base_url=url, headers=headers, timeout=600) as client:
                client.get(BASE)  # what is loaded with the first request is no matter here
                return dict(_figures(client, url, process, names))


def _figures(
    client: httpx.Client, url: str, process: int, names: Collection[str]
) -> Iterator[tuple[str, float]]:
    for name in names or inputs():
        method, path, options = inputs()[name]
        before = _processor(process)
        with _Watch(url) as watch:
            try:
                response = client.request(method, path, **options)
                status = response.status_code
                if status == httpx.codes.ACCEPTED:
                    _wait_for(client, response.headers["Location"])
            except httpx.TransportError:  # the server closes what it will not read
                status = 0
        yield f"{name} | status", float(status)
        yield f"{name} | processor s", _processor(process) - before
        yield f"{name} | silence s", watch.longest


def _wait_for(client: httpx.Client, job: str) -> None:
    while client.get(job).json()["status"] in ("queued", "running"):
        time.sleep(EVERY)


def _processor(process: int) -> float:
    """Seconds of processor time of a process so far, on Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Watch:
    """Asks ``/healthz`` again and again; ``longest`` is the time between two answers, less the
    pause."""

    def __init__(self, url: str) -> None:
        self.longest = 0.0
        self._url = f"{url}/healthz"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        with httpx.Client(timeout=600) as client:
            while True:
                asked = time.perf_counter()
                client.get(self._url)
                self.longest = max(self.longest, time.perf_counter() - asked)
                if self._over.wait(EVERY):
                    return
