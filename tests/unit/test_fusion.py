"""Fusion and selection as arithmetic: weights and shares, against figures worked out by hand."""

import itertools
from argparse import Namespace
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import InvalidRecipe, Recipe, SearchRecipe, score_contributions, with_embedder_weight
from rag.cli import targets
from rag.retrieval import (
    NOT_FOUND,
    Candidates,
    fused_scores,
    isotonic_fit,
    min_max,
    ranking,
    select,
)
from tests.handbook import LEAVE, RECIPE, make
from tests.runs import handbook
from tests.verbs import output_of
from tests.workspaces import QUICK


def candidates(rows: list[tuple[int, float, float, int | None, int | None]]) -> Candidates:
    keys, cosine, bm25, dense, lexical = zip(*rows, strict=True)
    return Candidates(
        keys=np.array(keys, np.int64),
        cosine=np.array(cosine),
        bm25=np.array(bm25),
        dense_rank=np.array([NOT_FOUND if r is None else r for r in dense], np.int32),
        lexical_rank=np.array([NOT_FOUND if r is None else r for r in lexical], np.int32),
    )


FOUR = candidates(
    [
        (1, 0.9, 0.0, 0, None),
        (2, 0.5, 8.0, 2, 0),
        (3, 0.7, 2.0, 1, 2),
        (4, 0.1, 4.0, None, 1),
    ]
)


def order(recipe: SearchRecipe, threshold: float | None = None) -> list[int]:
    return FOUR.keys[select(FOUR, recipe, threshold).kept].tolist()


def test_each_mode_ranks_by_its_own_figure():
    assert order(SearchRecipe(mode="dense")) == [1, 3, 2, 4]
    assert order(SearchRecipe(mode="lexical")) == [2, 4, 3, 1]


def test_weighted_fusion_is_the_convex_combination_of_min_max_scores():
    scores = fused_scores(FOUR, SearchRecipe(dense_weight=0.6))
    dense = [1.0, 0.5, 0.75, 0.0]
    lexical = [0.0, 1.0, 0.25, 0.5]
    expected = [0.6 * d + 0.4 * w for d, w in zip(dense, lexical, strict=True)]
    assert scores == pytest.approx(expected, abs=1e-12)


def test_reciprocal_ranks_follow_the_paper():
    scores = fused_scores(FOUR, SearchRecipe(fusion="rrf", rrf_k=60, dense_weight=0.5))
    expected = [0.5 / 61, 0.5 / 63 + 0.5 / 61, 0.5 / 62 + 0.5 / 63, 0.5 / 62]
    assert scores == pytest.approx(expected, abs=1e-15)


def test_saturation_mixes_the_cosine_with_bm25_that_levels_off():
    scores = fused_scores(FOUR, SearchRecipe(fusion="saturation", dense_weight=0.6))
    lexical = [0.0, 8 / 16, 2 / 10, 4 / 12]
    expected = [0.6 * d + 0.4 * w for d, w in zip([0.9, 0.5, 0.7, 0.1], lexical, strict=True)]
    assert scores == pytest.approx(expected, abs=1e-15)
    steep = SearchRecipe(fusion="saturation", dense_weight=0.0, bm25_pivot=2.0)
    assert fused_scores(FOUR, steep) == pytest.approx([0.0, 0.8, 0.5, 2 / 3], abs=1e-15)


ONE_WORDED = candidates([(1, 0.9, 0.0, 0, None), (2, 0.5, 7.0, 1, 0), (3, 0.3, 2.0, None, None)])


