"""Explanations by hand: ranks, reasons, least changes, shares of the cosine, overlap."""

from collections.abc import Sequence

import numpy as np
import pytest

from rag import Chunk, SearchRecipe
from rag.evaluation import rank_biased_overlap
from rag.experiments.explanation.breakpoints import (
    Breakpoint,
    Case,
    by_refuse,
)
from rag.experiments.explanation.counterfactuals import (
    Trials,
    asks_a_model,
    by_trial,
    counterfactuals,
    number,
)
from rag.experiments.explanation.recipe_comparison import (
    BATCH,
    MOST_SENTENCES,
    MOST_WORDS,
    attribution,
    group_spans,
)
from rag.experiments.explanation.standing import locate_passages
from rag.protocols import InputType
from rag.retrieval import Candidates, select
from rag.types import Vectors, chunk_key
from tests.depths import at_depth
from tests.recipes import plain_search
from tests.unit import test_refusal as refusal

KEYS = np.array([10, 20, 30, 40], np.int64)
# Stretched, the cosines are 1, 0.8, 0.4, 0 and the BM25 scores 0, 0.25, 1, 0.5.
FOUND = Candidates(
    KEYS,
    np.array([0.7, 0.6, 0.4, 0.2]),
    np.array([0.0, 2.0, 8.0, 4.0]),
    np.array([0, 1, 2, 3], np.int32),
    np.array([3, 2, 0, 1], np.int32),
)


def case(key: int, threshold: float | None = None, **fields: object) -> Case:
    search = SearchRecipe().model_copy(update={"top_k": 2, "dense_weight": 0.9, **fields})
    return Case(key, search, threshold, FOUND, FOUND)


def searched(of: Case, field: str, value: float) -> bool:
    whole = field in ("top_k", "candidates")
    search = of.search
    if field != "threshold":
        search = search.model_copy(update={field: int(value) if whole else value})
    limit = value if field == "threshold" else of.threshold
    found = at_depth(of.deep, search.candidates)
    return of.key in found.keys[select(found, search, limit).kept].tolist()


def test_the_words_of_a_change():
    of = case(30)
    said = {
        each.field: each.words
        for each in counterfactuals(of, False, lambda *change: searched(of, *change))
    }
    assert said == {
        "dense_weight": "enters the top 2 when the weight on dense is at most 0.652 (now 0.90)",
        "threshold": "No change of the threshold alone returns it.",
        "top_k": "enters the results when top-k is at least 3 (now 2)",
        "candidates": "enters the top 2 when candidates is 1 (now 100)",
    }


def test_a_change_that_a_search_refutes_is_not_stated():
    said = counterfactuals(case(30), False, lambda _field, _value: False)
    assert {each.value for each in said} == {None}


def test_steps_that_ask_a_model_are_not_tried():
    search = case(30, rerank="chat").search
    assert asks_a_model(search)
    assert not asks_a_model(case(30).search)


def test_steps_that_arrays_do_not_show_are_tried_out():
    of = case(30, feedback=3)
    found = counterfactuals(of, False, lambda field, value: searched(of, field, value))
    weight, threshold, top_k, candidates = found
    assert weight.value == pytest.approx(0.75 / 1.15, abs=0.002)
    assert weight.shorter is not None
    assert not searched(of, "dense_weight", weight.shorter)
    assert [weight.exact, threshold.exact, top_k.exact, candidates.exact] == [
        False,
        True,
        True,
        False,
    ]
    assert (candidates.value, candidates.shorter) == (1, 2)
    assert max(each.searches for each in found) <= 60


def test_figures_keep_their_digits():
    assert [number(value) for value in (0.6, 0.123456, 1.0, 1e-7)] == [
        "0.60",
        "0.123456",
        "1.00",
        "0.0000001",
    ]


