"""Search in two languages, and across them, with the multilingual embedder beside MiniLM.

``python -m rag bench --only multilingual`` runs it on XQuAD, whose English and German paragraphs
and questions are translations of each other. nDCG@10 is that of whole paragraphs, threshold and
refusal off, dense weights at the default of the embedder. Speed is the processor time of E5 for
paragraphs as a multiple of MiniLM's, taken in turns.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from rag import KnowledgeBase, Recipe, Settings, Workspace, with_embedder_weight
from rag.protocols import Embedder
from rag.providers.e5 import MultilingualE5
from rag.providers.minilm import MiniLM
from rag.providers.runtimes import OnnxRuntime, open_runtime
from tests.bench.embedding import documents_of

COLLECTIONS = ("xquad_en", "xquad_de")
EMBEDDERS = ("minilm", "multilingual-e5")
MODES = ("dense", "lexical", "hybrid")
METRIC = "ndcg@10"
PLAIN = {"index.chunker": "whole", "search.threshold": None, "search.refuse": "off"}
QUESTIONS, TEXTS, ROUNDS = 100, 8, 3
RUNTIMES: dict[str, tuple[Callable[[], Embedder], Callable[[], Embedder]]] = {
    "default runtime": (
        lambda: MiniLM(open_runtime),
        lambda: MultilingualE5(open_runtime),
    ),
    "onnxruntime": (
        lambda: MiniLM(OnnxRuntime),
        lambda: MultilingualE5(lambda graph: OnnxRuntime(graph=graph)),
    ),
}


def measure(
    folder: Path,
    *,
    collections: Sequence[str] = COLLECTIONS,
    questions: int = QUESTIONS,
    texts: int = TEXTS,
    rounds: int = ROUNDS,
) -> dict[str, float]:
    """nDCG@10 by ``"EMBEDDER | QUESTIONS on DOCUMENTS | MODE"``, and ratios of processor time."""
    figures: dict[str, float] = {}
    for collection, (runtime, makers) in product(collections, RUNTIMES.items()):
        passages = documents_of(folder / collection)[:texts]
        minilm, e5 = (make() for make in makers)
        figures[f"time | {collection} | {runtime}"] = time_ratio(minilm, e5, passages, rounds)
    with tempfile.TemporaryDirectory() as home:
        workspace = Workspace(Settings.from_env({}, home=Path(home) / "home"))
        for documents in collections:
            parts = [
                _with_questions(folder, Path(home), documents, asked, questions)
                for asked in collections
            ]
            for embedder in EMBEDDERS:
                figures |= _quality(workspace, documents, embedder, parts)
        workspace.close()
    return figures


def time_ratio(minilm: Embedder, e5: Embedder, texts: Sequence[str], rounds: int) -> float:
    """Median of the rounds: processor seconds of E5 by those of MiniLM for the same texts."""
    times: list[list[float]] = []
    for model in (minilm, e5):
        model.embed(texts[:2], "document")
    for _ in range(rounds):
        times.append([_processor_seconds(model, texts) for model in (minilm, e5)])
    return float(np.median([theirs / ours for ours, theirs in times]))


def _processor_seconds(model: Embedder, texts: Sequence[str]) -> float:
    started = time.process_time()
    model.embed(texts, "document")
    return time.process_time() - started


def _with_questions(folder: Path, target: Path, documents: str, asked: str, questions: int) -> Path:
    """A collection with the documents of one and some questions of another, whose ids match."""
    part = target / f"{asked} on {documents}"
    part.mkdir()
    shutil.copytree(folder / documents / "qrels", part / "qrels")
    shutil.copy(folder / documents / "corpus.jsonl", part)
    lines = (folder / asked / "queries.jsonl").read_text("utf-8").splitlines()
    step = max(len(lines) // questions, 1)
    (part / "queries.jsonl").write_text("\n".join(lines[::step]) + "\n", "utf-8")
    kept = {line.split('"_id": "')[1].split('"')[0] for line in lines[::step]}
    labels = (part / "qrels" / "test.tsv").read_text("utf-8").splitlines()
    chosen = [labels[0], *(line for line in labels[1:] if line.split("\t")[0] in kept)]
    (part / "qrels" / "test.tsv").write_text("\n".join(chosen) + "\n", "utf-8")
    return part


def _quality(
    workspace: Workspace, documents: str, embedder: str, parts: Sequence[Path]
) -> dict[str, float]:
    recipe = Recipe().with_fields({**PLAIN, "index.embedder": embedder})
    base = workspace.create(f"{documents} {embedder}", with_embedder_weight(Recipe(), recipe))
    figures: dict[str, float] = {}
    for part in parts:
        workspace.jobs.run(base.documents.import_beir(part, "test"))
        for mode, value in _values(base, part.name).items():
            figures[f"{embedder} | {part.name} | {mode}"] = value
    return figures


def _values(base: KnowledgeBase, questions: str) -> dict[str, float]:
    recipes = [base.recipe().with_fields({"search.mode": mode}) for mode in MODES]
    found = base.tuning.tuner(questions).figures(recipes, (METRIC,))
    return {
        mode: found.compare(METRIC, at, (at + 1) % len(MODES)).mean for at, mode in enumerate(MODES)
    }