@pytest.mark.parametrize(
    ("fusion", "dense", "lexical"),
    [
        ("weaviate_relative_score", [1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.0, 1 / 3]),
        ("opensearch_min_max", [1.0, 0.001, 0.5, 0.0], [0.0, 1.0, 0.001, 1 / 3]),
        ("elasticsearch_linear", [1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.0, 1 / 3]),
    ],
)
def test_engines_stretch_each_list_alone(fusion, dense, lexical):
    """The list by cosine has 0.9, 0.7 and 0.5; the one by BM25 has 8, 4 and 2, or 7 alone."""
    recipe = SearchRecipe(fusion=fusion, dense_weight=0.6)
    expected = [0.6 * d + 0.4 * w for d, w in zip(dense, lexical, strict=True)]
    assert fused_scores(FOUR, recipe) == pytest.approx(expected, abs=1e-12)
    words = SearchRecipe(fusion=fusion, dense_weight=0.0)
    assert fused_scores(ONE_WORDED, words).tolist() == [0.0, 1.0, 0.0]
    near = SearchRecipe(fusion=fusion, dense_weight=1.0)
    same = replace(FOUR, cosine=np.full(4, 0.5))
    assert fused_scores(same, near).tolist() == [1.0, 1.0, 1.0, 0.0]


def test_qdrant_divides_ranks_by_weights():
    recipe = SearchRecipe(fusion="qdrant_rrf", rrf_k=10, dense_weight=0.75)
    near, words = (
        [1 / (10 + rank / 0.75) for rank in (1, 2, 3)],
        [1 / (10 + 4 * r) for r in (1, 2, 3)],
    )
    expected = [near[0], near[2] + words[0], near[1] + words[2], words[1]]
    assert fused_scores(FOUR, recipe) == pytest.approx(expected, abs=1e-15)
    without = SearchRecipe(fusion="qdrant_rrf", rrf_k=10, dense_weight=0.0)
    assert fused_scores(FOUR, without)[0] == 0.0


def test_in_a_list_of_its_own_the_words_stand_for_a_vector_that_is_not_in():
    late = replace(FOUR, by_words=np.array([False, False, False, True]))
    scores = fused_scores(late, SearchRecipe(fusion="weaviate_relative_score", dense_weight=0.6))
    assert scores[3] == pytest.approx(1 / 3)


def test_in_saturation_the_words_stand_for_a_vector_that_is_not_in():
    late = replace(FOUR, by_words=np.array([False, True, False, False]))
    scores = fused_scores(late, SearchRecipe(fusion="saturation", dense_weight=0.6))
    assert scores[1] == pytest.approx(0.5)


def test_threshold_applies_to_the_cosine_after_ranking_and_before_top_k():
    recipe = SearchRecipe(mode="lexical", top_k=2)
    assert order(recipe, threshold=0.5) == [2, 3]
    chosen = select(FOUR, recipe, 0.5)
    assert FOUR.keys[chosen.below].tolist() == [4]
    assert FOUR.keys[chosen.beyond].tolist() == [1]


def test_a_cosine_equal_to_the_threshold_passes():
    assert order(SearchRecipe(mode="dense"), threshold=0.7) == [1, 3]


def test_equal_scores_are_ordered_by_key():
    keys = np.array([9, 3, 7], np.int64)
    assert keys[ranking(keys, np.array([1.0, 1.0, 2.0]))].tolist() == [7, 3, 9]


def test_scores_that_do_not_differ_say_nothing():
    assert min_max(np.array([3.0, 3.0])).tolist() == [0.0, 0.0]
    assert min_max(np.empty(0)).tolist() == []


finite = st.floats(-1, 1, allow_nan=False)


@given(st.lists(st.tuples(finite, st.floats(0, 50)), min_size=1, max_size=30), finite)
def test_every_candidate_has_exactly_one_fate(rows, threshold):
    count = len(rows)
    found = candidates([(i, c, w, i, count - 1 - i) for i, (c, w) in enumerate(rows)])
    chosen = select(found, SearchRecipe(top_k=3), threshold)
    fates = np.concatenate([chosen.kept, chosen.beyond, chosen.below])
    assert sorted(fates.tolist()) == list(range(count))
    assert all(found.cosine[place] >= threshold for place in chosen.kept)
    assert all(found.cosine[place] < threshold for place in chosen.below)


@given(st.lists(st.tuples(finite, st.floats(0, 50)), min_size=1, max_size=30))
def test_weight_one_and_zero_are_the_single_retrievers(rows):
    found = candidates([(i, c, w, i, i) for i, (c, w) in enumerate(rows)])
    dense = fused_scores(found, SearchRecipe(dense_weight=1.0))
    lexical = fused_scores(found, SearchRecipe(dense_weight=0.0))
    assert dense == pytest.approx(min_max(found.cosine))
    assert lexical == pytest.approx(min_max(found.bm25))


