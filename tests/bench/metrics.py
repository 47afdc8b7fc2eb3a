"""Metrics of 1,000 questions with 100 hits each, beside pytrec_eval and ranx.

``python -m rag bench --only metrics`` runs it. Ours is what measures an evaluation: it starts from
ranked passages and labels, judges them, and gives all seven metrics of every question and their
means. The others start from dictionaries and are asked for P, R, nDCG and MRR at the same four
cut-offs; pytrec_eval knows the reciprocal rank without a cut-off only, which is asked of it once.
Measured with the start of a fresh process, where ranx also compiles and ours ranks the dictionaries
first, and without, in this process and after a warm-up.
The starts are told in processor time too, which a busy machine does not stretch.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

CUTOFFS = (1, 5, 10, 100)
ROUNDS, STARTS = 9, 15
ROOT = Path(__file__).resolve().parents[2]

# Made on the spot, in a few milliseconds: reading a file would be most of what is measured.
DATA = """
passages = [f"d{number}" for number in range(400)]
qrels, run = {}, {}
for number in range(1000):
    hits = passages[number * 37 % 300:][:100]
    relevant = [passages[(number * 53 + place * 29) % 400] for place in range(1 + number % 8)]
    run[f"q{number}"] = {name: (100 - place) / (100 + number) for place, name in enumerate(hits)}
    qrels[f"q{number}"] = {name: 1 + place % 2 for place, name in enumerate(relevant)}
"""
OURS = f"""
from rag.evaluation.measuring import measured
from tests.measures import ordered, searched
def ready(qrels, run):
    return (searched(qrels, ordered(run)),)
def work(found):
    return measured(found.judged(100), {CUTOFFS})[1]
"""
PYTREC = f"""
import pytrec_eval
ks = ",".join(map(str, {CUTOFFS}))
names = {{f"P.{{ks}}", f"recall.{{ks}}", f"ndcg_cut.{{ks}}", "recip_rank"}}
def ready(qrels, run):
    return qrels, run
def work(qrels, run):
    rows = list(pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run).values())
    return {{name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}}
"""
RANX = f"""
import ranx
names = [f"{{name}}@{{k}}" for name in ("precision", "recall", "mrr", "ndcg") for k in {CUTOFFS}]
def ready(qrels, run):
    return qrels, run
def work(qrels, run):
    return dict(ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names))
"""
START = "held = ready(qrels, run)\nwork(*held)"
LIBRARIES = {"ours": OURS, "pytrec_eval": PYTREC, "ranx": RANX}


def measure(
    _folder: Path,
    *,
    libraries: Collection[str] = tuple(LIBRARIES),
    rounds: int = ROUNDS,
    starts: int = STARTS,
) -> dict[str, float]:
    """Milliseconds (medians of interleaved rounds), and how many times faster than the faster."""
    sources = {name: LIBRARIES[name] for name in libraries}
    inside = _medians({name: _ready(source) for name, source in sources.items()}, rounds)[0]
    with tempfile.TemporaryDirectory() as folder:
        works = {name: _process(source, folder) for name, source in sources.items()}
        slow = {name: works.pop(name) for name in libraries if name == "ranx"}
        whole, processor = _medians(slow, 1)
        _medians(works, 1)  # from here on all of them are compiled to bytecode
        for found, more in zip((whole, processor), _medians(works, starts), strict=True):
            found |= more
    return {
        **{f"{name}_ms": value for name, value in inside.items()},
        "times_faster_than_the_faster": _faster(inside),
        **{f"{name}_with_process_start_ms": value for name, value in whole.items()},
        "times_faster_with_process_start": _faster(whole),
        **{f"{name}_with_process_start_processor_ms": each for name, each in processor.items()},
        "times_faster_with_process_start_processor": _faster(processor),
    }


def _ready(source: str) -> Callable[[], object]:
    """The work in this process, warmed up."""
    names: dict[str, object] = {}
    exec(source + DATA + START, names)
    code = compile("work(*held)", "work", "eval")
    return lambda: eval(code, names)


def _process(source: str, folder: str) -> Callable[[], object]:
    command = [sys.executable, "-c", source + DATA + START]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
    return lambda: subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True
    )


def _medians(
    works: Mapping[str, Callable[[], object]], rounds: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Milliseconds of each, in turns, so that all meet the same disturbances.

    Second are those of the processor in processes that were started.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    busy: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            before, started = _processor_seconds(), time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - started)
            busy[name].append(_processor_seconds() - before)
    return _milliseconds(seconds), _milliseconds(busy)


def _milliseconds(seconds: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: 1000 * statistics.median(each) for name, each in seconds.items()}


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _faster(milliseconds: Mapping[str, float]) -> float:
    peers = [value for name, value in milliseconds.items() if name != "ours"]
    return min(peers) / milliseconds["ours"]
