"""A real server of the dashboard, started as a user starts it."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.workspaces import surroundings

ROOT = Path(__file__).resolve().parents[1]
SECONDS_TO_START = 120
SECONDS_TO_END = 1  # all that it has stored is safe without its end


@contextlib.contextmanager
def serving(home: Path) -> Iterator[str]:
    """A server on a home, by its address; it is ended afterwards."""
    with running(home) as (url, _):
        yield url


@contextlib.contextmanager
def running(home: Path, project: Path = ROOT) -> Iterator[tuple[str, int]]:
    """A server of a checkout on a home: its address, and the id of its process."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    log = home.with_suffix(".log")
    with log.open("wb") as sink, _started(project, home, port, sink.fileno()) as process:
        try:
            _await_health(url, process, log)
            yield url, process.pid
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """A server waits for its visitors before it ends, and a tab may still be open."""
    process.terminate()
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()


def _started(project: Path, home: Path, port: int, sink: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    options = ["--server.port", str(port), "--server.headless", "true"]
    return subprocess.Popen(
        command + options,
        cwd=project,
        env=surroundings(home),
        stdout=sink,
        stderr=subprocess.STDOUT,
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_health(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):  # nobody listens yet, or is too busy to answer
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).close()
            return
        time.sleep(0.2)
    raise RuntimeError(f"The server did not start:\n{log.read_text(errors='replace')}")
