"""Learned fusions in exports: one that weighs cosine and BM25 alone is a fusion of every engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rag.exports.fidelity import UNUSED, ExportedField, Fidelity, Rule
from rag.learned_fusion import FusionModel, LinearModel
from rag.learned_fusion.features import BM25_PIVOT, FEATURES
from rag.recipe import Recipe

_FIELD = "search.learned_fusion"
_PLACE = ("search.fusion", "search.dense_weight", "search.rrf_k", "search.bm25_pivot")
"""The fields in whose place a learned fusion ranks."""
_EXPRESSED = ("search.fusion", "search.dense_weight", "search.bm25_pivot")
_ORDER: tuple[Fidelity, ...] = ("exact", "approximate", "not expressible")
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class ExportedFusion:
    """The recipe that an export has, and ``lacking``, why it ranks by its own fusion; "" if not."""

    recipe: Recipe
    lacking: str = ""

    @classmethod
    def of(cls, recipe: Recipe, model: FusionModel | None) -> ExportedFusion:
        """Express a learned fusion as ``saturation``, if that has the same order."""
        plain = recipe.with_fields({_FIELD: None})
        if model is None:
            return cls(recipe)
        lacking = _lacking(model)
        if lacking or not isinstance(model, LinearModel):
            return cls(plain, lacking)
        near, words = model.weights.get("cosine", 0.0), model.weights.get("bm25", 0.0)
        fields = {
            "search.fusion": "saturation",
            "search.dense_weight": near / (near + words),
            "search.bm25_pivot": BM25_PIVOT,
        }
        return cls(plain.with_fields(fields))

    def field(self, field: ExportedField, rules: Mapping[str, Rule]) -> ExportedField:
        """A field of the recipe with a learned fusion, by the rules of the target."""
        if field.name == _FIELD:
            rule = self._rule(rules)
            return replace(field, fidelity=rule.fidelity, reason=rule.reason)
        if field.name in _PLACE and not self.lacking:
            return replace(field, fidelity=UNUSED.fidelity, reason=UNUSED.reason)
        return field

    def _rule(self, rules: Mapping[str, Rule]) -> Rule:
        if self.lacking:
            return Rule("not expressible", self.lacking)
        parts = [rules[name] for name in _EXPRESSED if name in rules]
        worst = max(parts, key=lambda rule: _ORDER.index(rule.fidelity))
        weight = self.recipe.search.dense_weight
        form = f"it has the order of saturation with a weight of {weight:.3f}"
        return Rule(worst.fidelity, f"{form}; {worst.reason}")


def _lacking(model: FusionModel) -> str:
    if not isinstance(model, LinearModel):
        return "no engine has what its trees split by; the query ranks by fusion and dense_weight"
    others = [name for name in FEATURES if name not in ("cosine", "bm25")]
    used = [name for name in others if model.weights.get(name)]
    if used:
        more = "" if len(used) <= _MOST_NAMED else f" and {len(used) - _MOST_NAMED} more"
        return (
            f"no engine has {', '.join(used[:_MOST_NAMED])}{more}; the query ranks by fusion and "
            "dense_weight"
        )
    weights = model.weights.get("cosine", 0.0), model.weights.get("bm25", 0.0)
    if min(weights) < 0 or not sum(weights):
        return "a weight is below 0; the query ranks by fusion and dense_weight"
    return ""
