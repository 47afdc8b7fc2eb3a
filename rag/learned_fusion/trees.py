"""Boosted trees: fitted by XGBoost, and scored from their JSON without it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from rag.errors import MissingDependency
from rag.learned_fusion.features import FEATURES
from rag.types import Floats, Integers

Node = Mapping[str, Any]
_NUMBERS = {name: number for number, name in enumerate(FEATURES)}


@dataclass(frozen=True)
class TreeModel:
    """Trees as XGBoost dumps them with statistics; the score is the sum of the leaves reached."""

    kind: ClassVar[str] = "trees"
    trees: Sequence[Node]

    def scores(self, table: Floats) -> Floats:
        """The score of each row of features, shape (n,).

        XGBoost compares in single precision, and so does this.
        """
        nodes, rows = self._nodes, table.astype(np.float32)
        places = np.repeat(nodes.roots[:, None], len(rows), axis=1)
        columns = np.arange(len(rows))[None, :]
        for _ in range(nodes.depth):
            below = rows[columns, nodes.feature[places]] < nodes.limit[places]
            places = np.where(below, nodes.yes[places], nodes.no[places])
        return np.asarray(nodes.value[places].sum(axis=0))

    def contributions(self, table: Floats) -> Floats:
        """The part of each feature in each score, shape (n, features).

        These are Shapley values (Lundberg et al., From Local Explanations to Global Understanding
        with Explainable AI for Trees, 2020), which add up to the score less the mean score.
        """
        rows, parts = table.astype(np.float32).astype(np.float64), np.zeros(table.shape)
        for tree in self.trees:
            for value, path in _leaves(tree, {}):
                _add_leaf(parts, rows, value, path)
        return parts

    def to_dict(self) -> dict[str, Any]:
        """The model as JSON-compatible data, without loss."""
        return {"kind": self.kind, "trees": list(self.trees)}

    @cached_property
    def _nodes(self) -> _Nodes:
        return _Nodes.of(self.trees)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """All nodes of all trees in arrays; leaves lead to themselves."""

    roots: Integers
    feature: Integers
    limit: Floats
    yes: Integers
    no: Integers
    value: Floats
    depth: int

    @classmethod
    def of(cls, trees: Sequence[Node]) -> _Nodes:
        rows: list[list[float]] = []

        def add(node: Node) -> tuple[int, int]:
            place = len(rows)
            rows.append([0, math.inf, place, place, float(node.get("leaf", 0.0))])
            if "leaf" in node:
                return place, 0
            by_id = {child["nodeid"]: child for child in node["children"]}
            yes, left = add(by_id[node["yes"]])
            no, right = add(by_id[node["no"]])
            rows[place][:4] = [_NUMBERS[node["split"]], node["split_condition"], yes, no]
            return place, 1 + max(left, right)

        placed = [add(tree) for tree in trees]
        feature, limit, yes, no, value = np.array(rows).reshape(-1, 5).T
        return cls(
            np.array([place for place, _ in placed], np.int64),
            feature.astype(np.int64),
            limit.astype(np.float32),
            yes.astype(np.int64),
            no.astype(np.int64),
            value,
            max((depth for _, depth in placed), default=0),
        )


_Path = dict[int, tuple[float, float, float]]
"""By feature: the rows that pass it are in [low, high); the share of training rows that do."""


def _leaves(node: Node, path: _Path) -> Iterator[tuple[float, _Path]]:
    if "leaf" in node:
        yield float(node["leaf"]), path
        return
    feature, limit = _NUMBERS[node["split"]], float(np.float32(node["split_condition"]))
    low, high, share = path.get(feature, (-math.inf, math.inf, 1.0))
    for child in node["children"]:
        passing = share * child["cover"] / node["cover"]
        is_yes = child["nodeid"] == node["yes"]
        span = (low, min(high, limit)) if is_yes else (max(low, limit), high)
        yield from _leaves(child, {**path, feature: (*span, passing)})


def _add_leaf(parts: Floats, rows: Floats, value: float, path: _Path) -> None:
    """Add what a leaf contributes to the Shapley value of each feature on its path."""
    features = list(path)
    inside = {
        feature: ((rows[:, feature] >= low) & (rows[:, feature] < high)).astype(np.float64)
        for feature, (low, high, _) in path.items()
    }
    for feature in features:
        others = [other for other in features if other != feature]
        expected = np.zeros(len(rows))
        for size in range(len(others) + 1):
            weight = 1 / (len(features) * math.comb(len(others), size))
            for present in combinations(others, size):
                product = np.full(len(rows), weight)
                for other in others:
                    product *= inside[other] if other in present else path[other][2]
                expected += product
        parts[:, feature] += value * (inside[feature] - path[feature][2]) * expected


def require_trees() -> None:
    """Raise MissingDependency where XGBoost is not installed."""
    try:
        import xgboost  # noqa: F401
    except ImportError as error:
        raise MissingDependency(
            "Fitting trees needs the package xgboost-cpu.",
            "Run `pip install -r requirements-trees.txt`.",
        ) from error


def fit_trees(
    table: Floats, grades: Integers, owner: Integers, depth: int, rounds: int
) -> TreeModel:
    """Fit trees by LambdaMART on nDCG (Burges, MSR-TR-2010-82); arrays as in ``fit_linear``.

    The same input makes the same trees. Raises MissingDependency without XGBoost.
    """
    require_trees()
    import xgboost

    rows = xgboost.DMatrix(table, label=grades, qid=owner, feature_names=list(FEATURES))
    parameters = {
        "objective": "rank:ndcg",
        "lambdarank_pair_method": "topk",
        "lambdarank_num_pair_per_sample": 8,
        "max_depth": depth,
        "eta": 0.1,
        "subsample": 0.8,
        "colsample_bytree": 0.8,
        "nthread": 2,
        "seed": 0,
        "verbosity": 0,
    }
    booster = xgboost.train(parameters, rows, rounds)
    dumped = booster.get_dump(dump_format="json", with_stats=True)
    return TreeModel([json.loads(tree) for tree in dumped])
