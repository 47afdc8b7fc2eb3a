"""Either kind of model, stored as JSON and named by a hash of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rag.errors import InvalidInput
from rag.learned_fusion.features import FEATURES
from rag.learned_fusion.linear import LinearModel
from rag.learned_fusion.trees import Node, TreeModel

FusionModel = LinearModel | TreeModel


def model_from_dict(stored: Mapping[str, Any]) -> FusionModel:
    """The model that ``to_dict`` wrote. Raises InvalidInput for other data."""
    try:
        if stored["kind"] == "linear":
            weights = {str(name): float(value) for name, value in stored["weights"].items()}
            _require(weights.keys() <= FEATURES.keys())
            _require(all(map(math.isfinite, weights.values())))
            return LinearModel(weights)
        _require(stored["kind"] == "trees")
        trees = list(stored["trees"])
        for tree in trees:
            _check(tree)
        return TreeModel(trees)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            "A stored learned fusion is damaged or of another version.", "Learn it again."
        ) from error


def _check(node: Node) -> None:
    if "leaf" in node:
        _require(math.isfinite(node["leaf"]))
        return
    _require(node["split"] in FEATURES and math.isfinite(node["split_condition"]))
    numbers = [child["nodeid"] for child in node["children"]]
    _require(sorted(numbers) == sorted([node["yes"], node["no"]]))
    for child in node["children"]:
        _require(0 <= child["cover"] <= node["cover"])
        _check(child)


def _require(sound: bool) -> None:
    if not sound:
        raise ValueError("not a model")
