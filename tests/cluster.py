"""A Dask cluster of processes on this machine, and embedders that wait on its workers."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from distributed import Client, LocalCluster

from rag.cluster import tasks
from rag.protocols import InputType
from rag.providers.hashing import HashingEmbedder
from rag.types import Vectors
from tests.rooms import ROOT


@contextmanager
def workers(number: int = 2) -> Iterator[LocalCluster]:
    """A scheduler in this process, and processes that work; one that dies is replaced."""
    with LocalCluster(
        n_workers=number, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@contextmanager
def programs(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The address of a scheduler, and its process; it and a worker are started as users do."""
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    given = ["--host", "127.0.0.1", "--no-dashboard"]
    commands = [
        [*dask, "scheduler", "--port", "0", "--scheduler-file", str(file), *given],
        [*dask, "worker", "--scheduler-file", str(file), "--nthreads", "1", *given],
    ]
    started = [subprocess.Popen(each, cwd=ROOT, stderr=subprocess.DEVNULL) for each in commands]
    try:
        with Client(scheduler_file=str(file), set_as_default=False, timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
        yield json.loads(file.read_text())["address"], started[0]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(120)


class Holding(HashingEmbedder):
    """Says that it has begun, by a file named after its process, and waits for the file ``go``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        (self._folder / str(os.getpid())).touch()
        while not (self._folder / "go").exists():
            time.sleep(0.02)
        return super().embed(texts, input_type)


def hold(address: str, folder: Path) -> None:
    """Makes the present workers wait in the middle of their tasks; those that come later do not."""
    folder.mkdir()
    with Client(address, set_as_default=False) as client:
        client.run(_hold, str(folder))


def _hold(folder: str) -> None:
    tasks._embedder = lambda _name: Holding(Path(folder))  # type: ignore[assignment]


def holding(folder: Path) -> list[int]:
    """Processes that wait; returns when there is one."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := [int(path.name) for path in folder.iterdir() if path.name.isdigit()]:
            return found
        time.sleep(0.02)
    raise AssertionError("no worker was given anything")
