"""The weight of the vectors follows the embedder, unless somebody chose it."""

from argparse import Namespace

import pytest

from rag import InvalidRecipe, Recipe, with_embedder_weight
from rag.cli import targets

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
