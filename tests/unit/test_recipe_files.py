"""A recipe that was exported as JSON is read back as the same recipe."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import InvalidRecipe, Recipe, changed_recipe
from rag.__main__ import main
from tests.api import client
from tests.runs import handbook

CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "index.chunk_size": st.integers(64, 8192),
        "index.chunk_overlap": st.integers(0, 63),
        "index.chunker": st.sampled_from(["whole", "recursive", "markdown"]),
        "search.mode": st.sampled_from(["dense", "lexical", "hybrid"]),
        "search.threshold": st.one_of(st.none(), st.just("auto"), st.floats(-1, 1)),
        "search.dense_weight": st.floats(0, 1),
        "search.k1": st.floats(0, 10),
        "search.fuzzy": st.booleans(),
        "answer.model": st.one_of(st.none(), st.text(min_size=1, max_size=8)),
    },
)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("index.chunk_overlap", 200, "Recipe field index: chunk_overlap must be less than"),
        ("search.after", "2024-13-01", "Recipe field search.after: month must be in 1..12"),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(field, value, said):
    with pytest.raises(InvalidRecipe) as caught:
        Recipe().with_fields({field: value})
    assert caught.value.message.startswith(said)


@given(CHANGES)
def test_json_carries_every_field_exactly(changes):
    recipe = Recipe().with_fields(changes)
    read = Recipe.parse(json.loads(recipe.model_dump_json()))
    assert read == recipe
    assert read.hash == recipe.hash


def test_what_a_file_does_not_name_is_as_the_recipe_is_saved(home, tmp_path, capsys):
    base = handbook(home)[1]
    saved = base.recipe().with_fields({"search.refuse": 0.1, "search.synonyms": False})
    base.save_recipe(saved)
    path = tmp_path / "recipe.json"
    path.write_text('{"search": {"top_k": 2}}')
    short = saved.with_fields({"search.top_k": 2})
    embedder = {"index.embedder": "fake"}
    for options, expected in [
        ([], short),
        (["--set", "search.b=0.5"], short.with_fields({"search.b": 0.5})),
        (
            ["--new", "--set", "index.embedder=fake"],
            changed_recipe(Recipe(), {"search": {"top_k": 2}}, embedder),
        ),
    ]:
        command = ["search", "handbook", "grinding noise", "--recipe", str(path), *options]
        assert main([*command, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["recipe"] == expected.hash


def test_requests_change_what_they_name_and_nothing_else(home):
    workspace, base = handbook(home)
    api, path = client(workspace), "/api/v1/knowledge-bases/handbook"
    saved = base.recipe().with_fields({"search.refuse": 0.1, "search.synonyms": False})
    base.save_recipe(saved)
    part, short = {"search": {"top_k": 2}}, saved.with_fields({"search.top_k": 2})
    for body, expected in [
        ({"recipe": part, "fields": {"search.b": 0.5}}, short.with_fields({"search.b": 0.5})),
        ({"recipe": saved.stored(), "new": True}, saved),
    ]:
        trace = api.post(f"{path}/search", json={"question": "grinding noise", **body}).json()
        assert trace["recipe"] == expected.hash
    assert api.put(f"{path}/recipe", json={"recipe": part}).json()["hash"] == short.hash
    made = {"name": "other", "like": "handbook", "recipe": {"search": {"b": 0.5}}}
    assert api.post("/api/v1/knowledge-bases", json=made).status_code == 201
    assert workspace.base("other").recipe() == short.with_fields({"search.b": 0.5})