class _Words:
    """Two axes: texts with ``pump`` and texts with ``leave``; empty texts lie between them."""

    id, dimension = "words", 2

    def __init__(self) -> None:
        self.batches: list[int] = []

    def embed(self, texts: Sequence[str], _input_type: str) -> Vectors:
        self.batches.append(len(texts))
        rows = [[text.count("pump") + 1e-9, text.count("leave") + 1e-9] for text in texts]
        vectors = np.array(rows)
        return (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)


def test_shares_are_what_the_cosine_loses():
    found = attribution("pump noise", "The pump hums. The leave is long.", _Words())
    assert found.cosine == pytest.approx(2**-0.5)
    assert [(part.text, part.change) for part in found.sentences] == [
        ("The pump hums.", pytest.approx(2**-0.5)),
        ("The leave is long.", pytest.approx(2**-0.5 - 1, abs=1e-6)),
    ]
    assert [(part.text, part.change) for part in found.words] == [
        # What is left lies between both axes, as the passage does.
        ("pump", pytest.approx(2**-0.5 - 1, abs=1e-6)),
        ("noise", pytest.approx(0.0)),
    ]
    assert found.embeddings == 6


def test_a_single_part_carries_all():
    found = attribution("pump", "The pump hums.", _Words())
    assert [part.change for part in found.words] == [found.cosine]
    assert [part.change for part in found.sentences] == [found.cosine]
    assert found.embeddings == 2


def test_long_texts_are_attributed_in_bounded_batches():
    embedder, heard = _Words(), list[tuple[int, int]]()
    found = attribution(
        "pump " * 300, "The pump hums. " * 300, embedder, lambda *now: heard.append(now)
    )
    assert len(found.sentences) == MOST_SENTENCES
    assert len(found.words) == MOST_WORDS
    assert found.embeddings == sum(embedder.batches) == 2 + MOST_SENTENCES + MOST_WORDS
    assert max(embedder.batches) <= BATCH
    assert heard[0] == (0, found.embeddings)
    assert group_spans([(0, 1), (2, 3), (4, 5)], 2) == [(0, 3), (4, 5)]


