"""Benchmarks run: those without servers on something tiny, all of them in processes they start."""

from __future__ import annotations

import inspect
import json
import math
import pickle
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from rag.__main__ import main
from rag.workspace import workspace
from tests.bench.sample import KINDS
from tests.verbs import output_of

NAMES = sorted(path.stem for path in (Path(__file__).parents[1] / "bench").glob("*.py"))

TINY: Mapping[str, Mapping[str, Any]] = {
    "deciding": {"collections": ("scifact",), "seeds": 2},
    "embedding": {"texts": 4, "rounds": 1},
    "fusion": {"collections": ("scifact",)},
    "highlight": {"pages": 2},
    "honesty": {"repetitions": 4, "seeds_each": 1},
    "ingestion": {"pages": 1},
    "large": {"pages": ("chat", "tuning"), "bases": 2, "documents": 12, "questions": 8},
    "lexical": {"k": 4, "slow_queries": 2},
    "multilingual": {"collections": ("scifact",), "texts": 2, "rounds": 1},
    "metrics": {"libraries": ("ours", "pytrec_eval"), "rounds": 1, "starts": 1},
    "promises": {"draws": 2, "halves": 2, "collections": ("scifact",)},
    "question_steps": {"collections": ("scifact", "scifact misspelt")},
    "refusal": {  # the sample needs 40 labels
        "embedders": ("minilm",),
        "collections": ("scifact", "more", "other"),
    },
    "retrieval": {"passages": 200, "questions": 3},
    "sample": {},
    "short_questions": {"collections": ("scifact",)},
    "spelling": {"collections": ("scifact", "sample")},
    "sweep": {"rounds": 1},
    "tables": {"seeds": (0,), "pages": 2},
    "techniques": {"collections": ("scifact",), "timed": 1},
    "tuning": {"moves": 1, "curves": ("Map",)},
    "unjudged": {"collections": ("scifact",)},
    "vectors": {"sizes": (200,), "asked": 3},
}
NOT_TINY: Mapping[str, str] = {
    "answer_lines": "reads the papers that its lines are of",
    "answer_rules": "reads every collection three times, and asks all questions for each rule",
    "answer_states": "reads every collection three times, with and without its documents",
    "connections": "needs a PostgreSQL server",
    "diagnosis": "plants faults in documents and questions of a whole collection",
    "doors": "starts a server of the dashboard and sends it megabytes",
    "fix_promises": "diagnoses three whole collections",
    "handbooks": "reads five handbooks, which have to be fetched",
    "paraphrases": "asks about the whole sample and about sets of short documents",
    "pgvector": "needs a PostgreSQL server",
    "sentences": "asks a language model",
    "users": "starts servers of the dashboard, with tabs and programs for minutes",
    "workers": "needs a PostgreSQL server",
}
FACTS: Mapping[str, tuple[str, str]] = {
    "pump": ("The pump is checked twice a year", "How often is the pump checked?"),
    "valve": ("A valve that leaks is replaced", "What happens with leaking valves?"),
    "bearing": ("Dry bearings grind when they turn", "Why does something grind?"),
    "grease": ("Lithium grease comes in blue tins", "Which colour have tins of lithium?"),
    "motor": ("Ann signs for work on a motor", "Who approves repairs of motors?"),
    "shaft": ("Each shaft weighs forty kilograms", "How heavy are shafts?"),
    "filter": ("Filters cost nine euros in the shop", "What is the price of filters?"),
    "seal": ("A seal lasts until it is three years old", "At which age do seals fail?"),
}
"""What a document says, and what is asked of it."""


@pytest.fixture
def collections(tmp_path: Path) -> Path:
    """A folder with collections of eight documents and three questions, and a PDF of two pages."""
    for name in ("scifact", "more", "other"):
        folder = tmp_path / name
        (folder / "qrels").mkdir(parents=True)
        documents = [
            {"_id": f"d{at}", "title": word, "text": _text(f"{fact} of the {name}")}
            for at, (word, (fact, _)) in enumerate(FACTS.items())
        ]
        asked = [f"{question} Say it of the {name}." for _, question in FACTS.values()]
        questions = [{"_id": f"q{at}", "text": text} for at, text in enumerate(asked)][:3]
        (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
        (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, questions)))
        lines = ["query-id\tcorpus-id\tscore", *(f"q{at}\td{at}\t1" for at in (0, 1, 2))]
        (folder / "qrels" / "test.tsv").write_text("\n".join(lines))
    (tmp_path / "aragog" / "pdfs").mkdir(parents=True)
    _write_pdf(tmp_path / "aragog" / "pdfs" / "paper.pdf")
    return tmp_path


@pytest.fixture
def module(name: str) -> ModuleType:
    """A benchmark, imported before the sample is replaced."""
    return import_module(f"tests.bench.{name}")


@pytest.fixture
def small_sample(module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sample of a PDF and eight texts, with questions of every kind, and no vectors beside it."""
    folder = tmp_path / "sample"
    folder.mkdir()
    _write_pdf(folder / "paper.pdf")
    for word, (fact, _) in FACTS.items():
        (folder / f"{word}.txt").write_text(_text(fact))
    questions = [
        {
            "id": f"q{at}",
            "text": question,
            "tags": list(KINDS),
            "answerable": True,
            "evidence": [{"document": f"{word}.txt", "quote": fact}],
        }
        for at, (word, (fact, question)) in enumerate(FACTS.items())
    ]
    nothing = {"id": "q9", "text": "Who invented the pump?", "answerable": False, "evidence": []}
    lines = "\n".join(map(json.dumps, [*questions, nothing]))
    (folder / workspace.SAMPLE_QUESTIONS).write_text(lines)
    monkeypatch.setattr(workspace, "SAMPLE_FOLDER", folder)
    monkeypatch.setattr(workspace, "SAMPLE_VECTORS", folder / "none.npz")
    return folder


def _text(fact: str) -> str:
    return f"{fact}. " * 9 + "What an error means is told there."


def _write_pdf(path: Path) -> None:
    canvas = Canvas(str(path))
    for word in ("pump", "valve"):
        for line in range(6):
            canvas.drawString(72, 760 - 14 * line, f"Error {line} means that the {word} broke.")
        canvas.showPage()
    canvas.save()


def test_every_benchmark_runs_here_or_says_why_not():
    assert sorted([*TINY, *NOT_TINY]) == NAMES


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", TINY)
def test_a_benchmark_measures_something_tiny(
    name, module, collections, small_sample, monkeypatch, capsys
):
    sizes = dict(TINY[name])
    if "sample" in inspect.signature(module.measure).parameters:
        sizes["sample"] = small_sample
    monkeypatch.setattr(module, "measure", partial(module.measure, **sizes))
    figures = output_of(capsys, "bench", "--only", name, "--data", str(collections))["benchmarks"][
        name
    ]
    assert figures
    assert all(math.isfinite(value) for value in figures.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_asks_for_nothing_but_a_folder(module):
    folder, *sizes = inspect.signature(module.measure).parameters.values()
    assert folder.kind is folder.POSITIONAL_OR_KEYWORD
    assert all(each.kind is each.KEYWORD_ONLY for each in sizes)
    assert all(each.default is not each.empty for each in sizes)


def test_a_benchmark_says_which_collection_it_lacks(tmp_path, capsys):
    assert main(["bench", "--only", "workers", "--data", str(tmp_path)]) != 0
    assert f"The benchmark 'workers' needs {tmp_path / 'scifact'}" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_processes_that_a_benchmark_starts_can_import_it(module):
    assert pickle.loads(pickle.dumps(module.measure)) is module.measure
