"""Faults planted on purpose, and the share for which the diagnosis names the planted cause.

``python -m rag bench --only diagnosis`` breaks questions that pass in one way each, on XQuAD and on
generated tables, and prints for each cause how many broke and the share that is named rightly;
and the processor seconds that the diagnosis of 300 questions takes, fixes included.
"""

import io
import json
import re
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag import PASSING, KnowledgeBase, Recipe, Settings, Upload, Workspace
from rag.experiments.tuning.diagnosis.examining import Examination
from rag.lexical.synonyms import synonyms_by_form
from rag.services.services import Services
from tests import cross_encoder
from tests.typos import mistyped

ASKED = 1190
"""Questions of the collection that are used."""
TIMED = 300
SEED = 7
PLAIN: Mapping[str, Any] = {
    "index.chunker": "whole",
    "search.threshold": None,
    "search.refuse": "off",
    "search.spelling": False,
    "search.synonyms": False,
}
FIXED: Mapping[str, Any] = {"index.chunker": "fixed", "index.chunk_size": 64}
BY_RECIPE: Mapping[str, Mapping[str, Any]] = {
    "filter": {"search.documents": ["p1*", "p2*"]},
    "refused": {"search.refuse": 0.9},
    "threshold": {"search.threshold": 0.7},
    "mmr": {"search.mmr": 0.0},
    "budget": {"answer.context_tokens": 1},
}
WORD = re.compile(r"[a-z]+")
FIRST: Mapping[str, Any] = {"search.top_k": 1}
WORTH: Mapping[str, float] = {"the": -1.0, "The": -1.0}
"""The worth of words to the reranker, which knows nothing of the question."""
CANDIDATES = 10
OUTWEIGHED: Mapping[str, tuple[str, str, float]] = {
    "words_only": ("lexical", "dense", 1.0),
    "meaning_only": ("dense", "lexical", 0.0),
}
"""By cause: the mode that ranks the passage first, the one that does not have it among its
candidates, and a dense weight that counts the other one alone."""
LOW: Sequence[Mapping[str, Any]] = (
    {"search.top_k": 20, "search.dense_weight": 0.0},
    {"search.top_k": 20, "search.dense_weight": 1.0},
)
"""Fusions that leave a passage among the results, below those that its other retriever found."""
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+(?=\s|$)|$)")


@dataclass(frozen=True)
class Passage:
    """A paragraph of the collection, as a document of its own."""

    name: str
    text: str


@dataclass(frozen=True)
class Asked:
    """A question with the document that answers it, and the sentence."""

    id: str
    text: str
    document: str
    quote: str

    def line(self, **changes: str) -> dict[str, Any]:
        """The question as a line of a question file."""
        told = {**vars(self), **changes}
        evidence = {"document": told["document"], "quote": told["quote"]}
        return {"id": self.id, "text": told["text"], "evidence": [evidence]}


@dataclass(frozen=True)
class Bench:
    """A workspace with planted knowledge bases."""

    workspace: Workspace
    services: Services

    def base(self, name: str, files: Mapping[str, str]) -> KnowledgeBase:
        """A new knowledge base with documents."""
        base = self.workspace.create(name, Recipe().with_fields(PLAIN))
        uploads = [Upload(file, io.BytesIO(text.encode())) for file, text in files.items()]
        self.workspace.jobs.run(base.documents.add_files(uploads))
        return base

    def examined(self, base: KnowledgeBase, set_name: str, recipe: Recipe) -> Examination:
        """One question set, searched with a recipe."""
        if base.documents.missing(recipe.index):
            self.workspace.jobs.run(base.documents.build(recipe.index))
        return Examination(self.services, base.id, base.tuning.sweeper(set_name), recipe)

    def causes(self, examination: Examination, only: Collection[str]) -> dict[str, str]:
        """Causes by question, of ``only`` those that fail."""
        failed = examination.failed(lambda _done, _total: None)
        return {one.id: one.cause for one in failed if one.id in only}


