"""What the retrievers contributed adds up to the score that a passage is ranked by."""

import pytest

from rag import Recipe, SearchRecipe
from tests.handbook import LEAVE, RECIPE, make

FUSIONS = SearchRecipe.model_json_schema()["properties"]["fusion"]["enum"]


@pytest.mark.parametrize(
    "changes",
    [
        {"search.mode": "dense"},
        {"search.mode": "lexical"},
        {"search.dense_weight": 0.3},
        {"search.fusion": "rrf", "search.dense_weight": 0.7},
        {"search.fusion": "saturation", "search.bm25_pivot": 4.0},
        *({"search.fusion": fusion} for fusion in FUSIONS),
    ],
)
def test_shares_add_up_to_the_score(tmp_path, changes):
    workspace, base = make(tmp_path)
    recipe: Recipe = RECIPE.with_fields({"search.threshold": 0.15, **changes})
    trace = base.search(LEAVE, recipe)
    found = base.score_contributions(trace, recipe)
    hits = [*trace.hits, *(drop.hit for stage in trace.stages for drop in stage.dropped)]
    scores = {hit.chunk.key: hit.score for hit in hits}
    assert {key: share.dense + share.lexical for key, share in found.items()} == pytest.approx(
        scores
    )
    assert len(scores) >= 1
    workspace.close()
