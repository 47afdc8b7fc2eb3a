"""Whether the documents speak of a question: how well that is told for documents never seen.

``python -m rag bench --only refusal`` prints, for five collections, the share of foreign questions
(those of the other collections) and of answerable ones that ``search.refuse=auto`` refuses, by a
model that was taught without the collection and without its questions. Where documents have
headings there are two rows: passages that keep to their sections, and those that do not. For the
sample's questions on its topic that it does not answer it also prints what a threshold on
calibrated probabilities does, fitted and chosen on one part of the questions and measured on the
other, and what limits of refusal do that labels choose, cross-validated. ``python -m
tests.bench.refusal FOLDER [HOME [EMBEDDER ...]]`` teaches the shipped models on all; a home that is
named is kept, and nothing is read or embedded a second time.

A model is taught with what the collections have, and with harder questions made of it: where the
relevant passages are left out the documents still speak of the topic, and a question of which most
words are hidden from the word index is a paraphrase without a word in common. Without these it
would go by the words that questions of test collections share with their passages.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rag import SAMPLE, KnowledgeBase, Question, Recipe, Settings, TopicProbabilities, Workspace
from rag.protocols import Embedder
from rag.recipe import Chunker
from rag.retrieval.topic import (
    FEATURES,
    TopicEvidence,
    TopicModel,
    shipped,
    taught,
    topic_evidence,
    write_shipped,
)
from rag.services.indexing.index import Index
from rag.services.services import Services
from rag.types import Keys, Vectors

COLLECTIONS = ("scifact", "cranfield", "xquad_en", "anthropic_docs", SAMPLE)
CUTS: tuple[Chunker, ...] = ("recursive", "markdown")
"""What models are taught on: passages of sections are shorter than those that run across them."""


@dataclass(frozen=True)
class Teaching:
    """How the model of one embedder is taught. ``limit`` is what ``auto`` means.

    Of each collection but the sample about ``characters`` are read, see ``copy_part``.
    """

    limit: float
    collections: tuple[str, ...] = COLLECTIONS
    cuts: tuple[Chunker, ...] = CUTS
    characters: int = 1_000_000_000


TEACHINGS: Mapping[str, Teaching] = {
    # The limit lies between the least that refuses as many foreign questions of every collection
    # as the model did that was taught on passages across sections, and the greatest that refuses
    # no more answerable ones. One figure for all collections, the sample's paraphrases included.
    "minilm": Teaching(0.275),
    # Lower than what fits questions in the language of the documents: for those in another one
    # there is no evidence of words.
    "multilingual-e5": Teaching(0.1, (*COLLECTIONS, "xquad_de"), ("markdown",), 200_000),
}
TRANSLATED = frozenset({"xquad_en", "xquad_de"})
"""The same documents and questions in two languages: to each other they are not foreign."""
QUESTIONS = 300
"""Of a collection, at most."""
HIDDEN = 0.6
"""Share of the words of a made paraphrase that no passage has."""
SHARES = (0.3, 0.1, 0.6)
"""Of the questions as they are, with hidden words, and without their answers."""
WEIGHT = 200.0
"""Of the questions of each side of a collection together, however many there are."""
COSTS = (0.05, 0.1, 0.2, 0.3)
"""Shares of the answerable questions that may be refused for the sake of the others."""
ELSEWHERE = ("Who won the 2022 world cup?", "What is the weather in Paris tomorrow?")


@dataclass
class Asked:
    """Evidence for one collection: on its own questions, easy and hard, and on those of others.

    ``foreign`` is by collection of the questions; ``figures`` has others by name. ``translated``
    are answerable questions in another language than the documents.
    """

    answerable: list[TopicEvidence] = field(default_factory=list)
    hard: list[list[TopicEvidence]] = field(default_factory=list)
    foreign: dict[str, list[TopicEvidence]] = field(default_factory=dict)
    unanswerable: list[TopicEvidence] = field(default_factory=list)
    elsewhere: list[TopicEvidence] = field(default_factory=list)
    translated: list[TopicEvidence] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)


ByCut = dict[str, Asked]
"""Evidence for one collection by the chunker of its passages; once where both cut alike."""
Pair = tuple[str, Vectors]
"""A question and its vector."""


def measure(
    folder: Path,
    *,
    embedders: Sequence[str] = tuple(TEACHINGS),
    collections: Sequence[str] | None = None,
) -> dict[str, float]:
    """Shares by ``"EMBEDDER COLLECTION: WHAT"``, each by a model taught without that collection."""
    figures: dict[str, float] = {}
    for embedder in embedders:
        with tempfile.TemporaryDirectory() as home:
            asked = evidence(Path(home), folder, embedder, collections)
        figures |= left_out(asked, embedder)
    return figures


def left_out(asked: Mapping[str, ByCut], embedder: str) -> dict[str, float]:
    """What a model that was taught without a collection does there, collection by collection.

    Nor was it taught with a translation of the collection.
    """
    figures: dict[str, float] = {}
    for name, cuts in asked.items():
        rest = {
            other: asked[other]
            for other in asked
            if other != name and not {other, name} <= TRANSLATED
        }
        model = taught_on(rest, embedder)
        for cut, each in cuts.items():
            where = f"{embedder} {name}, {cut}"
            strangers = [found for questions in each.foreign.values() for found in questions]
            figures[f"{where}: foreign refused"] = _refused(model, strangers)
            figures[f"{where}: answerable refused"] = _refused(model, each.answerable)
            if each.translated:
                refused = _refused(model, each.translated)
                figures[f"{where}: answerable, in another language, refused"] = refused
            if each.unanswerable:
                refused = _refused(model, each.unanswerable)
                figures[f"{where}: unanswerable, of its topic, refused"] = refused
                each.figures |= _limits(model, each)
            for what, share in each.figures.items():
                figures[f"{where}: {what}"] = share
            for question, found in zip(ELSEWHERE, each.elsewhere, strict=False):
                figures[f"{where}: probability, {question}"] = model.judged(found).probability
    return figures


def _limits(model: TopicModel, asked: Asked) -> dict[str, float]:
    """What limits of refusal that labels choose refuse, cross-validated."""
    both, figures = [*asked.answerable, *asked.unanswerable], dict[str, float]()
    answerable = np.arange(len(both)) < len(asked.answerable)
    values = np.array([model.judged(each).probability for each in both])
    found = TopicProbabilities(values, answerable, model.limit)
    for cost in COSTS:
        if (chosen := found.chosen(cost)) is not None:
            shares = chosen.expected
            what = f"limit by labels, aiming at {cost:.0%}"
            figures[f"{what}: answerable refused"] = shares.answerable or 0.0
            figures[f"{what}: unanswerable refused"] = shares.unanswerable or 0.0
    return figures


def taught_on(asked: Mapping[str, ByCut], embedder: str) -> TopicModel:
    """A model from some collections, each of which counts alike, and so do its cuts."""
    spoken, foreign = list[tuple[TopicEvidence, float]](), list[tuple[TopicEvidence, float]]()
    for cuts in asked.values():
        weight = WEIGHT / len(cuts)
        for each in cuts.values():
            for share, found in zip(SHARES, [each.answerable, *each.hard], strict=True):
                spoken += [(item, share * weight / len(found)) for item in found]
            strangers = [item for other in asked for item in each.foreign.get(other, ())]
            foreign += [(item, weight / len(strangers)) for item in strangers]
    source = f"{len(asked)} collections"
    return taught(spoken, foreign, FEATURES, TEACHINGS[embedder].limit, source)


def _refused(model: TopicModel, found: Sequence[TopicEvidence]) -> float:
    return float(np.mean([model.judged(each).refused("auto") for each in found]))


def evidence(
    home: Path, folder: Path, embedder: str, collections: Sequence[str] | None = None
) -> dict[str, ByCut]:
    """Reads all collections into a home and looks every question up in every one of them."""
    teaching = TEACHINGS[embedder]
    collections = collections or teaching.collections
    settings = Settings.from_env({}, home=home)
    workspace, services = Workspace(settings), Services.start(settings)
    recipe = Recipe().with_fields({"index.embedder": embedder})
    recipes = {cut: recipe.with_fields({"index.chunker": cut}) for cut in teaching.cuts}
    bases = {
        name: _base(workspace, name, folder, recipes.values(), teaching.characters)
        for name in collections
    }
    questions = {name: _answerable(base, name) for name, base in bases.items()}
    model = services.models.embedder(embedder)
    texts = {name: [item.text for item in each] for name, each in questions.items()}
    pairs = {name: _with_vectors(model, each) for name, each in texts.items()}
    found: dict[str, ByCut] = {}
    for name, base in bases.items():
        found[name] = {}
        seen = list[Keys]()
        for cut, one in recipes.items():
            lookup = _Lookup(services.indexes.current(base.id, one.index))
            if any(np.array_equal(lookup.index.passages, keys) for keys in seen):
                continue  # documents without headings
            seen.append(lookup.index.passages)
            found[name][cut] = _asked(base, questions[name], pairs, lookup, one)
            for other in TRANSLATED & bases.keys() - {name} if name in TRANSLATED else ():
                own = {item.id for item in questions[name]}
                both = zip(questions[other], pairs[other], strict=True)
                found[name][cut].translated = lookup.all(
                    [pair for item, pair in both if item.id in own]
                )
            if name == SAMPLE:
                _, every = base.runs.questions(SAMPLE)
                lacking = [item.text for item in every if not item.answerable]
                found[name][cut].unanswerable = lookup.all(_with_vectors(model, lacking))
                found[name][cut].elsewhere = lookup.all(_with_vectors(model, ELSEWHERE))
                found[name][cut].figures |= _calibrated(base, one)
    workspace.close()
    return found


def _asked(
    base: KnowledgeBase,
    questions: Sequence[Question],
    pairs: Mapping[str, Sequence[Pair]],
    lookup: _Lookup,
    recipe: Recipe,
) -> Asked:
    own, dice = pairs[base.name], random.Random(0)
    hidden = [(_paraphrase(text, dice), vector) for text, vector in own]
    rest = list(_without_answers(base, questions, lookup.index, recipe))
    return Asked(
        answerable=lookup.all(own),
        hard=[lookup.all(hidden), lookup.all(own, rest)],
        foreign={
            other: lookup.all(pairs[other])
            for other in pairs
            if other != base.name and not {other, base.name} <= TRANSLATED
        },
    )


def _with_vectors(model: Embedder, texts: Sequence[str]) -> list[Pair]:
    return list(zip(texts, model.embed(texts, "query"), strict=True))


def _calibrated(base: KnowledgeBase, recipe: Recipe) -> dict[str, float]:
    """What thresholds on probabilities refuse, on questions that they were not chosen on."""
    calibrator, figures = base.tuning.calibrator, dict[str, float]()
    alone = {"search.relevance": "probability", "search.refuse": "off"}
    _, seen = calibrator.fit(SAMPLE, recipe)
    others = base.tuning.tuner(SAMPLE).threshold_curve(recipe.with_fields(alone))
    for cost in COSTS:
        point = others.at(float(np.quantile(seen.answerable, cost)))
        figures[f"calibrated, aiming at {cost:.0%}: answerable refused"] = 1 - (point.answered or 0)
        figures[f"calibrated, aiming at {cost:.0%}: unanswerable refused"] = point.refused or 0
    return figures


class _Lookup:
    """Evidence in one index."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def all(
        self, asked: Sequence[Pair], allowed: Sequence[Keys] | None = None
    ) -> list[TopicEvidence]:
        dense, words, passages = self.index.dense, self.index.lexical, len(self.index.passages)
        limits = allowed or [None] * len(asked)
        found = [
            topic_evidence(text, vector, dense, words, passages, limit)
            for (text, vector), limit in zip(asked, limits, strict=True)
        ]
        return [each for each in found if each is not None]