def measure(folder: Path) -> dict[str, float]:
    """Figures by ``"CAUSE | COLUMN"``, and the seconds."""
    passages, asked = _collection(folder / "xquad_en")
    with tempfile.TemporaryDirectory() as home:
        settings = Settings.from_env({}, home=Path(home))
        bench = Bench(Workspace(settings), Services.start(settings))
        named = planted(bench, passages, asked, folder)
        seconds = _seconds(bench.workspace.base("clean"))
        bench.workspace.close()
    figures: dict[str, float] = {}
    for cause, causes in named.items():
        right = sum(name == cause for name in causes.values())
        figures[f"{cause} | broken"] = len(causes)
        figures[f"{cause} | named"] = right / max(len(causes), 1)
    return {**figures, f"{TIMED} questions | CPU s": seconds}


def planted(
    bench: Bench, passages: Sequence[Passage], asked: Sequence[Asked], folder: Path
) -> dict[str, dict[str, str]]:
    """The named causes by planted cause and question."""
    clean = bench.base("clean", {one.name: one.text for one in passages})
    return {
        **_by_recipe(bench, clean, asked),
        **_by_question(bench, clean, asked, folder / "xquad_de"),
        **_by_document(bench, passages, asked),
        "synonym": _in_other_words(bench, asked, {one.name: one.text for one in passages}),
        "table_row": _tables(bench),
    }


def _by_recipe(
    bench: Bench, base: KnowledgeBase, asked: Sequence[Asked]
) -> dict[str, dict[str, str]]:
    _import(base, "asked", (one.line() for one in asked))
    _import(base, "timed", (one.line() for one in asked[:TIMED]))
    plain = Recipe().with_fields(PLAIN)
    passing = _passing(bench.examined(base, "asked", plain))
    named = {
        cause: bench.causes(bench.examined(base, "asked", plain.with_fields(fields)), passing)
        for cause, fields in BY_RECIPE.items()
    }
    named["ranked_low"] = {}
    for fields in LOW:
        outranked = bench.examined(base, "asked", plain.with_fields(fields))
        named["ranked_low"] |= bench.causes(outranked, passing & _shown(outranked))
    few = plain.with_fields({"search.candidates": CANDIDATES, "search.top_k": CANDIDATES})
    first, among = (
        {
            mode: _passing(bench.examined(base, "asked", recipe.with_fields({"search.mode": mode})))
            for mode in ("dense", "lexical")
        }
        for recipe in (plain.with_fields(FIRST), few)
    )
    for cause, (by, other, weight) in OUTWEIGHED.items():
        fields = {**FIRST, "search.dense_weight": weight}
        outweighed = bench.examined(base, "asked", few.with_fields(fields))
        named[cause] = bench.causes(outweighed, first[by] - among[other])
    low = passing - first["dense"] - first["lexical"]
    named["top_k"] = bench.causes(bench.examined(base, "asked", plain.with_fields(FIRST)), low)
    with tempfile.TemporaryDirectory() as folder:
        model = cross_encoder.write(Path(folder), cross_encoder.graph(WORTH), WORTH)
        reranked = plain.with_fields({"search.rerank": f"onnx:{model}"})
        named["rerank"] = bench.causes(bench.examined(base, "asked", reranked), passing)
    cut = bench.examined(base, "asked", plain.with_fields(FIXED))
    named["cut"] = bench.causes(cut, passing & _straddling(cut))
    return named


def _by_question(
    bench: Bench, base: KnowledgeBase, asked: Sequence[Asked], folder: Path
) -> dict[str, dict[str, str]]:
    plain = Recipe().with_fields(PLAIN)
    passing = _passing(bench.examined(base, "asked", plain))
    german = dict(_queries(folder))
    _import(base, "german", (one.line(text=german[one.id]) for one in asked))
    words = plain.with_fields({"search.mode": "lexical"})
    by_words = _passing(bench.examined(base, "asked", words))
    _import(base, "typed", (one.line(text=mistyped(one.text, 8, SEED)) for one in asked))
    away = len(asked) // 2
    moved = [
        one.line(document=other.document, quote=other.quote)
        for one, other in zip(asked, [*asked[away:], *asked[:away]], strict=True)
    ]
    _import(base, "moved", moved)
    narrow = {"search.candidates": 20}
    reached = [
        _shown(
            bench.examined(
                base,
                "moved",
                plain.with_fields({**narrow, "search.top_k": 20, "search.mode": mode}),
            )
        )
        for mode in ("dense", "lexical")
    ]
    hidden = {one.id for one in asked} - reached[0] - reached[1]
    return {
        "language": bench.causes(bench.examined(base, "german", plain), passing),
        "misspelt": bench.causes(bench.examined(base, "typed", words), by_words),
        "not_found": bench.causes(bench.examined(base, "moved", plain.with_fields(narrow)), hidden),
    }


