"""Many visitors at once: real WebSocket sessions that ask new questions on changing pages.

``python -m rag bench --only users`` runs it on the sample, 150 seconds with 15 sessions and as
long with 50; each session waits 2.5 to 7.5 seconds between its questions. ``USERS_PROJECT`` names
another checkout to serve instead, so that two versions can be measured in turn.
"""

from __future__ import annotations

import asyncio
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

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.dashboard import ROOT, running

SESSIONS = (15, 50)
SECONDS = 150.0
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
    return figures


class Visitor:
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


async def _warm(url: str) -> None:
    """One visitor, so that models and pages are loaded before anything is measured."""
    await Visitor(url, seed=0).stay(time.monotonic() + 15)


async def _crowd(url: str, process: int, sessions: int) -> dict[str, float]:
    before = _memory(process)
    until = time.monotonic() + SECONDS
    visitors = [Visitor(url, seed) for seed in range(1, sessions + 1)]
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
