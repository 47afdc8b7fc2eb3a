"""One upload, and then a sweep's builds, by one process and by two workers of a Dask cluster.

``python -m rag bench --only cluster`` runs it, on a scheduler of its own. The documents are those
of the benchmark ``workers``. The workers and the process of the job have loaded the model before;
time goes until the job ends, and the process that cuts, stores and makes the index shares the cores
of the workers. A process alone embeds on both cores already, so the ratio that tells how the work
is spread is that of workers with a core of their own each.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path

from distributed import Client

from rag import KnowledgeBase, Recipe, Settings, Upload, Workspace
from rag.cluster import tasks
from rag.providers.minilm import MiniLM
from tests.bench.workers import uploads
from tests.cluster import workers

ROOT = Path(__file__).resolve().parents[2]
SIZES = (120, 160)  # tokens of a passage; those of the upload have 200
JOBS = """
import os, sys
os.sched_setaffinity(0, map(int, sys.argv[1].split(",")))
from rag import Workspace
workspace = Workspace.from_env()
workspace._services.models.embedder("minilm").embed(["hello"], "document")
print("ready", flush=True)
for line in sys.stdin:
    print(workspace.jobs.run(int(line)).message, flush=True)
"""


def measure(folder: Path) -> dict[str, float]:
    """Passages in a second, of an upload and of a sweep's builds, and ratios to one process."""
    files = uploads(folder)
    cores = sorted(os.sched_getaffinity(0))[:2]
    layouts = {
        "two cores, one process": (cores, []),
        "two cores, two workers": (cores, [cores, cores]),
        "one process with one core": (cores[:1], []),
        "two workers with one core each": (cores, [[core] for core in cores]),
    }
    pace = {name: _paces(files, job, each) for name, (job, each) in layouts.items()}
    one, two, alone, each = pace.values()
    figures = {
        f"{name}, {what}: passages a second": value
        for name, found in pace.items()
        for what, value in found.items()
    }
    for what in one:
        figures[f"two cores, {what}: ratio"] = two[what] / one[what]
        figures[f"a core each, {what}: ratio"] = each[what] / alone[what]
    return figures


def _paces(
    files: dict[str, bytes], cores: Sequence[int], layout: Sequence[Sequence[int]]
) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        workspace = Workspace(Settings.from_env({}, home=Path(place)))
        stack.callback(workspace.close)
        base = workspace.create("bench", Recipe())
        given = {"TOUCHSTONE_HOME": place, "TOUCHSTONE_DATABASE_URL": "", "TOUCHSTONE_CLUSTER": ""}
        if layout:
            given["TOUCHSTONE_CLUSTER"] = stack.enter_context(_scheduler(layout))
        process = stack.enter_context(_process(cores, given))
        every = [Upload(name, BytesIO(content)) for name, content in files.items()]
        first = _seconds(process, base.documents.add_files(every), f"{len(files)} of {len(files)}")
        passages = _passages(base)
        recipes = [Recipe().with_fields({"index.chunk_size": size}).index for size in SIZES]
        builds = base.documents.build_several(recipes)
        assert builds is not None
        second = _seconds(process, builds, f"{len(SIZES)} indexes built")
        return {
            "upload": passages / first,
            "builds": (_passages(base) - passages) / second,
        }


def _passages(base: KnowledgeBase) -> int:
    return sum(build.passages for build in base.documents.builds())


@contextmanager
def _scheduler(layout: Sequence[Sequence[int]]) -> Iterator[str]:
    """The address of a cluster whose workers have these cores, and their model."""
    with workers(len(layout)) as cluster, Client(cluster, set_as_default=False) as client:
        for worker, cores in zip(client.nthreads(), layout, strict=True):
            client.run(_prepare, list(cores), workers=[worker])
        yield cluster.scheduler_address


def _prepare(cores: Sequence[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)
    tasks.embed("minilm", MiniLM.id, ["hello"])


@contextmanager
def _process(cores: Sequence[int], given: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process that does the jobs that it is told."""
    with subprocess.Popen(
        [sys.executable, "-c", JOBS, ",".join(map(str, cores))],
        cwd=ROOT,
        env={**os.environ, **given},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        if process.stdout.readline() != "ready\n":
            raise AssertionError("the process of the jobs did not start")
        yield process
        process.stdin.close()


def _seconds(process: subprocess.Popen[str], job: int, outcome: str) -> float:
    """How long a job takes; its message must be that it was done, and by the cluster."""
    assert process.stdin
    assert process.stdout
    began = time.perf_counter()
    process.stdin.write(f"{job}\n")
    process.stdin.flush()
    told = process.stdout.readline()
    seconds = time.perf_counter() - began
    if not told.startswith(outcome) or "alone" in told:
        raise AssertionError(f"the job ended so: {told}")
    return seconds
