"""Checks of the label and its document, before anything is searched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rag.evaluation.anchoring import Haystack
from rag.experiments.tuning.diagnosis.causes import Cause
from rag.experiments.tuning.diagnosis.finding import Finding
from rag.library.documents.garbled import broken_characters
from rag.types import LOST, Evidence

_WORDS = re.compile(r"\w+")
_NEARLY = 70.0  # percent of letters that a word read wrongly still has
_LACKING = 0.2  # share of the label's words: fewer may be another wording
_PLAIN_TEXT = (
    *(".md", ".markdown", ".rst", ".adoc", ".asciidoc", ".txt", ".html", ".htm"),
    *(".csv", ".tsv", ".json", ".jsonl"),
)
"""Formats whose words stand in the order in which they are read."""
_MISREAD = 0.5  # share of lacking words that stand there nearly


def lost_label(
    label: Evidence, texts: Mapping[str, str], elsewhere: Sequence[tuple[str, str]]
) -> Finding:
    """The cause for a label that no document has.

    ``texts`` has the texts of documents by name, as far as labels name them; ``elsewhere`` are
    (document, text) of the passages that are nearest to the label.
    """
    name = label.document_id.removeprefix(LOST)
    for document, text in elsewhere:
        if label.quote and document != name and Haystack(text).find(label.quote):
            return Finding(
                "doubtful", f"The label points to {name}, but {document} has the same words."
            )
    if name not in texts:
        return Finding("missing", f"{name}, which the label points to, is not in the documents.")
    return _changed(label, name, texts[name])


def _changed(label: Evidence, name: str, text: str) -> Finding:
    """The cause where the document is there, but not with the words of the label."""
    if label.quote and Haystack(text).find(label.quote, similar=False):
        return Finding("doubtful", f"{name} has these words, but the label is not placed there.")
    if sign := broken_characters(text):
        return Finding("misread", f"The text of {name} is unreadable: {sign}.")
    words = dict.fromkeys(word.casefold() for word in _WORDS.findall(label.quote))
    there = set(map(str.casefold, _WORDS.findall(text)))
    lacking = [word for word in words if word not in there]
    figures = {"label_words": float(len(words)), "lacking_words": float(len(lacking))}
    if words and len(lacking) <= _LACKING * len(words):
        message = f"{name} has the words of the label, but not as one quote."
        cause: Cause = "doubtful" if name.lower().endswith(_PLAIN_TEXT) else "misread"
        return Finding(cause, message, figures)
    letters = "".join(_WORDS.findall(text)).casefold()
    nearly = [word for word in lacking if word in letters or _stands_nearly(word, there)]
    shown = ", ".join(lacking[:4])
    message = f"{name} lacks {len(lacking)} of the {len(words)} words of the label: {shown}."
    if lacking and len(nearly) >= _MISREAD * len(lacking):
        return Finding("misread", f"{message} Most are in the text with other letters.", figures)
    return Finding("missing", message, figures)


def _stands_nearly(word: str, there: set[str]) -> bool:
    from rapidfuzz import fuzz, process

    if len(word) < 4:
        return False
    return process.extractOne(word, there, scorer=fuzz.ratio, score_cutoff=_NEARLY) is not None
