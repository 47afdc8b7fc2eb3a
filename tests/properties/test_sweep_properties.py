"""A sweep gives the figures of the ordinary pipeline, to the last bit, whatever the recipe."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rag import Question, SearchRecipe
from rag.evaluation.calibration import Calibration
from rag.evaluation.judging import Judge
from rag.evaluation.measuring import measured
from rag.evaluation.metrics import MEASURES
from rag.evaluation.sweeping import CONTEXT, CandidateTable, measure
from rag.experiments.runs.evaluator import deepened
from rag.retrieval import Candidates, select
from rag.retrieval.candidates import NOT_FOUND
from rag.retrieval.fusion import LIST_SCALES, QDRANT_RRF
from rag.retrieval.topic import Topic, TopicEvidence
from rag.types import Evidence

Spans = dict[str, list[tuple[int, int, int]]]

# Few distinct values, so that ties are common, and some that differ only in the last bits.
COSINES = st.sampled_from([-0.2, 0.0, 0.1, 0.3, 0.1 + 0.2, 0.5, 0.5 + 1e-12, 0.9])
BM25 = st.sampled_from([0.0, 0.0, 1.0, 1.1 + 2.2, 3.3, 7.5, 12.25])
DEFAULT_THRESHOLD = 0.3
PASSAGES, DEEP, EVIDENCE = 14, 8, 4


@st.composite
def _bases(draw: st.DrawFn) -> tuple[Spans, list[Question], list[Candidates]]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    keys = draw(st.permutations(range(sum(sizes))))
    spans, used = Spans(), iter(keys)
    for number, size in enumerate(sizes):
        spans[f"d{number}"] = [(next(used), 10 * place, 10 * place + 10) for place in range(size)]
    questions = [_question(draw, place, spans) for place in range(draw(st.integers(1, 5)))]
    return spans, questions, [_candidates(draw, len(keys)) for _ in questions]


def _question(draw: st.DrawFn, place: int, spans: Spans) -> Question:
    kind = draw(st.sampled_from(["documents", "spans", "none"])) if place else "documents"
    if kind == "none":
        return Question(f"q{place}", "?", answerable=draw(st.booleans()))
    names = draw(st.lists(st.sampled_from([*spans, "absent"]), min_size=1, max_size=EVIDENCE))
    evidence = []
    for name in names:
        grade = draw(st.integers(0 if place else 1, 3))
        start = draw(st.integers(0, 30))
        end = None if kind == "documents" else start + draw(st.integers(1, 20))
        evidence.append(Evidence(name, 0 if end is None else start, end, grade))
    return Question(f"q{place}", "?", tuple(evidence))


def _candidates(draw: st.DrawFn, passages: int) -> Candidates:
    """What two exact retrievers of depth ``DEEP`` find."""
    cosine = np.array(draw(st.lists(COSINES, min_size=passages, max_size=passages)))
    bm25 = np.array(draw(st.lists(BM25, min_size=passages, max_size=passages)))
    dense, words = _ranks(cosine, cosine > -1), _ranks(bm25, bm25 > 0)
    found = np.flatnonzero((dense < DEEP) | (words < DEEP))
    cut = [np.where(ranks < DEEP, ranks, NOT_FOUND)[found] for ranks in (dense, words)]
    masks = st.none() | st.lists(st.booleans(), min_size=len(found), max_size=len(found))
    exact, matched = draw(masks), draw(masks)
    probability = draw(st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    return Candidates(
        found.astype(np.int64),
        cosine[found],
        bm25[found],
        *cut,
        exact=None if exact is None else np.array(exact, np.bool_),
        word_relevance=None if matched is None else np.where(matched, DEFAULT_THRESHOLD, -1.0),
        topic=None if probability is None else Topic(NO_EVIDENCE, probability, usual=0.3),
    )


def _ranks(scores: np.ndarray, found: np.ndarray) -> np.ndarray:
    ranks = np.full(len(scores), NOT_FOUND, np.int32)
    order = [place for place in np.lexsort((np.arange(len(scores)), -scores)) if found[place]]
    ranks[order] = np.arange(len(order))
    return ranks


NO_EVIDENCE = TopicEvidence(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
SEARCHES = st.builds(
    SearchRecipe,
    mode=st.sampled_from(["dense", "lexical", "hybrid", "hybrid"]),
    fusion=st.sampled_from(["weighted", "rrf", "saturation", *LIST_SCALES, QDRANT_RRF]),
    dense_weight=st.one_of(st.sampled_from([0.0, 1e-9, 0.5, 0.6, 1.0]), st.floats(0, 1)),
    rrf_k=st.sampled_from([1, 2, 60, 1000]),
    bm25_pivot=st.sampled_from([1.0, 8.0, 100.0]),
    candidates=st.integers(1, DEEP),
    relevance=st.sampled_from(["cosine", "probability"]),
    exact_codes=st.booleans(),
    matched_words=st.booleans(),
)
CALIBRATIONS = st.builds(
    lambda cosine, bm25, intercept: Calibration({"cosine": cosine, "bm25": bm25}, intercept),
    st.sampled_from([0.0, 0.5, 8.0, 200.0]),
    st.sampled_from([0.0, 0.25, 3.0]),
    st.sampled_from([-3.0, 0.0]),
)
# Some thresholds are the probability of a candidate under some calibration, to the last bit.
NO_RANKS = np.zeros(2, np.int32)
REACHED = (
    Calibration({"cosine": 8.0, "bm25": 0.25}, -3.0)
    .probabilities(
        Candidates(np.arange(2), np.array([0.5, 0.9]), np.array([0.0, 7.5]), NO_RANKS, NO_RANKS)
    )
    .tolist()
)
LIMITS = st.one_of(st.none(), COSINES, st.sampled_from(REACHED))
REFUSALS = st.sampled_from(["off", "off", "auto", 0.0, 0.25, 1.0])
CUTS = st.lists(
    st.fixed_dictionaries({"threshold": LIMITS, "top_k": st.integers(1, 9), "refuse": REFUSALS}),
    min_size=1,
    max_size=4,
)


def _pipeline(
    own: SearchRecipe,
    questions: Sequence[Question],
    candidates: Sequence[Candidates],
    judge: Judge,
    cutoffs: Sequence[int],
    shown: bool,
    calibration: Calibration,
) -> tuple[dict[str, float], float]:
    """The figures of one recipe by ordinary retrieval, question by question, and its tokens."""
    recipe = own if shown else deepened(own, max(cutoffs))
    asked = calibration if recipe.relevance == "probability" else None
    ranked, tokens = [], 0
    for question, deep in zip(questions, candidates, strict=True):
        visible = _first(deep, own)
        kept = select(visible, own, own.threshold, asked).kept
        tokens += int(sum(visible.keys[kept] + 5))
        found = _first(deep, recipe)
        selection = select(found, recipe, own.threshold, asked)
        beyond = [] if shown else selection.beyond
        places = np.concatenate([selection.kept, np.asarray(beyond, np.intp)])
        ranking = found.keys[places], selection.scores[places]
        ranked.append(judge.judge(question, *ranking, max(cutoffs)))
    return measured(ranked, cutoffs)[1], tokens / len(questions)


def _first(deep: Candidates, recipe: SearchRecipe) -> Candidates:
    """What both retrievers find when asked for ``recipe.candidates``."""
    dense, words = (
        np.where(ranks < recipe.candidates, ranks, NOT_FOUND).astype(np.int32)
        for ranks in (deep.dense_rank, deep.lexical_rank)
    )
    inside = {"dense": dense, "lexical": words}.get(recipe.mode, np.minimum(dense, words))
    at = np.flatnonzero(inside != NOT_FOUND)
    exact = None if deep.exact is None else deep.exact[at]
    by_words = None if deep.word_relevance is None else deep.word_relevance[at]
    return Candidates(
        deep.keys[at],
        deep.cosine[at],
        deep.bm25[at],
        dense[at],
        words[at],
        exact=exact,
        word_relevance=by_words,
        topic=deep.topic,
    )


@given(
    _bases(),
    st.lists(SEARCHES, min_size=1, max_size=6),
    CUTS,
    st.sets(st.integers(1, DEEP), min_size=1, max_size=3),
    st.booleans(),
    CALIBRATIONS,
)
@settings(max_examples=300, deadline=None)
def test_equal_to_the_pipeline(base, searches, cuts, cutoffs, shown, calibration):
    spans, questions, candidates = base
    by_document = {name: [key for key, *_ in rows] for name, rows in spans.items()}
    judge = Judge(spans, {name: np.array(keys, np.int64) for name, keys in by_document.items()})
    names = [f"{name}@{k}" for name in MEASURES for k in sorted(cutoffs)]
    table = CandidateTable.of(questions, candidates, judge)
    table = replace(table, tokens=table.candidates.keys + 5)
    recipes = [search.model_copy(update=cut) for search in searches for cut in cuts]
    how = {"deepest": max(cutoffs), "as_shown": shown}
    figures = measure(table, recipes, names, calibration=calibration, **how)
    for number, recipe in enumerate(recipes):
        expected, tokens = _pipeline(
            recipe, questions, candidates, judge, sorted(cutoffs), shown, calibration
        )
        swept = {name: figures.means(name) for name in [*expected, CONTEXT]}
        found = {name: values[number] for name, values in swept.items() if values is not None}
        assert found == expected | {CONTEXT: tokens}
