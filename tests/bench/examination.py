"""The examination of documents: how much of what it shows is real, and how much it finds.

``python -m rag bench --only examination --data ../shared/datasets`` prints, for the sample and for
papers, the contradictions shown and how many of them are real; and the shares of planted changes
found. A planted change is a sentence in a document of its own, in other words, with one figure
changed. Each half of the documents is measured apart: "kept apart" is the half on which no rule was
chosen.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.examination.claims import Claim, claims_of, value_of
from rag.examination.examining import examine
from rag.readers import read, read_text
from rag.types import Document

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
PLANTED = 60
_OTHER_WORDS = {
    "must": "have to",
    "employees": "members of staff",
    "employee": "member of staff",
    "at least": "no less than",
    "at most": "no more than",
    "per": "for each",
    "everybody": "all",
    "is": "remains",
    "before": "ahead of",
    "within": "inside",
    "after": "following",
    "about": "roughly",
    "with": "having",
    "when": "as soon as",
    "use": "employ",
    "used": "employed",
    "needs": "requires",
    "every": "each",
    "may": "can",
    "we": "the authors",
    "show": "demonstrate",
}
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w.,-]*\d)")


@dataclass(frozen=True, slots=True)
class Planted:
    """A changed sentence, and the document and claim that it contradicts."""

    document: Document
    claim: Claim


def measure(folder: Path) -> dict[str, float]:
    """Counts and shares by ``"COLLECTION | FIGURE"``."""
    figures: dict[str, float] = {}
    for name, documents in (("sample", sample()), ("aragog", papers(folder))):
        started = time.process_time()
        shown = examine(documents)
        figures[f"{name} | CPU seconds"] = time.process_time() - started
        for kind in sorted({finding.kind for finding in shown}):
            figures[f"{name} | shown | {kind}"] = sum(finding.kind == kind for finding in shown)
        for half, members in (("kept apart", 1), ("first half", 0)):
            found, real = planted_figures(documents, members)
            figures[f"{name} | planted found | {half}"] = found
            figures[f"{name} | real of what is shown | {half}"] = real
    return figures


def sample() -> list[Document]:
    """The documents of the sample."""
    paths = sorted(path for path in SAMPLE.iterdir() if path.name != "questions.jsonl")
    return [read(path, path.name) for path in paths]


def papers(folder: Path) -> list[Document]:
    """The papers of the collection ``aragog``."""
    with (folder / "aragog" / "corpus.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [read_text(row["text"], row["title"]) for row in rows]


def planted_figures(
    documents: Sequence[Document], half: int, count: int = PLANTED
) -> tuple[float, float]:
    """The share of planted changes shown, and the share of shown contradictions that are planted.

    A contradiction between a planted document and another than its source is not real.
    """
    planted = list(plant(documents, half, count))
    findings = examine([*documents, *(change.document for change in planted)])
    shown = [finding for finding in findings if finding.kind == "contradiction"]
    sources = {change.document.id: documents[change.claim.document].id for change in planted}
    found = {
        new
        for finding in shown
        for new, source in sources.items()
        if {place.document_id for place in finding.places} == {new, source}
    }
    real = sum(
        any(
            {place.document_id for place in finding.places} == {new, source}
            for new, source in sources.items()
        )
        for finding in shown
    )
    return len(found) / len(planted), real / max(len(shown), 1)


def plant(documents: Sequence[Document], half: int, count: int) -> Iterator[Planted]:
    """Yield changes of random sentences of one half of the documents."""
    rng = random.Random(half)
    claims = [
        claim
        for position, document in enumerate(documents)
        if position % 2 == half
        for claim in claims_of(position, document)
        if not claim.row and len(claim.words) >= 5
    ]
    rng.shuffle(claims)
    for claim in claims:
        document = documents[claim.document]
        text = " ".join(document.text[claim.start : claim.end].split())
        numbers = list(_NUMBER.finditer(text))
        values = {value for value, _ in claim.figures}
        if len(numbers) != 1 or count == 0 or value_of(numbers[0][0]) not in values:
            continue
        count -= 1
        changed = str(round(float(numbers[0][0]) * 1.5 + 1))
        edited = text[: numbers[0].start()] + changed + text[numbers[0].end() :]
        name = f"Notes on {document.name.rpartition('.')[0] or document.name} {count}"
        yield Planted(read_text(f"{name}\n\n{reworded(edited, rng)}\n", name), claim)


def reworded(sentence: str, rng: random.Random) -> str:
    """A sentence in other words, without some of its words, and after an introduction."""
    words = sentence
    for word, other in _OTHER_WORDS.items():
        words = re.sub(rf"\b{word}\b", other, words, flags=re.IGNORECASE)
    tokens = words.split()
    units = {0, *(at + 1 for at, token in enumerate(tokens) if token[0].isdigit())}
    kept = [
        token
        for at, token in enumerate(tokens)
        if at in units or any(map(str.isdigit, token)) or rng.random() > 0.1
    ]
    introduction = rng.choice(("Please note:", "As agreed,", "For the record,", "In short,"))
    return f"{introduction} {' '.join(kept)}"
