"""What mistyped words cost, with ``search.spelling`` off, for BM25 alone, and for the question.

``python -m rag bench --only spelling`` runs it: nDCG@10 by a new recipe, one passage a document, of
questions with slips in 0, 1 and 2 words; how many of their own and of foreign questions are
refused; and how many are read differently. ``python -m tests.bench.spelling FOLDER HOME
[COLLECTION ...]`` keeps the home: nothing is read or embedded a second time.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rag import SAMPLE, KnowledgeBase, Question, Recipe, Settings, Workspace
from rag.retrieval import Timeline, gather
from rag.search.corpus import corpus
from rag.search.snapshot import take_snapshot
from rag.services.services import Services
from tests.typos import mistyped

COLLECTIONS = ("scifact", "cranfield", SAMPLE, "xquad_en", "xquad_de", "anthropic_docs")
SPELLING: Mapping[str, bool | str] = {"off": False, "BM25": True, "question": "question"}
SEED = 11
STRANGERS = 40
"""Questions of each other collection that are asked of a collection."""
RECIPE = Recipe().with_fields({"index.chunker": "whole"})


def measure(folder: Path, *, collections: Sequence[str] = COLLECTIONS) -> dict[str, float]:
    """Figures by ``"COLLECTION, N typos, SPELLING: WHAT"``."""
    with tempfile.TemporaryDirectory() as home:
        return measured(Path(home), folder, collections, collections)


def measured(
    home: Path,
    folder: Path,
    names: Sequence[str] = COLLECTIONS,
    collections: Sequence[str] = COLLECTIONS,
) -> dict[str, float]:
    """The same in a home that is kept, of those ``names`` among the collections."""
    settings = Settings.from_env({}, home=home)
    workspace, services = Workspace(settings), Services.start(settings)
    bases = {name: _base(workspace, name, folder) for name in collections}
    asked = {name: list(base.runs.questions(name)[1]) for name, base in bases.items()}
    figures: dict[str, float] = {}
    for name in names:
        base = bases[name]
        strangers = [
            each
            for other in collections
            if other != name and not other.startswith("xquad_de")
            for each in asked[other][:STRANGERS]
        ]
        for typos in (0, 1, 2):
            own, foreign = (_mistyped(part, typos) for part in (asked[name], strangers))
            for label, value in SPELLING.items():
                recipe = _recipe(base, name).with_fields({"search.spelling": value})
                told = _figures(services, base, recipe, own, foreign)
                figures |= {f"{name}, {typos} typos, {label}: {k}": v for k, v in told.items()}
    workspace.close()
    return figures


def _mistyped(questions: Sequence[Question], typos: int) -> list[Question]:
    return [replace(each, text=mistyped(each.text, typos, SEED)) for each in questions]


def _recipe(base: KnowledgeBase, name: str) -> Recipe:
    return base.recipe() if name == SAMPLE else RECIPE


def _base(workspace: Workspace, name: str, folder: Path) -> KnowledgeBase:
    if name not in {info.name for info in workspace.bases()}:
        if name == SAMPLE:
            job = workspace.start_demo()[1]
        else:
            job = workspace.create(name, RECIPE).documents.import_beir(folder / name, "test")
        workspace.jobs.run(job)
    return workspace.base(name)


def _figures(
    services: Services,
    base: KnowledgeBase,
    recipe: Recipe,
    own: Sequence[Question],
    foreign: Sequence[Question],
) -> dict[str, float]:
    index = services.indexes.current(base.id, recipe.index)
    answerable = [each for each in own if each.answerable]
    queries = base.runs.queries(answerable, recipe.index)
    snapshot = take_snapshot(services, base.id, recipe, index)
    _, means = base.runs.measure(answerable, queries, snapshot, (10,))
    searched = corpus(services, base.id, recipe, index)

    def read(questions: Sequence[Question]) -> tuple[float, float]:
        """Shares that are refused, and read differently."""
        refused, respelt = list[bool](), list[bool]()
        for question in questions:
            asked, found = gather(question.text, recipe.search, searched, Timeline())
            refused.append(found.topic is not None and found.topic.refused("auto"))
            respelt.append(asked.words != question.text)
        return float(np.mean(refused)), float(np.mean(respelt))

    refused, respelt = read(answerable)
    return {
        "nDCG@10": means["ndcg@10"],
        "refused": refused,
        "read differently": respelt,
        "foreign refused": read(foreign)[0],
    }


if __name__ == "__main__":
    chosen = sys.argv[3:] or COLLECTIONS
    for key, value in measured(Path(sys.argv[2]), Path(sys.argv[1]), chosen).items():
        sys.stdout.write(f"{value:8.4f}  {key}\n")
