"""Searches without an index, as systems: lines that grep finds, and documents as a whole.

An agent can read the folder itself. These two say what that is worth on one's own documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rag.answering.words import content_words
from rag.experiments.runs.evaluator import deepened
from rag.experiments.systems.endpoints import HttpSystem
from rag.experiments.systems.returned import Returned, ReturnedText
from rag.retrieval import retrieve
from rag.search.snapshot import take_complete_snapshot
from rag.services.services import Services
from rag.storage import bases, documents

_AROUND = 2  # lines before and after a line, as `grep -C 2` prints them
_DEPTH = 100  # passages whose documents are returned


def local_search(services: Services, base_id: int, system: HttpSystem) -> Callable[[str], Returned]:
    """Return a function that searches a knowledge base for a question in the form of a system.

    ``grep`` looks for the words of the question, whatever their case, and ranks lines by how many
    different ones stand in them or two lines around. ``documents`` returns the documents of the
    saved recipe's passages, each as a whole.
    """
    if system.form == "documents":
        return _documents(services, base_id, system.most)
    with services.database.read() as connection:
        rows = documents.list_documents(connection, base_id)
        texts = [(row.id, row.name, documents.text(connection, base_id, row.id)) for row in rows]

    def search(question: str) -> Returned:
        words = sorted(content_words(question))
        hits = [
            (-count, place, start, ReturnedText(text, float(count), document_id, name))
            for place, (document_id, name, whole) in enumerate(texts)
            for start, count, text in _windows(whole, words)
        ]
        hits.sort(key=lambda hit: hit[:3])
        return Returned(question, tuple(hit[3] for hit in hits[: system.most]))

    return search


def _windows(text: str, words: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return (first line, number of words, text) of the lines around those with a word.

    Where they overlap, the one with the most words stays.
    """
    folded = text.casefold()
    words = [word for word in words if word in folded]
    if not words:
        return []
    lines, lower = text.splitlines(), folded.splitlines()
    present = [{word for word in words if word in line} for line in lower]
    counts = [
        (len(set[str]().union(*present[max(0, at - _AROUND) : at + _AROUND + 1])), at)
        for at in range(len(lines))
        if at < len(present) and present[at]
    ]
    taken, windows = set[int](), list[tuple[int, int, str]]()
    for count, at in sorted(counts, key=lambda item: (-item[0], item[1])):
        window = range(max(0, at - _AROUND), min(len(lines), at + _AROUND + 1))
        if taken.isdisjoint(window):
            taken.update(window)
            windows.append((at, count, "\n".join(lines[window.start : window.stop])))
    return windows


def _documents(services: Services, base_id: int, most: int) -> Callable[[str], Returned]:
    with services.database.read() as connection:
        recipe = bases.by_id(connection, base_id).recipe
    recipe = recipe.model_copy(update={"search": deepened(recipe.search, _DEPTH)})
    snapshot = take_complete_snapshot(services, base_id, recipe)
    corpus, threshold = snapshot.corpus(), snapshot.threshold_rule.threshold

    def search(question: str) -> Returned:
        hits = retrieve(question, recipe, corpus, threshold).hits
        names = dict.fromkeys((hit.chunk.document_id, hit.document) for hit in hits)
        texts = [ReturnedText("", id=key, title=name) for key, name in list(names)[:most]]
        return Returned(question, tuple(texts))

    return search
