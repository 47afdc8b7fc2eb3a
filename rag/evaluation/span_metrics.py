"""Metrics of retrieved text against labelled spans, which compare chunkers fairly.

Smith and Troynikov, Evaluating Chunking Strategies for Retrieval (Chroma, 2024), with t_e the
labelled text and t_r the retrieved text: recall = |t_e ∩ t_r| / |t_e|, precision = |t_e ∩ t_r| /
|t_r|, IoU = |t_e ∩ t_r| / (|t_e| + |t_r| - |t_e ∩ t_r|). As in their programme, t_r counts what
several passages repeat once for each, so overlap costs, while t_e and the intersection count every
character once. Passages of other documents count in t_r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.errors import InvalidInput
from rag.evaluation.judging import Judged
from rag.evaluation.relevance import judged_by_document
from rag.protocols import Tokenizer
from rag.types import Evidence, Floats, Question

Ints = npt.NDArray[np.int64]
Span = tuple[str, int, int]
"""Document id, start and end in characters."""
Ruler = Callable[[str, Ints], Ints]
"""For a document id and character offsets in it: how many units begin before each offset."""

MEASURES = ("span_recall", "span_precision", "span_iou")


def by_characters(document_id: str, offsets: Ints) -> Ints:
    """The ruler that counts characters, which the published figures are made with."""
    return offsets


def by_tokens(text_of: Callable[[str], str], tokenizer: Tokenizer) -> Ruler:
    """A ruler that counts the tokens of documents by id; a token belongs where it starts.

    Each document is cut into tokens once, when it is first asked for.
    """
    starts: dict[str, Ints] = {}

    def count(document_id: str, offsets: Ints) -> Ints:
        if document_id not in starts:
            starts[document_id] = tokenizer.offsets(text_of(document_id))[:, 0]
        return np.searchsorted(starts[document_id], offsets, side="left").astype(np.int64)

    return count


def measured_by_span(question: Question) -> bool:
    """Whether the labels say where the answer is: spans, and no whole documents."""
    spans = any(item.end is not None and item.grade > 0 for item in question.evidence)
    return spans and not judged_by_document(question)


@dataclass(frozen=True, slots=True)
class SpanScores:
    """The three metrics after each rank, every array of shape (..., depth)."""

    recall: Floats
    precision: Floats
    iou: Floats

    def at(self, metric: str) -> Floats:
        """``span_recall@5`` and the like, shape (...); the last rank's when k is deeper.

        Raises InvalidInput for another name.
        """
        measure, _, k = metric.partition("@")
        if measure not in MEASURES or not k.isdecimal() or not int(k):
            raise InvalidInput(
                f"{metric!r} is not a span metric.",
                "Write one of " + ", ".join(f"{name}@K" for name in MEASURES) + ", K from 1.",
            )
        scores: Floats = getattr(self, measure.removeprefix("span_"))
        depth = min(int(k), scores.shape[-1])
        return scores[..., depth - 1] if depth else np.zeros(scores.shape[:-1])


@dataclass(frozen=True, slots=True)
class Coverage:
    """The part of a question's labelled text that each of n passages covers, in units of a ruler.

    The labelled text is split where passages begin and end. ``pieces``, shape (p,), are the lengths
    of the parts. ``covered``, shape (n, p), marks the parts that each passage contains. ``sizes``,
    shape (n,), are the lengths of the passages.
    """

    pieces: Ints
    covered: npt.NDArray[np.bool_]
    sizes: Ints

    @classmethod
    def of(
        cls, evidence: Iterable[Evidence], passages: Sequence[Span], ruler: Ruler = by_characters
    ) -> Coverage:
        """Labels of whole documents and grades of 0 or less label no text."""
        pieces, covered = [np.empty(0, np.int64)], [np.empty((len(passages), 0), np.bool_)]
        names = np.array([name for name, _, _ in passages], dtype=object)
        bounds = np.array([(start, end) for _, start, end in passages], np.int64).reshape(-1, 2)
        sizes = np.zeros(len(passages), np.int64)
        for name in set(names.tolist()):
            sizes[names == name] = np.diff(ruler(name, bounds[names == name]), axis=1)[:, 0]
        for name, labelled in _by_document(evidence).items():
            here = names == name
            cuts = _cut(labelled, bounds[here])
            pieces.append(np.diff(ruler(name, cuts), axis=1)[:, 0])
            starts, ends = bounds[:, :1], bounds[:, 1:]
            covered.append(here[:, None] & (starts <= cuts[:, 0]) & (cuts[:, 1] <= ends))
        return cls(np.concatenate(pieces), np.concatenate(covered, axis=1), sizes)

    def scores(self, order: npt.NDArray[np.integer]) -> SpanScores:
        """Metrics of rankings, shape (..., depth): places of passages, best first, -1 for none."""
        # Place -1 takes the row behind the last passage, which holds nothing.
        covered = np.pad(self.covered, ((0, 1), (0, 0)))[order]
        sizes = np.pad(self.sizes, (0, 1))[order].astype(np.float64)
        shared = np.logical_or.accumulate(covered, axis=-2) @ self.pieces.astype(np.float64)
        retrieved = np.cumsum(sizes, axis=-1)
        labelled = np.full(shared.shape, float(self.pieces.sum()))
        return SpanScores(
            recall=_ratio(shared, labelled),
            precision=_ratio(shared, retrieved),
            iou=_ratio(shared, labelled + retrieved - shared),
        )


def span_scores(
    evidence: Iterable[Evidence], ranked: Sequence[Span], ruler: Ruler = by_characters
) -> SpanScores:
    """Metrics of one ranking of passages, best first, after each rank: shape (len(ranked),)."""
    return Coverage.of(evidence, ranked, ruler).scores(np.arange(len(ranked)))


def _by_document(evidence: Iterable[Evidence]) -> dict[str, list[tuple[int, int]]]:
    """Labelled spans by document, sorted, those that touch or overlap joined."""
    spans: dict[str, list[tuple[int, int]]] = {}
    labels = {
        (item.document_id, item.start, item.end)
        for item in evidence
        if item.end is not None and item.end > item.start and item.grade > 0
    }
    for name, start, end in sorted(labels):
        merged = spans.setdefault(name, [])
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return spans


def _cut(labelled: Sequence[tuple[int, int]], bounds: Ints) -> Ints:
    """Labelled spans, cut wherever a passage begins or ends; shape (pieces, 2)."""
    parts = []
    for start, end in labelled:
        inside = bounds[(bounds > start) & (bounds < end)]
        marks = np.unique(np.concatenate([[start, end], inside]))
        parts.append(np.stack([marks[:-1], marks[1:]], axis=1))
    return np.concatenate(parts)


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


_CHARACTERS, _TOKENS = "span_", "token_"
_GONE: Span = ("", 0, 0)


def in_tokens(metrics: Iterable[str]) -> bool:
    """Whether any of these metrics counts the tokens of spans."""
    return any(name.startswith(_TOKENS) for name in metrics)


def ranked_keys(ranked: Sequence[Judged]) -> list[int]:
    """Keys of the passages whose places the span metrics of these rankings need, ascending."""
    return sorted({int(name, 16) for item in ranked if _by_span(item) for name in item.ids})


def span_figures(
    ranked: Sequence[Judged],
    places: Mapping[str, Span],
    cutoffs: Sequence[int],
    tokens: Ruler | None = None,
) -> dict[str, dict[str, float]]:
    """Span metrics by question id, of the questions whose labels are spans.

    ``places`` has the spans of ranked passages by id; one that is gone counts as no text. In
    characters, and with a ruler for ``tokens`` in these too.
    """
    rulers = {_CHARACTERS: by_characters} | ({_TOKENS: tokens} if tokens else {})
    figures: dict[str, dict[str, float]] = {}
    for item in filter(_by_span, ranked):
        spans = [places.get(name, _GONE) for name in item.ids]
        figures[item.question.id] = {
            f"{prefix}{name.removeprefix(_CHARACTERS)}": value
            for prefix, ruler in rulers.items()
            for name, value in _at_cutoffs(item, spans, cutoffs, ruler).items()
        }
    return figures


def _at_cutoffs(
    item: Judged, spans: Sequence[Span], cutoffs: Sequence[int], ruler: Ruler
) -> dict[str, float]:
    scores = span_scores(item.question.evidence, spans, ruler)
    names = [f"{name}@{k}" for name in MEASURES for k in cutoffs]
    return {name: float(scores.at(name)) for name in names}


def means(figures: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Means over the questions that have these figures, by name; empty without any."""
    rows = list(figures.values())
    names = rows[0] if rows else ()
    return {name: float(np.mean([row[name] for row in rows])) for name in names}


def _by_span(item: Judged) -> bool:
    """A question that no passage of the build can answer is left out of all means alike."""
    return bool(item.ideal) and measured_by_span(item.question)