def _by_document(
    bench: Bench, passages: Sequence[Passage], asked: Sequence[Asked]
) -> dict[str, dict[str, str]]:
    kinds = ("missing", "misread", "excluded", "copies", "superseded", "good")
    kind = {one.name: kinds[number % len(kinds)] for number, one in enumerate(passages)}
    files: dict[str, str] = {}
    for number, one in enumerate(passages):
        files |= _files(one, kind[one.name], number)
    base = bench.base("planted", files)
    for one in passages:
        if kind[one.name] == "excluded":
            base.documents.edit_passages(one.name, "exclude", (0, len(one.text)))
    lines = {
        one.id: one.line(document=_newest(one.document))
        if kind[one.document] == "superseded"
        else one.line()
        for one in asked
    }
    _import(base, "planted", lines.values())
    plain = Recipe().with_fields(PLAIN)
    of = {name: {one.id for one in asked if kind[one.document] == name} for name in kinds}
    usual = bench.examined(base, "planted", plain)
    first = bench.examined(base, "planted", plain.with_fields(FIRST))
    apart = bench.examined(base, "planted", plain.with_fields({"search.duplicates": 0.9}))
    named = {name: bench.causes(usual, of[name]) for name in ("missing", "misread", "excluded")}
    within = _passing(usual)
    unanswered = [
        {"id": one.id, "text": one.text, "answerable": False}
        for one in asked
        if kind[one.document] == "missing"
    ]
    good = next(one for one in asked if kind[one.document] == "good")
    _import(base, "unanswered", [*unanswered, good.line()])
    named["answered"] = bench.causes(bench.examined(base, "unanswered", plain), of["missing"])
    named["superseded"] = bench.causes(first, of["superseded"] & within)
    named["doubtful"] = bench.causes(first, of["copies"] & within)
    named["duplicates"] = bench.causes(apart, of["copies"] & within)
    return named


def _files(one: Passage, kind: str, number: int) -> dict[str, str]:
    """The documents that stand for a paragraph."""
    match kind:
        case "missing":
            return {}
        case "misread":
            return {one.name: _misread(one.text, number)}
        case "copies":
            more = "See the notes at the end of this leaflet for the sources."
            return {one.name: one.text, f"leaflet {one.name}": f"{one.text} {more}"}
        case "superseded":
            older = re.sub(r"\d", lambda digit: str((int(digit[0]) + 3) % 10), one.text)
            return {_newest(one.name): one.text, f"2024 {one.name}": older}
        case _:
            return {one.name: one.text}


def _newest(name: str) -> str:
    return f"2025 {name}"


def _misread(text: str, number: int) -> str:
    """Broken characters, letters apart, or letters mistaken for others, by number."""
    if number % 3 == 0:
        return re.sub("[aeo]", "\ufffd", text)
    if number % 3 == 1:
        return " ".join(text.replace(" ", ""))
    return text.translate(str.maketrans({"e": "c", "n": "u", "i": "l", "h": "b", "t": "f"}))


def _in_other_words(
    bench: Bench, asked: Sequence[Asked], texts: Mapping[str, str]
) -> dict[str, str]:
    """Words of questions that their document has give way to synonyms that no document has."""
    written = {word for text in texts.values() for word in WORD.findall(text.lower())}
    lines, chosen = list[dict[str, Any]](), list[Asked]()
    for one in asked:
        own = {*WORD.findall(texts[one.document].lower())}
        pairs = (
            (word, other)
            for word in WORD.findall(one.text)
            if word in own
            for other in sorted(synonyms_by_form().get(word, set()) - written)
        )
        word, other = next(pairs, ("", ""))
        if word:
            chosen.append(one)
            lines.append(one.line(text=re.sub(rf"\b{word}\b", other, one.text)))
    base = bench.base("in other words", texts)
    _import(base, "as written", (one.line() for one in chosen))
    _import(base, "in other words", lines)
    words = Recipe().with_fields({**PLAIN, **FIRST, "search.mode": "lexical"})
    passing = _passing(bench.examined(base, "as written", words))
    return bench.causes(bench.examined(base, "in other words", words), passing)


