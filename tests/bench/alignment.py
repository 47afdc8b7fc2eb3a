"""Texts that systems return, located in documents: the share placed rightly, and the time.

``python -m rag bench --only alignment`` runs it. Passages are cut by three chunkers and changed as
other systems change them. A place is right if it shares four fifths of its union with the passage.
Foreign texts are passages of the other collections.
"""

from __future__ import annotations

import html
import random
import re
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from rag import chunking, readers
from rag.evaluation.formats import beir
from rag.recipe import IndexRecipe
from rag.systems.alignment import AlignedText, Aligner, Source
from rag.types import Chunk, Document
from rag.workspace import SAMPLE_FOLDER
from tests.tokenizers import Words

COLLECTIONS = (
    *("sample", "anthropic_docs", "chroma_chunking_eval", "cranfield", "scifact"),
    *("xquad_en", "xquad_de"),
)
CHUNKERS = (("fixed", 120), ("recursive", 200), ("sentence", 80))
PASSAGES, FOREIGN = 500, 500
RIGHT = 0.8
_FORMATS = (".pdf", ".md", ".html", ".txt", ".docx", ".csv")


def _as_it_is(text: str, _dice: random.Random) -> str:
    return text


def _spaced(text: str, _dice: random.Random) -> str:
    return " ".join(text.split())


def _cut(text: str, dice: random.Random) -> str:
    most = min(40, len(text) // 20)
    return f"...{text[dice.randint(0, most) : len(text) - dice.randint(0, most)]}..."


def _without_markup(text: str, _dice: random.Random) -> str:
    text = re.sub(r"!?\[([^\]\n]*)\]\([^)\n]*\)", r"\1", text)
    text = re.sub(r"<[^<>\n]+>", "", text)
    return re.sub(r"(?m)^\s*(?:[#>]+|[-*+])\s+|[*_`|]+|^\s*[-:| ]+$", "", text)


def _as_html(text: str, _dice: random.Random) -> str:
    return "".join(f'<p class="c">{html.escape(part)}</p>\n' for part in text.split("\n"))


def _hyphenated(text: str, _dice: random.Random) -> str:
    return re.sub(r"(\w{30,60}?\w{4})(\w{4})", r"\1-\n\2", re.sub(r"\s+", " ", text))


def _decomposed(text: str, _dice: random.Random) -> str:
    return unicodedata.normalize("NFD", text.replace("fi", "\ufb01"))


def _titled(text: str, _dice: random.Random) -> str:
    return f"Source: the library of documents, part 7\n\n{text}"


def _misread(text: str, dice: random.Random) -> str:
    """One word in twenty is another, as after recognition or an edit."""
    return re.sub(r"\w+", lambda match: "xyzzy" if dice.random() < 0.05 else match[0], text)


CHANGES: Mapping[str, Callable[[str, random.Random], str]] = {
    "as it is": _as_it_is,
    "white space": _spaced,
    "cut ends": _cut,
    "markup removed": _without_markup,
    "as HTML": _as_html,
    "hyphenated": _hyphenated,
    "other Unicode form": _decomposed,
    "with a title": _titled,
    "1 word in 20 misread": _misread,
}


def measure(
    folder: Path,
    *,
    collections: Sequence[str] = COLLECTIONS,
    passages: int = PASSAGES,
    foreign: int = FOREIGN,
) -> dict[str, float]:
    """Shares and milliseconds a text by ``"COLLECTION, CHANGE | WHAT"``."""
    dice = random.Random(3)
    documents = {name: _documents(folder, name) for name in collections}
    cut = {name: _passages(documents[name], passages, dice) for name in collections}
    figures: dict[str, float] = {}
    for name in collections:
        texts = {document.id: document.text for document in documents[name]}
        sources = [Source(item.id, item.name, len(item.text)) for item in documents[name]]
        aligner = Aligner(sources, texts.__getitem__)
        for change, changed in CHANGES.items():
            wanted = [(passage, changed(passage.text, dice)) for passage in cut[name]]
            figures |= _placed(f"{name}, {change}", aligner, wanted)
        others = [
            (passage, passage.text)
            for other in collections
            if other != name and {other, name} != {"xquad_en", "xquad_de"}
            for passage in cut[other]
        ]
        if others:
            strangers = dice.sample(others, min(foreign, len(others)))
            figures |= _placed(f"{name}, foreign", aligner, strangers)
    return figures


def _placed(name: str, aligner: Aligner, wanted: Sequence[tuple[Chunk, str]]) -> dict[str, float]:
    """Figures of texts; ``placed`` counts places that are right, or reported as ambiguous."""
    started = time.process_time()
    places = [aligner.align(text) for _, text in wanted]
    seconds = time.process_time() - started
    ambiguous = [place.method == "ambiguous" for place in places]
    placed = [
        tie or _shared(place, passage) >= RIGHT
        for place, tie, (passage, _) in zip(places, ambiguous, wanted, strict=True)
    ]
    missed = [place.method == "foreign" for place in places]
    return {
        f"{name} | placed": float(np.mean(placed)),
        f"{name} | ambiguous": float(np.mean(ambiguous)),
        f"{name} | foreign": float(np.mean(missed)),
        f"{name} | ms": 1000 * seconds / len(wanted),
    }


def _shared(place: AlignedText, passage: Chunk) -> float:
    if place.document_id != passage.document_id:
        return 0.0
    shared = min(place.end, passage.end) - max(place.start, passage.start)
    return shared / (max(place.end, passage.end) - min(place.start, passage.start))


def _documents(folder: Path, name: str) -> list[Document]:
    if name == "sample":
        files = sorted(path for path in SAMPLE_FOLDER.iterdir() if path.suffix in _FORMATS)
        return [readers.read(path, path.name) for path in files]
    return [row.document("") for row in beir.read_documents(folder / name)]


def _passages(documents: Sequence[Document], number: int, dice: random.Random) -> list[Chunk]:
    """A sample of the passages of some documents, a third by each chunker."""
    some = dice.sample(documents, min(len(documents), 200))
    passages = list[Chunk]()
    for chunker, size in CHUNKERS:
        recipe = IndexRecipe().model_copy(
            update={"chunker": chunker, "chunk_size": size, "chunk_unit": "tokens"}
        )
        cut = [
            chunk
            for document in some
            for chunk in chunking.chunks(document, recipe, Words())
            if len(chunk.text) >= 40
        ]
        passages += dice.sample(cut, min(len(cut), -(-number // len(CHUNKERS))))
    return passages[:number]
