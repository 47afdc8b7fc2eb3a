"""Many visitors at once: real WebSocket sessions that ask new questions on changing pages.

``python -m rag bench --only users`` runs it on the sample, 150 seconds with 15 sessions and as
long with 50; each session waits 2.5 to 7.5 seconds between its questions. Then 25 tabs and 25
programs that search by the API for ten minutes, once with one server process, and once with a
second one on the same home that answers the programs. ``USERS_PROJECT`` names another checkout to
serve instead, so that two versions can be measured in turn.
"""

import asyncio
import json
import logging
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

import httpx
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.dashboard import ROOT, running

log = logging.getLogger(__name__)

SESSIONS = (15, 50)
SECONDS = 150.0
MIXED = 50  # users, half of them programs
MIXED_SECONDS = 600.0
LOOKS = 20  # at the memory of the servers meanwhile
PAUSE = (2.5, 7.5)  # seconds between a session's questions
PATIENCE = 300.0  # seconds that one rerun may take
QUESTIONS = (
    "How long may unused leave be carried over?",
    "What is the warranty of the centrifuge?",
    "Which spare part number fits the pump?",
    "Who approves travel?",
    "How is the autoclave calibrated?",
    "What does error E42 mean?",
    "Which notice period applies?",
    "What is the price of the incubator?",
)
SEARCH = "/api/v1/knowledge-bases/sample/search"
_FINISHED = 0  # of ForwardMsg.ScriptFinishedStatus: the script ran to its end
_PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


def measure(_folder: Path) -> dict[str, float]:
    """Seconds of reruns at the median and the 95th percentile, memory in MB, and errors."""
    project = Path(os.environ.get("USERS_PROJECT", ROOT))
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        command = [sys.executable, "-m", "rag", "demo", "--home", str(home)]
        subprocess.run(command, cwd=project, check=True, capture_output=True)
        for sessions in SESSIONS:
            with running(home, project) as (url, process):
                asyncio.run(_warm(url))
                figures |= asyncio.run(_crowd(url, process, sessions))
        token = _token(project, home)
        with running(home, project) as one:
            figures |= _named("one process", asyncio.run(_mixed(one, one, token)))
        with running(home, project) as one, running(home, project) as two:
            figures |= _named("two processes", asyncio.run(_mixed(one, two, token)))
    return figures


def _named(servers: str, figures: Mapping[str, float]) -> dict[str, float]:
    return {f"{MIXED} users, {servers}, {name}": value for name, value in figures.items()}


def _token(project: Path, home: Path) -> str:
    """One that may search."""
    command = [sys.executable, "-m", "rag", "token", "create", "bench", "--json"]
    made = subprocess.run(
        [*command, "--home", str(home)], cwd=project, check=True, capture_output=True
    )
    return str(json.loads(made.stdout)["token"])


class SessionOwner:
    """One browser tab: a WebSocket session that reads what the server sends."""

    def __init__(self, url: str, seed: int) -> None:
        self._url = url
        self._random = random.Random(seed)
        self.errors: list[str] = []
        self.seconds: dict[str, list[float]] = {"inspector": [], "chat": []}

    async def stay(self, until: float) -> None:
        """Asks questions, on the inspector and in the chat in turn, until a time on the clock."""
        address = self._url.replace("http", "ws", 1) + "/_stcore/stream"
        async with websockets.connect(
            address,
            origin=websockets.Origin(self._url),
            subprotocols=[websockets.Subprotocol("streamlit")],
            max_size=None,
            open_timeout=PATIENCE,
            ping_interval=None,
        ) as socket:
            on_inspector = self._random.random() < 0.5
            while time.monotonic() < until:
                await (self._inspect(socket) if on_inspector else self._chat(socket))
                on_inspector = not on_inspector
                await asyncio.sleep(self._random.uniform(*PAUSE))

    def _question(self) -> str:
        return f"{self._random.choice(QUESTIONS)} {self._random.randint(1, 10**6)}"

    async def _inspect(self, socket: websockets.ClientConnection) -> None:
        query = urllib.parse.urlencode({"kb": "sample", "q": self._question()})
        taken, _ = await self._rerun(socket, "inspector", query)
        self.seconds["inspector"].append(taken)

    async def _chat(self, socket: websockets.ClientConnection) -> None:
        _, field = await self._rerun(socket, "chat", "kb=sample")
        if not field:
            self.errors.append("the chat page has no field for a question")
            return
        taken, _ = await self._rerun(socket, "chat", "kb=sample", {field: self._question()})
        self.seconds["chat"].append(taken)

    async def _rerun(
        self,
        socket: websockets.ClientConnection,
        page: str,
        query: str,
        typed: Mapping[str, str] | None = None,
    ) -> tuple[float, str]:
        """Seconds until a page's script has run, and the id of its field for questions."""
        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_name = page
        message.rerun_script.widget_states.SetInParent()
        for name, text in (typed or {}).items():
            widget = message.rerun_script.widget_states.widgets.add()
            widget.id, widget.chat_input_value.data = name, text
        started, field = time.monotonic(), ""
        await socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(await asyncio.wait_for(socket.recv(decode=False), PATIENCE))
            kind = answer.WhichOneof("type")
            if kind == "script_finished" and answer.script_finished == _FINISHED:
                return time.monotonic() - started, field
            if kind == "delta" and answer.delta.WhichOneof("type") == "new_element":
                field = self._note(answer) or field

    def _note(self, answer: ForwardMsg) -> str:
        """The id of a field for questions, if that is what came; errors are kept."""
        element = answer.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.errors.append(element.exception.message)
        return str(element.chat_input.id) if kind == "chat_input" else ""