def _tables(bench: Bench) -> dict[str, str]:
    """Rows of a model in several tables: only the labels tell which one is meant."""
    properties = ["Noise level", "Net weight", "Warranty", "Voltage", "Lead time", "Capacity"]
    models = [f"QX-{number}" for number in range(10, 40)]
    files = {
        f"table {at}.csv": "\n".join(
            [f"Model,{name},Class"]
            + [
                f"{model},{(7 * at + 3 * row) % 90 + 10},{'ABC'[row % 3]}"
                for row, model in enumerate(models)
            ]
        )
        for at, name in enumerate(properties)
    }
    base = bench.base("tables", files)
    lines = [
        {
            "id": f"{at}-{model}",
            "text": f"What is the {name.lower()} of the {model}?",
            "evidence": [
                {
                    "document": f"table {at}.csv",
                    "quote": f"{model}\t{(7 * at + 3 * row) % 90 + 10}\t{'ABC'[row % 3]}",
                }
            ],
        }
        for at, name in enumerate(properties)
        for row, model in enumerate(models)
    ]
    _import(base, "tables", lines)
    rows = Recipe().with_fields(
        {**PLAIN, "index.chunker": "recursive", "index.chunk_size": 16, "search.top_k": 1}
    )
    labelled = rows.with_fields({"index.context": "table"})
    passing = _passing(bench.examined(base, "tables", labelled))
    without = rows.with_fields({"index.context": "none"})
    return bench.causes(bench.examined(base, "tables", without), passing)


def _passing(examination: Examination) -> set[str]:
    good = examination.scores >= PASSING
    return {one.id for one, has in zip(examination.questions, good, strict=True) if has}


def _shown(examination: Examination) -> set[str]:
    pairs = zip(examination.questions, examination.searched, strict=True)
    return {one.id for one, searched in pairs if searched.judged.first_relevant}


def _straddling(examination: Examination) -> set[str]:
    """Questions whose label is not in one passage by three quarters."""
    ids = set()
    for question in examination.questions:
        (label,) = question.evidence
        if label.end is None:
            continue
        spans = np.array(examination.source.judge.spans[label.document_id])[:, 1:]
        shared = np.minimum(spans[:, 1], label.end) - np.maximum(spans[:, 0], label.start)
        if shared.max() < 0.75 * (label.end - label.start):
            ids.add(question.id)
    return ids


def _seconds(base: KnowledgeBase) -> float:
    """Processor seconds of a whole diagnosis, in which a strict threshold makes many fail."""
    strict = Recipe().with_fields({**PLAIN, "search.threshold": 0.6})
    started = time.process_time()
    base.tuning.diagnoses.diagnose("timed", strict)
    return time.process_time() - started


def _import(base: KnowledgeBase, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
    base.questions.import_file(name, f"{name}.jsonl", "\n".join(map(json.dumps, lines)))


def _collection(folder: Path) -> tuple[list[Passage], list[Asked]]:
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").open()]
    passages = [Passage(f"{row['_id']}.md", row["text"].replace("\n", " ")) for row in rows]
    texts = {one.name: one.text for one in passages}
    queries = dict(_queries(folder))
    asked = []
    for line in (folder / "spans.jsonl").open():
        row = json.loads(line)
        document, answer = f"{row['doc_id']}.md", row["answers"][0]
        quote = _sentence(texts[document], int(answer["start"]))
        asked.append(Asked(row["query_id"], queries[row["query_id"]], document, quote))
    step = max(1, len(asked) // ASKED)
    return passages, asked[::step][:ASKED]


def _sentence(text: str, at: int) -> str:
    spans = (match for match in _SENTENCE.finditer(text) if match.end() > at)
    return next(spans)[0].strip()


def _queries(folder: Path) -> list[tuple[str, str]]:
    rows = (json.loads(line) for line in (folder / "queries.jsonl").open())
    return [(row["_id"], row["text"]) for row in rows]
