"""Two recipes on one question: what moved, how much the lists agree, which labels each found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rag.evaluation.rank_overlap import rank_biased_overlap
from rag.evaluation.relevance import relevant_chunks
from rag.experiments.runs.rankings import (
    RankedPassage,
    RankedSpan,
    SideBySide,
    renamed,
    same,
    similar,
)
from rag.library.documents.library import Library
from rag.library.questions.passage_labels import QuestionLabels
from rag.recipe import Recipe
from rag.storage.labels import Label
from rag.types import Evidence, Hit, Trace


@dataclass(frozen=True, slots=True)
class LabelRanks:
    """A label that says where the question is answered, and the ranks at which each list shows it.

    None: not shown.
    """

    label: Label
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class RetrievalComparison:
    """One question as two recipes answer it.

    ``sides`` has what each shows; the other rank of a passage is its rank among all candidates of
    the other recipe. ``overlap`` is the rank-biased overlap of what is shown, 0 to 1.
    """

    before: Trace
    after: Trace
    sides: SideBySide
    overlap: float
    labels: tuple[LabelRanks, ...]

    def shown_labels(self) -> tuple[int, int]:
        """Return the number of labels that each list shows."""
        return (
            sum(label.before is not None for label in self.labels),
            sum(label.after is not None for label in self.labels),
        )


def compare_retrievals(
    traces: tuple[Trace, Trace],
    recipes: tuple[Recipe, Recipe],
    labels: tuple[QuestionLabels, QuestionLabels],
    library: Library,
) -> RetrievalComparison:
    """Lay two retrievals of one question side by side; ``labels`` are those of each cut.

    A passage is the same where its id is, or, between different cuts, where two spans share at
    least half of the shorter.
    """
    orders = tuple(list(map(_place, trace.ranking)) for trace in traces)
    find = same if recipes[0].index.cut == recipes[1].index.cut else similar
    rankings = [
        tuple(
            RankedPassage(
                at,
                hit.score,
                labels[side].grades.get(hit.chunk.key, 0),
                hit.document,
                hit.chunk,
                find(_place(hit), orders[1 - side]),
            )
            for at, hit in enumerate(traces[side].hits, start=1)
        )
        for side in (0, 1)
    ]
    sides = SideBySide(traces[1].question, rankings[0], rankings[1])
    return RetrievalComparison(
        *traces,
        sides,
        _overlap(traces, find is same),
        _label_ranks(traces, recipes, labels, library),
    )


def _place(hit: Hit) -> RankedSpan:
    chunk = hit.chunk
    return RankedSpan(chunk.id, chunk.document_id, chunk.start, chunk.end)


def _overlap(traces: tuple[Trace, Trace], same_cut: bool) -> float:
    before, after = (list(map(_place, trace.hits)) for trace in traces)
    names = [place.id for place in before]
    if same_cut:
        return rank_biased_overlap(names, [place.id for place in after])
    return rank_biased_overlap(names, renamed(after, before))


def _label_ranks(
    traces: tuple[Trace, Trace],
    recipes: tuple[Recipe, Recipe],
    labels: tuple[QuestionLabels, QuestionLabels],
    library: Library,
) -> tuple[LabelRanks, ...]:
    telling = [
        label for label in labels[0].labels if label.grade > 0 and label.document_id is not None
    ]
    return tuple(
        LabelRanks(
            label,
            *(
                _first(trace, _answering(label, recipe, library))
                for trace, recipe in zip(traces, recipes, strict=True)
            ),
        )
        for label in telling
    )


def _answering(label: Label, recipe: Recipe, library: Library) -> Mapping[int, int]:
    """Passages of a recipe's cut that answer a label, by key."""
    name = label.document_id or ""
    chunks = library.chunks(name, recipe.index)
    if label.end is None:
        return dict.fromkeys((chunk.key for chunk in chunks), label.grade)
    evidence = Evidence(name, label.start, label.end, label.grade, label.quote)
    return relevant_chunks([evidence], [(c.key, name, c.start, c.end) for c in chunks])


def _first(trace: Trace, keys: Mapping[int, int]) -> int | None:
    ranks = (at for at, hit in enumerate(trace.hits, start=1) if hit.chunk.key in keys)
    return next(ranks, None)