class Program:
    """Somebody's script, which searches by the API."""

    def __init__(self, url: str, token: str, seed: int) -> None:
        self._url, self._token = url, token
        self._random = random.Random(seed)
        self.errors: list[str] = []
        self.seconds: list[float] = []

    async def stay(self, until: float) -> None:
        """Searches until a time on the clock."""
        headers = {"Authorization": f"Bearer {self._token}"}
        async with httpx.AsyncClient(
            base_url=self._url, headers=headers, timeout=PATIENCE, trust_env=False
        ) as client:
            while time.monotonic() < until:
                question = f"{self._random.choice(QUESTIONS)} {self._random.randint(1, 10**6)}"
                started = time.monotonic()
                reply = await client.post(SEARCH, json={"question": question})
                self.seconds.append(time.monotonic() - started)
                if reply.status_code != 200 or not reply.json()["hits"]:
                    self.errors.append(f"{reply.status_code} {reply.text[:200]}")
                await asyncio.sleep(self._random.uniform(*PAUSE))


async def _mixed(dashboard: tuple[str, int], api: tuple[str, int], token: str) -> dict[str, float]:
    """Half of the users with tabs, half with programs; memory of all processes all the while."""
    await _warm(dashboard[0])
    await Program(api[0], token, seed=0).stay(time.monotonic() + 5)
    until = time.monotonic() + MIXED_SECONDS
    tabs = [SessionOwner(dashboard[0], seed) for seed in range(1, MIXED // 2 + 1)]
    programs = [Program(api[0], token, seed) for seed in range(1, MIXED // 2 + 1)]
    looks = asyncio.create_task(_looks({dashboard[1], api[1]}))
    ended = await asyncio.gather(
        *(each.stay(until) for each in [*tabs, *programs]), return_exceptions=True
    )
    memory = await looks
    errors = [str(each) for each in ended if isinstance(each, BaseException)]
    errors += [message for each in [*tabs, *programs] for message in each.errors]
    for message in errors[:5]:
        log.warning("%s", message)
    reruns = [second for tab in tabs for page in tab.seconds.values() for second in page]
    searches = [second for program in programs for second in program.seconds]
    half = len(memory) // 2
    figures = {"errors": float(len(errors))}
    for name, taken in (("API search", searches), ("rerun of a page", reruns)):
        cuts = statistics.quantiles(taken, n=20)
        figures |= {f"{name}, n": float(len(taken)), f"{name}, p50 s": cuts[9]}
        figures |= {f"{name}, p95 s": cuts[18]}
    return figures | {
        "memory, highest of the first half, MB": max(memory[:half]),
        "memory, highest of the second half, MB": max(memory[half:]),
    }


async def _looks(processes: set[int]) -> list[float]:
    """Memory of all processes together, in MB, at even distances."""
    seen = []
    for _ in range(LOOKS):
        await asyncio.sleep(MIXED_SECONDS / LOOKS)
        seen.append(sum(_memory(process) for process in processes))
    return seen


async def _warm(url: str) -> None:
    """One visitor, so that models and pages are loaded before anything is measured."""
    await SessionOwner(url, seed=0).stay(time.monotonic() + 15)


async def _crowd(url: str, process: int, sessions: int) -> dict[str, float]:
    before = _memory(process)
    until = time.monotonic() + SECONDS
    visitors = [SessionOwner(url, seed) for seed in range(1, sessions + 1)]
    ended = await asyncio.gather(*(each.stay(until) for each in visitors), return_exceptions=True)
    failures = [str(each) for each in ended if isinstance(each, BaseException)]
    errors = failures + [message for each in visitors for message in each.errors]
    await asyncio.sleep(5)  # everybody has left
    figures = {f"{sessions} sessions, errors": float(len(errors))}
    for page in ("inspector", "chat"):
        taken = [second for each in visitors for second in each.seconds[page]]
        cuts = statistics.quantiles(taken, n=20) if len(taken) > 1 else [0.0] * 19
        figures |= {
            f"{sessions} sessions, {page}, reruns": float(len(taken)),
            f"{sessions} sessions, {page}, p50 s": cuts[9],
            f"{sessions} sessions, {page}, p95 s": cuts[18],
        }
    return figures | {
        f"{sessions} sessions, memory before, MB": before,
        f"{sessions} sessions, memory after, MB": _memory(process),
    }


def _memory(process: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * _PAGE_KIB / 1024
