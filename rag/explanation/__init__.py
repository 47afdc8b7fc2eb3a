"""Why a passage stands where it stands, and what would change that."""

from rag.evaluation.rank_overlap import PERSISTENCE, rank_biased_overlap
from rag.explanation.attribution import Attribution, TextPart, attribution
from rag.explanation.breakpoints import MOST_CANDIDATES, WHOLE, Case, Field
from rag.explanation.counterfactuals import (
    Counterfactual,
    asks_a_model,
    counterfactuals,
    unavailable,
)
from rag.explanation.locating import Located, Match, located
from rag.explanation.standing import (
    Figures,
    FullRankings,
    Gap,
    Passing,
    Standing,
    figures,
    gap,
    place,
    standing,
)

__all__ = [
    "MOST_CANDIDATES",
    "PERSISTENCE",
    "WHOLE",
    "Attribution",
    "Case",
    "Counterfactual",
    "Field",
    "Figures",
    "FullRankings",
    "Gap",
    "Located",
    "Match",
    "Passing",
    "Standing",
    "TextPart",
    "asks_a_model",
    "attribution",
    "counterfactuals",
    "figures",
    "gap",
    "located",
    "place",
    "rank_biased_overlap",
    "standing",
    "unavailable",
]
