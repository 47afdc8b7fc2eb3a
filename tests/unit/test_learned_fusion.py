"""Features by hand, models on planted relevance, and trees scored without XGBoost."""

from __future__ import annotations

import json
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rag.errors import InvalidInput
from rag.learned_fusion import (
    FEATURES,
    LinearModel,
    TreeModel,
    feature_table,
    fit_linear,
    fit_trees,
    model_from_dict,
)
from rag.lexical import LexicalIndex
from rag.types import Chunk, Floats

COSINE, BM25 = (list(FEATURES).index(name) for name in ("cosine", "bm25"))


def _chunk(key: int, text: str, order: int, heading: str = "") -> tuple[Chunk, str]:
    return Chunk(key, "d", 0, len(text), text, order, heading), "Valve prices"


def test_features_are_those_of_the_definitions() -> None:
    texts = {
        1: "The green valve costs ten crowns.",
        2: "A valve that is green.",
        3: "Pipes",
        4: "Hoses",
        5: "Taps",
    }
    lexical = LexicalIndex.empty("english").added(texts.items())
    candidates: Any = SimpleNamespace(
        keys=np.array([1, 2]),
        cosine=np.array([0.5, 0.25]),
        bm25=np.array([8.0, 0.0]),
        dense_rank=np.array([0, 10], np.int32),
        lexical_rank=np.array([np.iinfo(np.int32).max, 0], np.int32),
        exact=np.array([True, False]),
    )
    passages = {1: _chunk(1, texts[1], 0, "Green things"), 2: _chunk(2, texts[2], 3)}
    table = feature_table("green valve", candidates, passages, lexical)
    first, second = (dict(zip(FEATURES, row.tolist(), strict=True)) for row in table)
    assert (first["cosine"], first["bm25"], second["bm25"]) == (0.5, 0.5, 0.0)
    assert (first["dense_rank"], second["dense_rank"]) == (1.0, 0.5)
    assert (first["lexical_rank"], second["lexical_rank"]) == (0.0, 1.0)
    assert (first["word_share"], second["word_share"]) == pytest.approx((1.0, 1.0))
    assert (first["title_share"], first["heading_share"]) == pytest.approx((0.5, 0.5))
    assert (first["phrase_share"], second["phrase_share"]) == (1.0, 0.0)
    assert (first["code"], second["code"]) == (1.0, 0.0)
    assert (first["position"], second["position"]) == (1.0, 0.25)
    assert first["length"] == pytest.approx(33 / 1033)
    assert first["question_words"] == pytest.approx(2 / 7)


def test_what_is_gone_has_no_features_of_its_text() -> None:
    lexical = LexicalIndex.empty("english").added([(1, "green valve")])
    nothing: Any = SimpleNamespace(
        keys=np.array([1]),
        cosine=np.zeros(1),
        bm25=np.zeros(1),
        dense_rank=np.zeros(1, np.int32),
        lexical_rank=np.zeros(1, np.int32),
        exact=None,
    )
    table = feature_table("", nothing, {}, lexical)
    assert np.isfinite(table).all()
    assert table[0, list(FEATURES).index("length")] == 0.0


def _planted(questions: int = 40, candidates: int = 8) -> tuple[Floats, Any, Any]:
    """In each question the candidate with the greatest cosine is relevant."""
    rng = np.random.default_rng(3)
    table = rng.random((questions * candidates, len(FEATURES)))
    grades = np.zeros(len(table), np.int64)
    for start in range(0, len(table), candidates):
        grades[start + int(table[start : start + candidates, COSINE].argmax())] = 1
    return table, grades, np.repeat(np.arange(questions), candidates)


def test_a_linear_fit_finds_the_feature_that_decides() -> None:
    table, grades, owner = _planted()
    model = fit_linear(table, grades, owner, tuple(FEATURES), 1.0)
    weights = dict(model.weights)
    assert weights.pop("cosine") > 5 * max(map(abs, weights.values()))
    scores = model.scores(table).reshape(40, 8)
    assert (scores.argmax(axis=1) == grades.reshape(40, 8).argmax(axis=1)).mean() > 0.9
    assert model.contributions(table).sum(axis=1) == pytest.approx(model.scores(table))