def _base(
    workspace: Workspace, name: str, folder: Path, recipes: Collection[Recipe], characters: int
) -> KnowledgeBase:
    if name not in {info.name for info in workspace.bases()}:
        if name == SAMPLE:
            base, job = workspace.start_demo()
            workspace.jobs.run(job)
        else:
            base = workspace.create(name, next(iter(recipes)))
            with tempfile.TemporaryDirectory() as part:
                copy_part(folder / name, Path(part) / name, characters)
                workspace.jobs.run(base.documents.import_beir(Path(part) / name, "test"))
    base = workspace.base(name)
    for recipe in recipes:
        if base.documents.missing(recipe.index):
            workspace.jobs.run(base.documents.build(recipe.index))
    return base


def copy_part(folder: Path, target: Path, characters: int) -> None:
    """Copy a collection with documents of about ``characters`` at most, and their questions.

    Questions come in their order, each with all documents that are judged for it, as long as
    these fill three quarters. Others fill the rest.
    """
    judged: dict[str, list[str]] = {}
    header, *labels = (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()
    for label in labels:
        judged.setdefault(label.split("\t")[0], []).append(label)
    lines = (folder / "corpus.jsonl").read_text("utf-8").splitlines()
    rows = {str(json.loads(line)["_id"]): line for line in lines}
    whole = sum(map(len, lines)) <= characters
    chosen, kept = dict[str, None](), list[str]()
    for question in judged.values():
        added = chosen | {label.split("\t")[1]: None for label in question}
        if whole or sum(len(rows[name]) for name in added) <= 0.75 * characters:
            chosen = added
            kept += question
    others = [name for name in rows if name not in chosen]
    random.Random(0).shuffle(others)
    size = sum(len(rows[name]) for name in chosen)
    for name in others:
        if whole or size + len(rows[name]) <= characters:
            chosen[name] = None
            size += len(rows[name])
    (target / "qrels").mkdir(parents=True)
    (target / "qrels" / "test.tsv").write_text("\n".join([header, *kept]) + "\n", "utf-8")
    corpus = "\n".join(line for name, line in rows.items() if name in chosen)
    (target / "corpus.jsonl").write_text(f"{corpus}\n", "utf-8")
    shutil.copy(folder / "queries.jsonl", target)


def _answerable(base: KnowledgeBase, name: str) -> list[Question]:
    _, every = base.runs.questions(name)
    answerable = sorted((item for item in every if item.answerable), key=lambda item: item.id)
    return random.Random(0).sample(answerable, min(QUESTIONS, len(answerable)))


def _paraphrase(text: str, dice: random.Random) -> str:
    words = enumerate(text.split())
    return " ".join(f"qzx{at}" if dice.random() < HIDDEN else word for at, word in words)


def _without_answers(
    base: KnowledgeBase, questions: Sequence[Question], index: Index, recipe: Recipe
) -> Iterator[Keys]:
    """The passages of a base without those that are relevant to each question."""
    for question in questions:
        relevant = list[int]()
        for label in question.evidence:
            if label.end is None:
                relevant += index.keys.get(label.document_id, np.empty(0, np.int64)).tolist()
            elif not label.lost:
                relevant += [
                    chunk.key
                    for chunk in base.documents.chunks(label.document_id, recipe.index)
                    if chunk.start < label.end and label.start < chunk.end
                ]
        yield np.setdiff1d(index.passages, np.array(relevant, np.int64))


def main(folder: Path, home: Path | None = None, *embedders: Path) -> None:
    """Teaches a model for each embedder on all collections, and writes the shipped ones."""
    models = dict[str, TopicModel]()
    for embedder in map(str, embedders or TEACHINGS):
        with tempfile.TemporaryDirectory() as fresh:
            asked = evidence(home or Path(fresh), folder, embedder)
        models[embedder] = taught_on(asked, embedder)
    if "minilm" in models:
        models["minilm-fast"] = models["minilm"]  # its cosines are the same to the third decimal
    present = {name: model for name in TEACHINGS if (model := shipped(name))}
    write_shipped(present | models)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
