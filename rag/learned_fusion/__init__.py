"""Learned fusion: features of candidates, and linear models and trees that score by them."""

from rag.learned_fusion.features import FEATURES, feature_table
from rag.learned_fusion.linear import LinearModel, fit_linear
from rag.learned_fusion.models import FusionModel, model_from_dict
from rag.learned_fusion.trees import TreeModel, fit_trees

__all__ = [
    "FEATURES",
    "FusionModel",
    "LinearModel",
    "TreeModel",
    "feature_table",
    "fit_linear",
    "fit_trees",
    "model_from_dict",
]