def test_a_linear_fit_weighs_only_the_features_that_it_may() -> None:
    table, grades, owner = _planted()
    assert list(fit_linear(table, grades, owner, ("bm25",), 1.0).weights) == ["bm25"]


LEAVES = {"low": 0.1, "middle": 0.4, "high": 0.9}
TREE: dict[str, Any] = {
    "nodeid": 0,
    "split": "cosine",
    "split_condition": 0.5,
    "yes": 1,
    "no": 2,
    "missing": 1,
    "gain": 3.0,
    "cover": 10.0,
    "children": [
        {"nodeid": 1, "leaf": LEAVES["low"], "cover": 4.0},
        {
            "nodeid": 2,
            "split": "bm25",
            "split_condition": 0.25,
            "yes": 3,
            "no": 4,
            "missing": 3,
            "gain": 1.0,
            "cover": 6.0,
            "children": [
                {"nodeid": 3, "leaf": LEAVES["middle"], "cover": 2.0},
                {"nodeid": 4, "leaf": LEAVES["high"], "cover": 4.0},
            ],
        },
    ],
}


def _rows(*pairs: tuple[float, float]) -> Floats:
    table = np.zeros((len(pairs), len(FEATURES)))
    table[:, [COSINE, BM25]] = pairs
    return table


def test_a_tree_is_followed_to_its_leaf() -> None:
    rows = _rows((0.4, 0.9), (0.5, 0.2), (0.5, 0.25))
    assert TreeModel([TREE, TREE]).scores(rows).tolist() == [0.2, 0.8, 1.8]


def test_parts_of_a_tree_are_shapley_values() -> None:
    rows = _rows((0.4, 0.9), (0.7, 0.2), (0.7, 0.9))
    parts = TreeModel([TREE]).contributions(rows)

    def expected(row: Floats, known: frozenset[str]) -> float:
        inner = 0.4 * 2 / 6 + 0.9 * 4 / 6
        if "bm25" in known:
            inner = 0.4 if row[BM25] < 0.25 else 0.9
        if "cosine" in known:
            return 0.1 if row[COSINE] < 0.5 else inner
        return 0.4 * 0.1 + 0.6 * inner

    for row, part in zip(rows, parts, strict=True):
        by_hand = {"cosine": 0.0, "bm25": 0.0}
        for order in permutations(by_hand):
            known = frozenset[str]()
            for name in order:
                by_hand[name] += (expected(row, known | {name}) - expected(row, known)) / 2
                known |= {name}
        assert part[[COSINE, BM25]] == pytest.approx(list(by_hand.values()))


def test_stored_trees_score_like_xgboost() -> None:
    xgboost = pytest.importorskip("xgboost")
    table, grades, owner = _planted()
    model = fit_trees(table, grades, owner, 3, 20)
    assert model.to_dict() == fit_trees(table, grades, owner, 3, 20).to_dict()
    restored = model_from_dict(json.loads(json.dumps(model.to_dict())))
    scores = restored.scores(table)
    best = scores.reshape(40, 8).argmax(axis=1)
    assert (best == grades.reshape(40, 8).argmax(axis=1)).mean() > 0.9
    parts = restored.contributions(table)
    offsets = scores - parts.sum(axis=1)
    assert offsets == pytest.approx(np.full(len(scores), offsets[0]))
    assert xgboost.__version__


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"kind": "linear"},
        {"kind": "linear", "weights": {"unheard": 1.0}},
        {"kind": "linear", "weights": {"cosine": float("nan")}},
        {"kind": "forest", "trees": []},
        {"kind": "trees", "trees": [{}]},
        {"kind": "trees", "trees": [{**TREE, "split": "unheard"}]},
        {"kind": "trees", "trees": [{**TREE, "yes": 7}]},
        {"kind": "trees", "trees": [{**TREE, "cover": 0.0}]},
    ],
)
def test_a_damaged_model_is_refused(stored: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="damaged"):
        model_from_dict(stored)


def test_a_linear_model_comes_back_as_it_was() -> None:
    model = LinearModel({"cosine": 0.1 + 0.2, "bm25": -1e-17})
    assert model_from_dict(json.loads(json.dumps(model.to_dict()))) == model