@given(
    st.lists(st.tuples(finite, st.floats(0, 50)), min_size=2, max_size=30),
    st.data(),
    st.floats(0, 1),
    st.sampled_from([1.0, 8.0, 100.0]),
)
def test_more_candidates_change_no_score_of_saturation(rows, data, weight, pivot):
    recipe = SearchRecipe(fusion="saturation", dense_weight=weight, bm25_pivot=pivot)
    deep = candidates([(i, c, w, i, i) for i, (c, w) in enumerate(rows)])
    few = data.draw(st.integers(1, len(rows) - 1))
    shallow = candidates([(i, c, w, few - 1 - i, None) for i, (c, w) in enumerate(rows[:few])])
    assert fused_scores(shallow, recipe).tolist() == fused_scores(deep, recipe)[:few].tolist()


@given(st.lists(st.floats(-1, 1), max_size=8))
def test_fitting_never_rises_and_keeps_the_sum(values):
    found = isotonic_fit(values)
    assert all(one >= other - 1e-12 for one, other in itertools.pairwise(found))
    assert sum(found) == pytest.approx(sum(values), abs=1e-9)
    if values == sorted(values, reverse=True):
        assert found == pytest.approx(values)


LLAMA = {"index.embedder": "wordllama"}


def _weight(**fields: object) -> float:
    saved = Recipe().with_fields({name.replace("__", "."): each for name, each in fields.items()})
    return with_embedder_weight(saved, saved.with_fields(LLAMA)).search.dense_weight


def test_another_embedder_brings_its_weight_and_takes_it_along():
    assert _weight() == 0.35
    weak = Recipe().with_fields(LLAMA | {"search.dense_weight": 0.35})
    strong = weak.with_fields({"index.embedder": "minilm"})
    assert with_embedder_weight(weak, strong).search.dense_weight == 0.6


def test_a_weight_that_was_chosen_stays():
    assert _weight(search__dense_weight=0.8) == 0.8
    same = Recipe().with_fields({"index.chunk_size": 100})
    assert with_embedder_weight(Recipe(), same) is same


def test_an_unknown_embedder_is_named():
    with pytest.raises(InvalidRecipe, match="No embedding model is called"):
        with_embedder_weight(Recipe(), Recipe().with_fields({"index.embedder": "none"}))


@pytest.mark.parametrize(("more", "weight"), [([], 0.35), (["search.dense_weight=0.6"], 0.6)])
def test_the_command_line_sets_it_too(more, weight):
    args = Namespace(recipe=None, new=False, set=["index.embedder=wordllama", *more])
    assert targets.recipe(args, Recipe()).search.dense_weight == weight


def test_a_recipe_beside_another_brings_it_too(tmp_path, capsys):
    workspace, base = handbook(tmp_path / "home")
    base.recipes.save(QUICK)
    other = QUICK.with_fields(LLAMA | {"search.dense_weight": 0.35})
    workspace.jobs.run(base.documents.build(other.index))
    against = ("--against", "index.embedder=wordllama", "--home", tmp_path / "home")
    asked = "vacation days per year"  # its ranking depends on the weight
    explained = output_of(capsys, "explain", "handbook", asked, *against)
    named = output_of(
        capsys, "explain", "handbook", asked, *against, "--against", "search.dense_weight=0.35"
    )
    assert explained == named
    bout = output_of(capsys, "arena", "handbook", "ask", asked, *against)["id"]
    found = base.conversations.arena.get(bout)
    assert other.hash in {found.left.recipe.hash, found.right.recipe.hash}


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
    found = score_contributions(trace, recipe.search)
    hits = [*trace.hits, *(drop.hit for stage in trace.stages for drop in stage.dropped)]
    scores = {hit.chunk.key: hit.score for hit in hits}
    assert {key: share.dense + share.lexical for key, share in found.items()} == pytest.approx(
        scores
    )
    assert len(scores) >= 1
    workspace.close()
