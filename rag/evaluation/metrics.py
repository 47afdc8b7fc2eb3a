"""Ranking metrics, as trec_eval defines them, for many questions (and many recipes) at once.

Buckley et al., trec_eval; Järvelin and Kekäläinen (2002) for nDCG, with linear gains. Precision
divides by k, also when fewer came back; nDCG is normalised over the top k of everything judged;
MAP divides by the number of relevant passages; a question without hits scores 0 and counts in the
mean; a grade of 0 or less is not relevant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from rag.errors import InvalidInput
from rag.types import Floats

_WHOLE = re.compile("[1-9][0-9]{0,5}")


class RankStatistics(Protocol):
    """The statistics of rankings that metrics need; values have shape (..., questions)."""

    @property
    def relevant(self) -> Floats:
        """Number of relevant passages."""

    @property
    def first(self) -> Floats:
        """Rank of the first relevant hit, infinite without one."""

    def relevant_hits(self, k: int) -> Floats:
        """Relevant hits among the first k."""

    def discounted(self, k: int) -> Floats:
        """DCG of the first k."""

    def summed_precision(self, k: int) -> Floats:
        """Sum of the precisions at the ranks of the relevant hits among the first k."""

    def ideal_discounted(self, k: int) -> Floats:
        """The best possible DCG of k hits."""


@dataclass(frozen=True)
class Ranked:
    """Retrieved and ideal gains by rank; implements ``RankStatistics``.

    ``gains``: shape (..., questions, depth), the grade of the hit at each rank, 0 if it is not
    relevant or there is no hit. ``ideal``: shape (questions, any), all positive grades, descending,
    padded with 0; metrics use its first k. ``relevant``: shape (questions,), the number of relevant
    passages. Leading axes of ``gains`` (recipes) share the other two.
    """

    gains: Floats
    ideal: Floats
    relevant: Floats

    @classmethod
    def of(
        cls, grades: Sequence[Sequence[int]], ideals: Sequence[Sequence[int]], depth: int
    ) -> Ranked:
        """From the grades of what came back, and of all that is relevant, by question."""
        ideal = _padded(ideals, max(map(len, ideals), default=0))
        return cls(_padded(grades, depth), ideal, (ideal > 0).sum(axis=1).astype(np.float64))

    @cached_property
    def first(self) -> Floats:
        """Rank of the first relevant hit, infinite without one."""
        if not self.gains.shape[-1]:
            return np.full(self.gains.shape[:-1], np.inf)
        hit = self.gains > 0
        return np.where(hit.any(axis=-1), hit.argmax(axis=-1) + 1.0, np.inf)

    def relevant_hits(self, k: int) -> Floats:
        """Relevant hits among the first k."""
        return _upto(self._relevant_hits, k)

    def discounted(self, k: int) -> Floats:
        """DCG of the first k."""
        return _upto(self._discounted, k)

    def summed_precision(self, k: int) -> Floats:
        """Sum of the precisions at the ranks of the relevant hits among the first k."""
        return _upto(self._summed_precision, k)

    def ideal_discounted(self, k: int) -> Floats:
        """The best possible DCG of k hits."""
        return _upto(self._ideal_discounted, k)

    @cached_property
    def _relevant_hits(self) -> Floats:
        return np.cumsum(self.gains > 0, axis=-1, dtype=np.float64)

    @cached_property
    def _discounted(self) -> Floats:
        return _dcg(self.gains)

    @cached_property
    def _ideal_discounted(self) -> Floats:
        return _dcg(self.ideal)

    @cached_property
    def _summed_precision(self) -> Floats:
        ranks = np.arange(1, self.gains.shape[-1] + 1)
        return np.cumsum(np.where(self.gains > 0, self._relevant_hits / ranks, 0.0), axis=-1)


def _padded(rows: Sequence[Sequence[int]], width: int) -> Floats:
    table = np.zeros((len(rows), width))
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table


def _dcg(gains: Floats) -> Floats:
    positive = np.maximum(gains, 0.0)
    return np.cumsum(positive / np.log2(np.arange(2, gains.shape[-1] + 2)), axis=-1)


def _upto(sums: Floats, k: int) -> Floats:
    depth = min(k, sums.shape[-1])
    return sums[..., depth - 1] if depth else np.zeros(sums.shape[:-1])


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


MEASURES: Mapping[str, Callable[[RankStatistics, int], Floats]] = MappingProxyType(
    {
        "precision": lambda ranked, k: ranked.relevant_hits(k) / k,
        "recall": lambda ranked, k: _ratio(ranked.relevant_hits(k), ranked.relevant),
        # 2PR / (P + R) with P = found / k and R = found / relevant
        "f1": lambda ranked, k: 2 * ranked.relevant_hits(k) / (k + ranked.relevant),
        "hit": lambda ranked, k: (ranked.first <= k).astype(np.float64),
        "mrr": lambda ranked, k: np.where(ranked.first <= k, 1 / ranked.first, 0.0),
        "map": lambda ranked, k: _ratio(ranked.summed_precision(k), ranked.relevant),
        "ndcg": lambda ranked, k: _ratio(ranked.discounted(k), ranked.ideal_discounted(k)),
    }
)
"""Every measure by name: from what came back and k, to one figure per question."""
LOWER_IS_BETTER = frozenset({"misleading", "false_refusal", "false_doubt"})
"""Measures, of rankings and of answers, that count faults."""
WITHOUT_DIRECTION = frozenset({"conflicting_sources"})
"""Measures that make no run better: sources that disagree may be told rightly or wrongly."""


def lower_is_better(name: str) -> bool:
    """Return whether a metric, such as ``misleading@5``, is the better the lower it is."""
    return name.partition("@")[0] in LOWER_IS_BETTER


class Metric(NamedTuple):
    """``ndcg@10``: a measure of ``MEASURES``, and how many of the first hits it looks at."""

    measure: str
    k: int


def parse_metric(name: str) -> Metric:
    """``"ndcg@10"`` as measure and k. Raises InvalidInput for anything else than NAME@K, K >= 1."""
    measure, _, digits = name.partition("@")
    if measure not in MEASURES or not _WHOLE.fullmatch(digits):
        raise InvalidInput(
            f"{name!r} is not a metric.",
            "Write one of " + ", ".join(f"{measure}@K" for measure in MEASURES) + ", K from 1.",
        )
    return Metric(measure, int(digits))


def evaluate(ranked: RankStatistics, names: Iterable[str]) -> dict[str, Floats]:
    """Every metric of ``names`` per question, shape (..., questions). Raises InvalidInput."""
    metrics = {name: parse_metric(name) for name in names}
    return {name: MEASURES[metric.measure](ranked, metric.k) for name, metric in metrics.items()}


ANSWER_TITLES: Mapping[str, str] = {
    "groundedness": "Groundedness",
    "answer_relevance": "Answer relevance",
    "citation_precision": "Citation precision",
    "citation_recall": "Citation recall",
    "answer_containment": "Expected answer found",
    "exact_match": "Exact match",
    "token_f1": "Token F1",
    "rouge_l": "ROUGE-L",
    "correct_decision": "Correct decisions",
    "refusal_correctness": "Answered or refused",
    "judged_groundedness": "Groundedness, by a model",
    "judged_correctness": "Right answers, by a model",
}
"""Those of answers that tell which run is better, by measure."""

METRIC_TITLES: Mapping[str, str] = {
    "ndcg": "nDCG",
    "mrr": "MRR",
    "recall": "Recall",
    "precision": "Precision",
    "f1": "F1",
    "map": "MAP",
    "hit": "Hit rate",
    "nugget_recall": "Recall of parts",
    "hop_recall": "Recall of hops",
    "udcg": "UDCG",
    "misleading": "Misleading hits",
    "span_recall": "Span recall",
    "span_precision": "Span precision",
    "span_iou": "Span IoU",
    "token_recall": "Span recall in tokens",
    "token_precision": "Span precision in tokens",
    "token_iou": "Span IoU in tokens",
    "correct_refusal": "Refused by the search",
    "correct_doubt": "Rightly unanswered",
    "false_refusal": "False refusals",
    "false_doubt": "Not answered, though answerable",
    **ANSWER_TITLES,
    "conflicting_sources": "Conflicting sources",
}
"""All of them, by measure, in the order in which they are shown."""

METRIC_MEANINGS: Mapping[str, str] = {
    "ndcg": "Are the best {unit}s at the top? 1 is the ideal order of everything relevant.",
    "mrr": "How high is the first relevant {unit}? 1 is always first, 0.5 always second.",
    "recall": "What share of the relevant {unit}s is among the first {k}?",
    "precision": "What share of the first {k} is relevant?",
    "correct_refusal": "Nothing returned for questions without an answer.",
    "correct_doubt": "Refused or doubtful, for questions without an answer.",
    "answer_containment": "Answers that contain the expected one.",
    "correct_decision": "Answered where the documents have the answer, not answered where they "
    "have none. What an answer says does not count.",
}
"""One line for a card, with ``{unit}`` for what is ranked and ``{k}`` for the depth."""

METRIC_DEFINITIONS: Mapping[str, str] = {
    "ndcg": "How close the order is to the ideal one: the gain of every relevant {unit} among "
    "the first k, discounted by the logarithm of its rank, divided by the best possible sum. "
    "1 is ideal.",
    "recall": "The share of all relevant {unit}s that are among the first k.",
    "precision": "The share of the first k that is relevant, divided by k even if fewer were "
    "returned.",
    "mrr": "One divided by the rank of the first relevant {unit}; 0 if none is among the first k.",
    "hit": "The share of questions with something relevant among the first k.",
    "map": "Precision at the rank of every relevant {unit} among the first k, summed and "
    "divided by how many relevant ones there are.",
    "f1": "The harmonic mean of precision and recall.",
    "nugget_recall": "The share of the parts of the expected answer that the first k have.",
    "hop_recall": "The share of all relevant {unit}s that any retrieval of a trace has among its "
    "first k.",
    "udcg": "The use of the first k to a model that reads them all: a relevant one counts 1, a "
    "misleading one -1/3. The mean over k is mapped to 0 to 1 by the logistic function: 0.5 if "
    "they neither help nor mislead.",
    "misleading": "How many of the first k mislead. Fewer is better.",
    "span_recall": "The share of the characters of the evidence that the first k cover.",
    "span_precision": "The share of the characters of the first k that are evidence.",
    "span_iou": "Characters of evidence among the first k, divided by all characters of either.",
    "token_recall": "The share of the tokens of the evidence that the first k cover.",
    "token_precision": "The share of the tokens of the first k that are evidence.",
    "token_iou": "Tokens of evidence among the first k, divided by all tokens of either.",
    "correct_refusal": "The share of questions that the documents do not answer for which nothing "
    "was returned.",
    "correct_doubt": "The share of questions that the documents do not answer that were "
    "refused or doubtful.",
    "false_refusal": "The share of questions that the documents do answer for which nothing "
    "was returned. Less is better.",
    "false_doubt": "The share of questions that the documents do answer that were refused or "
    "doubtful. Less is better.",
    "groundedness": "The share of an answer's sentences that are supported by the passages they "
    "cite.",
    "answer_relevance": "The cosine of question and answer by the embedder of the recipe, with "
    "negative values as 0. Recipes of different embedders do not compare by it.",
    "citation_precision": "The share of the cited passages that contain a relevant label.",
    "citation_recall": "The share of the relevant labels whose passage is cited.",
    "answer_containment": "The share of answers that contain the expected one: all its figures, "
    "dates and codes, in any usual format, and half of its words by their stems (more than half "
    "without figures). What the question says already does not count, nor do quotes folded below "
    "the answer. What was not answered contains nothing. Words are compared, not meaning: to "
    "accept other words, let a model judge the answers. Also known as *has answer*.",
    "exact_match": "The share of answers that equal the expected one, ignoring case, punctuation "
    "and articles.",
    "token_f1": "The harmonic mean of two shares: the answer's words that the expected answer has, "
    "and the expected answer's words that the answer has.",
    "rouge_l": "The same for the longest sequence of words that both have in the same order.",
    "correct_decision": "The share of questions that were answered if the documents answer them, "
    "and not answered if they do not. It does not count what an answer says.",
    "refusal_correctness": "The share of questions that were answered, surely or not, if "
    "the documents answer them, and refused if they do not.",
    "conflicting_sources": "The share of answers that say that their sources disagree.",
    "judged_groundedness": "The share of an answer's sentences that a language model considers "
    "supported.",
    "judged_correctness": "How correct a language model considers the answer, compared with the "
    "expected one.",
}
"""One sentence each, with ``{unit}`` for what is ranked."""


def metric_title(metric: str) -> str:
    """``nDCG@10`` for ``ndcg@10``."""
    measure, at, k = metric.partition("@")
    return f"{METRIC_TITLES.get(measure, measure.replace('_', ' '))}{at}{k}"


def metric_name(metric: str) -> str:
    """``nDCG@10`` for ``ndcg@10``, ``recall@5`` as it is: for use within a sentence."""
    title = metric_title(metric)
    return title if title[1:2].isupper() or title[1].isdigit() else title[:1].lower() + title[1:]


def metric_meaning(metric: str, unit: str = "passage") -> str:
    """Explain a metric in a line; ``unit`` is what is ranked."""
    measure, _, k = metric.partition("@")
    text = METRIC_MEANINGS.get(measure) or METRIC_DEFINITIONS.get(measure, "")
    return text.format(unit=unit, k=k)


PERSISTENCE = 0.9
"""The first ten places then have 86 % of the weight."""


def rank_biased_overlap(
    one: Sequence[Hashable], other: Sequence[Hashable], persistence: float = PERSISTENCE
) -> float:
    """Extrapolated rank-biased overlap: 1 for equal rankings, 0 for disjoint ones.

    Webber, Moffat, Zobel: A Similarity Measure for Indefinite Rankings, TOIS 2010, equation 32,
    which also tells rankings of different lengths. Items of a ranking are distinct. Two empty
    rankings agree; an empty one shares nothing with another. Raises ValueError for a
    ``persistence`` outside of (0, 1).
    """
    if not 0 < persistence < 1:
        raise ValueError(f"persistence {persistence} is not between 0 and 1")
    short, long = sorted((list(one), list(other)), key=len)
    if not short:
        return float(not long)
    # The number of common items among the first d of both lists, for d = 1 .. len(long).
    seen_short, seen_long, counts, shared = set[Hashable](), set[Hashable](), [], 0
    for depth, item in enumerate(long):
        seen_long.add(item)
        shared += item in seen_short
        if depth < len(short):
            seen_short.add(short[depth])
            shared += short[depth] in seen_long
        counts.append(shared)
    # The letters of the paper: s is the length of the shorter ranking, p the persistence.
    s, p, length = len(short), persistence, len(counts)
    at_short, at_long = counts[s - 1], counts[-1]
    agreements = sum(counts[d - 1] / d * p**d for d in range(1, length + 1))
    beyond = sum(at_short * (d - s) / (s * d) * p**d for d in range(s + 1, length + 1))
    tail = ((at_long - at_short) / length + at_short / s) * p**length
    return (1 - p) / p * (agreements + beyond) + tail
