"""What each technique that runs offline does to nDCG@10, and what it costs.

``python -m rag bench --only techniques`` runs it: four collections, one passage for each document,
thresholds off. In ``misspelt`` two neighbouring letters are swapped in the longest word of every
SciFact question. Cost is the time of a search without the embedding of the question, as a multiple
of plain hybrid search in the same run (medians over SciFact questions, taken in turns).
"""

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag import Grid, KnowledgeBase, Recipe, Settings, Workspace
from rag.retrieval import Nearness, Timeline, gather, select
from rag.search.corpus import corpus
from rag.services.services import Services

COLLECTIONS = ("scifact", "cranfield", "xquad_en", "anthropic_docs")
TIMED, PLAIN = 60, "hybrid"
TECHNIQUES: Mapping[str, Mapping[str, Any]] = {
    "dense": {"mode": "dense"},
    "lexical": {"mode": "lexical"},
    PLAIN: {},
    "hybrid by reciprocal ranks": {"fusion": "rrf"},
    "+ spelling": {"spelling": True},
    "+ beginnings of words": {"prefix": True},
    "+ near words": {"fuzzy": True},
    "+ feedback: vectors of 2, weight 0.2": {"feedback": 2, "feedback_weight": 0.2},
    "+ feedback: vectors of 2, weight 0.4": {"feedback": 2, "feedback_weight": 0.4},
    "+ feedback: 10 words of 2": {"feedback": 2, "feedback_weight": 0, "feedback_terms": 10},
    "+ feedback: 10 words of 10": {"feedback": 10, "feedback_weight": 0, "feedback_terms": 10},
    "+ feedback: both, of 2": {"feedback": 2, "feedback_weight": 0.2, "feedback_terms": 10},
    "+ copies from 0.95 on left out": {"duplicates": 0.95},
    "+ copies from 0.8 on left out": {"duplicates": 0.8},
    "+ diversity, lambda 0.9": {"mmr": 0.9},
    "+ diversity, lambda 0.7": {"mmr": 0.7},
    "+ diversity, lambda 0.5": {"mmr": 0.5},
    "dense + feedback: vectors of 2, weight 0.2": {"mode": "dense", "feedback": 2},
    "lexical + feedback: 10 words of 10": {
        "mode": "lexical",
        "feedback": 10,
        "feedback_terms": 10,
    },
}
RECIPE = Recipe().with_fields(
    {
        "index.chunker": "whole",
        "search.threshold": None,
        "search.spelling": False,
        "search.synonyms": False,
    }
)


def measure(
    folder: Path, *, collections: Sequence[str] = COLLECTIONS, timed: int = TIMED
) -> dict[str, float]:
    """nDCG@10 and cost by ``"TECHNIQUE | COLUMN"``."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as home:
        settings = Settings.from_env({}, home=Path(home))
        workspace = Workspace(settings)
        for name in collections:
            base = _imported(workspace, folder / name)
            figures |= _quality(base, name, name)
            if name == "scifact":
                _misspell(base, name)
                figures |= _quality(base, "misspelt", "misspelt")
                figures |= _costs(settings, base, timed)
        workspace.close()
    columns = (*collections, "misspelt", "cost")
    return {key: figures[key] for key in (f"{row} | {c}" for row in TECHNIQUES for c in columns)}


def _recipe(name: str) -> Recipe:
    return RECIPE.with_fields({f"search.{key}": each for key, each in TECHNIQUES[name].items()})


def _imported(workspace: Workspace, folder: Path) -> KnowledgeBase:
    base = workspace.create(folder.name, RECIPE)
    workspace.jobs.run(base.documents.import_beir(folder, "test"))
    return base


def _quality(base: KnowledgeBase, questions: str, column: str) -> dict[str, float]:
    sweeper = base.tuning.sweeper(questions)
    return {
        f"{name} | {column}": sweeper.sweep(Grid.parse({}, _recipe(name)), (10,)).base["ndcg@10"]
        for name in TECHNIQUES
    }


def _misspell(base: KnowledgeBase, questions: str) -> None:
    """Adds the questions as ``misspelt``."""
    lines = [
        json.loads(line) for line in base.questions.export_text(questions, "jsonl").splitlines()
    ]
    for line in lines:
        word = max(line["text"].split(), key=len)
        middle = len(word) // 2
        swapped = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
        line["text"] = line["text"].replace(word, swapped, 1)
    content = "\n".join(json.dumps(line) for line in lines)
    base.questions.import_file("misspelt", "misspelt.jsonl", content)


def _costs(settings: Settings, base: KnowledgeBase, timed: int) -> dict[str, float]:
    services = Services.start(settings)
    index = services.indexes.current(base.id, RECIPE.index)
    source = base.tuning.sweeper("scifact")
    asked = source.questions[:timed]
    queries = source.source(RECIPE.index).queries[:timed]
    seconds: dict[str, list[float]] = {name: [] for name in TECHNIQUES}
    for turn in range(2):  # the first one warms up
        for question, query in zip(asked, queries, strict=True):
            for name in TECHNIQUES:
                search = _recipe(name).search
                searched = corpus(services, base.id, _recipe(name), index)
                started = time.perf_counter()
                _, found = gather(question.text, search, searched, Timeline(), query)
                select(found, search, None, None, Nearness(found.keys, searched.dense.vectors))
                if turn:
                    seconds[name].append(time.perf_counter() - started)
    plain = float(np.median(seconds[PLAIN]))
    return {f"{name} | cost": float(np.median(each)) / plain for name, each in seconds.items()}