def test_what_the_listener_raises_stops_the_work():
    embedder = _Words()

    def stop(done: int, _total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attribution("pump " * 300, "The pump hums. " * 300, embedder, stop)
    assert embedder.batches == [BATCH]


TEXT = "Unused leave may be carried\nover until 30 June. It lapses then."


def _chunks(*cuts: int) -> list[Chunk]:
    ends = [*cuts, len(TEXT)]
    spans = list(zip([0, *cuts], ends, strict=True))
    return [
        Chunk(chunk_key("d", low, high), "d", low, high, TEXT[low:high], at)
        for at, (low, high) in enumerate(spans)
    ]


def test_a_quote_is_found_in_every_passage_that_it_reaches_into():
    first, second = _chunks(32)  # 10 of its characters in the first, 16 in the second
    quote = "carried over until 30 June"
    found = locate_passages(quote, {"other": "Nothing here.", "d": TEXT}, {"d": [first, second]})
    assert [(each.key, each.match) for each in found] == [
        (second.key, "exact"),
        (first.key, "exact"),
    ]


def test_a_quote_with_a_slip_is_similar_and_strange_words_are_nowhere():
    (whole,) = _chunks()
    found = locate_passages(
        "Unused leave can be carried over until 30 June", {"d": TEXT}, {"d": [whole]}
    )
    assert [(each.key, each.match) for each in found] == [(whole.key, "similar")]
    assert (
        locate_passages("The pump makes a grinding noise again", {"d": TEXT}, {"d": [whole]}) == []
    )


def test_overlap_of_rankings():
    # Webber, Moffat and Zobel's example: agreements 0, 0, 2/3, 2/4, 2/5, 2/6, 2/7.
    one, other, p = "abcdefg", "zcavwxy", 0.9
    agreements = (0, 0, 2 / 3, 2 / 4, 2 / 5, 2 / 6, 2 / 7)
    expected = (1 - p) / p * sum(a * p**d for d, a in enumerate(agreements, 1)) + 2 / 7 * p**7
    assert rank_biased_overlap(one, other) == pytest.approx(expected)
    # By hand, p = 0.5: 0.5/0.5 * (0 + 1/2 * 1/4 + 1 * 1/8) + 1 * 1/8.
    assert rank_biased_overlap([1, 2, 3], [3, 2, 1], 0.5) == pytest.approx(0.375)
    # Uneven, p = 0.5: overlaps 1, 2 and then 2 + 2/2 of three; tail ((2-2)/3 + 2/2) / 8.
    assert rank_biased_overlap("ab", "abc", 0.5) == pytest.approx(1.0)
    assert rank_biased_overlap("ab", "acb", 0.9) == pytest.approx(0.82)  # equation 32 by hand
    assert rank_biased_overlap("", "") == 1.0
    assert rank_biased_overlap("", "a") == rank_biased_overlap("ab", "xy") == 0.0
    with pytest.raises(ValueError, match="between 0 and 1"):
        rank_biased_overlap("a", "a", 1.0)


@pytest.mark.parametrize("turn", [2, 3, 4, 7, 24, 150, 999])
def test_whole_numbers_are_found_by_trial_to_the_last_one(turn):
    trials = Trials(lambda value: value >= turn, was_in=False)
    assert by_trial("top_k", 1, trials) == (turn, None if turn == 2 else turn - 1)


def test_a_weight_is_found_by_trial_within_half_a_percent_of_the_change():
    found = by_trial("dense_weight", 0.6, Trials(lambda value: value < 0.371, was_in=False))
    assert found is not None
    value, outside = found
    assert outside is not None
    assert value < 0.371 <= outside
    assert outside - value <= 0.005 * (0.6 - value) + 1e-4


@pytest.mark.parametrize(
    ("refuse", "crossing", "words", "bound"),
    [
        (
            "auto",
            Breakpoint(0.2, 0.0),
            "enters the top 5 when",
            "at most",
        ),
        (
            0.1,
            Breakpoint(0.2, 1.0),
            "leaves the top 5 when",
            "at least",
        ),
    ],
)
def test_what_would_let_a_question_pass(refuse, crossing, words, bound):
    search = plain_search(refuse=refuse)
    case = Case(10, search, None, refusal.found(0.2), refusal.found(0.2))
    assert by_refuse(case) == crossing

    def run(field: str, value: float) -> bool:
        changed = search.model_copy(update={} if field == "threshold" else {field: value})
        limit = value if field == "threshold" else None
        return 10 in refusal.KEYS[select(refusal.found(0.2), changed, limit).kept]

    changes = {each.field: each for each in counterfactuals(case, case.is_in, run)}
    expected = f"{words} the limit of off-topic questions is {bound}"
    assert changes["refuse"].words.startswith(expected)
    assert changes["refuse"].bound == 0.2
    assert not (case.refused and changes["top_k"].value)


def test_a_recipe_that_never_refuses_is_explained_as_before():
    case = Case(10, plain_search(), None, refusal.found(0.2), refusal.found(0.2))
    fields = [each.field for each in counterfactuals(case, True, lambda *_: True)]
    assert fields == ["dense_weight", "threshold", "top_k", "candidates"]


class _Pumps:
    """Embeds by two words."""

    id, dimension = "pumps", 2

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        rows = np.array([[text.count("pump") + 1e-9, text.count("leave") + 1e-9] for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_a_cosine_is_shared_out_to_the_context_too():
    embedder = _Pumps()
    found = attribution("pump", "The leave is long.", embedder, context="pump manual")  # type: ignore[arg-type]
    assert found.cosine == pytest.approx(2**-0.5)
    assert (found.context.text, found.context.change) == ("pump manual", pytest.approx(2**-0.5))
    assert [part.change for part in found.sentences] == [pytest.approx(2**-0.5 - 1, abs=1e-6)]
    assert found.embeddings == 4
    plain = attribution("pump", "The leave is long.", embedder)  # type: ignore[arg-type]
    assert (plain.context, plain.embeddings) == (None, 2)
