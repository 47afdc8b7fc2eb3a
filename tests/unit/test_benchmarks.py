"""Benchmarks run: those without servers on something tiny, all of them in processes they start."""

from __future__ import annotations

import importlib
import json
import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rag.__main__ import main
from rag.cli.administration import benchmarks

TINY: Mapping[str, Mapping[str, Any]] = {
    "embedding": {"TEXTS": 4, "ROUNDS": 1},
    "lexical": {"SLOW_QUERIES": 2, "K": 4},
    "recutting": {"DOCUMENTS": 2, "PARAGRAPHS": 2},
    "retrieval": {"PASSAGES": 200, "QUESTIONS": 3},
    "snapshots": {"PASSAGES": 200, "ROUNDS": 1},
    "sweep": {"ROUNDS": 1},
    "vectors": {"SIZES": (200,), "QUERIES": 3},
}


@pytest.fixture
def collections(tmp_path: Path) -> Path:
    """A folder with a collection of eight documents and three questions."""
    folder = tmp_path / "scifact"
    (folder / "qrels").mkdir(parents=True)
    words = ("pump", "valve", "bearing", "grease", "motor", "shaft", "filter", "seal")
    documents = [
        {"_id": f"d{at}", "title": word, "text": f"The {word} is checked {at} times a year. " * 9}
        for at, word in enumerate(words)
    ]
    questions = [
        {"_id": f"q{at}", "text": f"How often is the {words[at]} checked?"} for at in (0, 1, 2)
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, questions)))
    lines = ["query-id\tcorpus-id\tscore", *(f"q{at}\td{at}\t1" for at in (0, 1, 2))]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_a_benchmark_measures_something_tiny(
    name: str,
    collections: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = importlib.import_module(f"tests.bench.{name}")
    for constant, value in TINY[name].items():
        monkeypatch.setattr(module, constant, value)
    assert main(["bench", "--only", name, "--data", str(collections), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["benchmarks"][name]
    assert figures
    assert all(math.isfinite(value) for value in figures.values())


@pytest.mark.parametrize("name", benchmarks.names())
def test_processes_that_a_benchmark_starts_can_import_it(name: str) -> None:
    measure = benchmarks.load(name).measure
    assert pickle.loads(pickle.dumps(measure)) is measure
