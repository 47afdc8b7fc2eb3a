"""Two recipes on one question, and the attribution of a similarity to sentences and words.

The method is occlusion (Zeiler and Fergus 2014, for text Li, Monroe, Jurafsky 2016): one part is
left out, the rest is embedded again, and the loss of cosine is that part's share. Shares do not add
up to the cosine, because an embedding is not a sum.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.answering.statements.sentences import spans_of
from rag.evaluation.metrics import rank_biased_overlap
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
from rag.protocols import Embedder, InputType
from rag.recipe import Recipe
from rag.storage.labels import Label
from rag.types import Evidence, Hit, ProgressCallback, Scores, Span, Trace, Vectors, with_context

MOST_SENTENCES = 40
MOST_WORDS = 40
BATCH = 16
_WORD = re.compile(r"\w+(?:[-.'’]\w+)*")


@dataclass(frozen=True, slots=True)
class TextPart:
    """A stretch of a text; ``change`` is the cosine less the cosine without it.

    Above 0 it carries similarity, below 0 it takes some away.
    """

    start: int
    end: int
    text: str
    change: float


@dataclass(frozen=True, slots=True)
class Attribution:
    """The contributions to the cosine of a question and a passage, with the current embedder.

    ``embeddings`` is the number of texts embedded for the attribution. In a text with more parts
    than ``MOST_SENTENCES`` or ``MOST_WORDS``, neighboring parts are joined. The only part of a text
    contributes all of the cosine. ``context`` is the text indexed before the passage, as one part,
    or None if there is none.
    """

    cosine: float
    sentences: tuple[TextPart, ...]
    words: tuple[TextPart, ...]
    embeddings: int
    context: TextPart | None = None


def attribution(
    question: str,
    passage: str,
    embedder: Embedder,
    on_progress: ProgressCallback = lambda _done, _total: None,
    context: str = "",
) -> Attribution:
    """Embed at most 3 + ``MOST_SENTENCES`` + ``MOST_WORDS`` texts, in batches of ``BATCH``.

    Sentences are left out of the passage and stand in it; ``context`` stays before what is left.

    ``on_progress`` gets (done, total) before each batch; an exception from it ends the work.
    Raises ProviderError.
    """
    sentences = group_spans(_sentences(passage), MOST_SENTENCES)
    words = group_spans([match.span() for match in _WORD.finditer(question)], MOST_WORDS)
    least = 1 if context else 2
    shorter_passages = [
        with_context(context, shorter) for shorter in _without_each(passage, sentences, least)
    ]
    if context:
        shorter_passages.append(passage)
    shorter_questions = _without_each(question, words)
    total = 2 + len(shorter_passages) + len(shorter_questions)
    counter = _Counter(embedder, on_progress, total)
    question_vectors = counter.embed([question, *shorter_questions], "query")
    passage_vectors = counter.embed([with_context(context, passage), *shorter_passages], "document")
    cosine = _cosine(question_vectors[0], passage_vectors[0])
    without = _cosines(passage_vectors[1:], question_vectors[0])
    around = None
    if context:
        around = TextPart(0, len(context), context, cosine - float(without[-1]))
        without = without[:-1]
    return Attribution(
        cosine,
        _parts(passage, sentences, cosine, without),
        _parts(question, words, cosine, _cosines(question_vectors[1:], passage_vectors[0])),
        total,
        around,
    )


def _sentences(passage: str) -> list[Span]:
    return [(low, high) for low, high in spans_of(passage) if _WORD.search(passage, low, high)]


def group_spans(spans: Sequence[Span], most: int) -> list[Span]:
    """At most ``most`` spans: where there are more, neighbours in equal numbers become one."""
    if len(spans) <= most:
        return list(spans)
    groups = np.array_split(np.arange(len(spans)), most)
    return [(spans[group[0]][0], spans[group[-1]][1]) for group in groups]


def _without_each(text: str, spans: Sequence[Span], least: int = 2) -> list[str]:
    """The text without each span in turn; nothing where there are fewer than ``least``: without
    a single one no text is left.
    """
    if len(spans) < least:
        return []
    return [f"{text[:start].rstrip()} {text[end:].lstrip()}".strip() for start, end in spans]


def _parts(
    text: str, spans: Sequence[Span], cosine: float, without: Scores
) -> tuple[TextPart, ...]:
    changes = (
        [cosine]
        if not len(without) and len(spans) == 1
        else [cosine - float(value) for value in without]
    )
    return tuple(
        TextPart(start, end, text[start:end], change)
        for (start, end), change in zip(spans, changes, strict=True)
    )


def _cosine(one: Vectors, other: Vectors) -> float:
    return float(one.astype(np.float64) @ other.astype(np.float64))


def _cosines(many: Vectors, one: Vectors) -> Scores:
    return np.asarray(many.astype(np.float64) @ one.astype(np.float64))


class _Counter:
    def __init__(self, embedder: Embedder, on_progress: ProgressCallback, total: int) -> None:
        self._embedder, self._tell, self._total, self._done = embedder, on_progress, total, 0

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        rows = []
        for start in range(0, len(texts), BATCH):
            self._tell(self._done, self._total)
            batch = texts[start : start + BATCH]
            rows.append(self._embedder.embed(batch, input_type))
            self._done += len(batch)
        joined: Vectors = np.concatenate(rows)
        return joined


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
