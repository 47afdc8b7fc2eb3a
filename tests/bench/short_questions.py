"""The price of the threshold and of refusal, by the length of a question.

``python -m rag bench --only short_questions`` prints nDCG@10 of a new recipe without a threshold,
with the default threshold on the cosine alone, and with ``search.matched_words``, and the share of
answerable questions that ``search.refuse=auto`` refuses: for questions as they are, and for their
three and two rarest words, as people type them into a search box. Of each collection but the sample
a part of about 200,000 characters is read. ``python -m tests.bench.short_questions FOLDER HOME
[COLLECTION ...]`` keeps the home: nothing is embedded a second time.
"""

import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rag import SAMPLE, KnowledgeBase, Question, Recipe, Settings, Workspace
from rag.lexical import term_weights
from rag.retrieval import Timeline, gather
from rag.search.corpus import corpus
from rag.search.snapshot import take_snapshot
from rag.services.indexing.index import Index
from rag.services.services import Services
from tests.bench.refusal import copy_part

COLLECTIONS = (SAMPLE, "xquad_en", "cranfield", "anthropic_docs", "scifact")
CHARACTERS = 200_000
QUESTIONS = 150
"""Of a collection, at most."""
LENGTHS: Mapping[str, int] = {"whole": 0, "3 words": 3, "2 words": 2}
RULES: Mapping[str, Mapping[str, Any]] = {
    "no threshold": {"search.threshold": None},
    "cosine": {"search.matched_words": False},
    "cosine or words": {},
}
_WORD = re.compile(r"[\w'’-]+")


def measure(folder: Path, *, collections: Sequence[str] = COLLECTIONS) -> dict[str, float]:
    """Figures by ``"COLLECTION, LENGTH: WHAT"``."""
    with tempfile.TemporaryDirectory() as home:
        return measured(Path(home), folder, collections)


def measured(
    home: Path, folder: Path, collections: Sequence[str] = COLLECTIONS
) -> dict[str, float]:
    """The same in a home that is kept."""
    settings = Settings.from_env({}, home=home)
    workspace, services = Workspace(settings), Services.start(settings)
    figures = dict[str, float]()
    for name in collections:
        base = _base(workspace, name, folder)
        index = services.indexes.current(base.id, Recipe().index)
        _, stored = base.runs.questions(name)
        questions = [question for question in stored if question.answerable][:QUESTIONS]
        for length, words in LENGTHS.items():
            asked = [
                replace(question, text=_shortened(question.text, words, index))
                for question in questions
            ]
            for what, value in _figures(services, base, index, asked).items():
                figures[f"{name}, {length}: {what}"] = value
    workspace.close()
    return figures


def _base(workspace: Workspace, name: str, folder: Path) -> KnowledgeBase:
    if name in {info.name for info in workspace.bases()}:
        return workspace.base(name)
    if name == SAMPLE:
        base, job = workspace.start_demo()
        workspace.jobs.run(job)
        return base
    base = workspace.create(name, Recipe())
    with tempfile.TemporaryDirectory() as part:
        copy_part(folder / name, Path(part) / name, CHARACTERS)
        workspace.jobs.run(base.documents.import_beir(Path(part) / name, "test"))
    return base


def _shortened(text: str, count: int, index: Index) -> str:
    """The ``count`` rarest words of a question in their order; 0 is the whole question."""
    words = _WORD.findall(text)
    if not count or not words:
        return text
    passages = len(index.passages)
    rarity = [
        max(term_weights(word, index.lexical, passages).values(), default=0.0) for word in words
    ]
    rarest = np.argsort(-np.array(rarity), kind="stable")[:count]
    return " ".join(words[place] for place in sorted(rarest.tolist()))


def _figures(
    services: Services, base: KnowledgeBase, index: Index, questions: Sequence[Question]
) -> dict[str, float]:
    queries = base.runs.queries(questions, Recipe().index)
    figures = dict[str, float]()
    for rule, changes in RULES.items():
        recipe = Recipe().with_fields({"search.refuse": "off", **changes})
        snapshot = take_snapshot(services, base.id, recipe, index)
        _, means = base.runs.measure(questions, queries, snapshot, (10,))
        figures[f"nDCG@10, {rule}"] = means["ndcg@10"]
    searched = corpus(services, base.id, Recipe(), index)
    topics = (
        gather(question.text, Recipe().search, searched, Timeline())[1].topic
        for question in questions
    )
    refused = [topic is not None and topic.refused("auto") for topic in topics]
    figures["answerable refused"] = float(np.mean(refused))
    return figures


if __name__ == "__main__":
    chosen = sys.argv[3:] or COLLECTIONS
    for key, value in measured(Path(sys.argv[2]), Path(sys.argv[1]), chosen).items():
        sys.stdout.write(f"{value:8.4f}  {key}\n")
