"""Recipes that older versions stored, or that were exported, keep what they mean."""

import hashlib
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import IndexRecipe, InvalidRecipe, Recipe, SearchRecipe, changed_recipe
from rag.recipe.parts import FORMAT, REMOVED, Removed
from tests.api import client
from tests.runs import handbook
from tests.verbs import output_of

FIRST: Mapping[str, Any] = {
    "index": {
        "chunker": "recursive",
        "chunk_size": 200,
        "chunk_overlap": 0,
        "chunk_unit": "tokens",
        "embedder": "minilm",
        "analyzer": "english",
        "vector_index": "flat",
    },
    "search": {
        "mode": "hybrid",
        "top_k": 5,
        "threshold": "auto",
        "relevance": "cosine",
        "candidates": 100,
        "fusion": "weighted",
        "dense_weight": 0.6,
        "rrf_k": 60,
        "k1": 1.2,
        "b": 0.75,
        "fuzzy": False,
        "prefix": False,
    },
    "answer": {
        "provider": "extractive",
        "model": None,
        "mode": "grounded",
        "temperature": 0.0,
        "max_tokens": 800,
        "context_tokens": 4000,
    },
}
"""The default recipe as the first version stored it."""
FIRST_HASHES = ("7c8633e87896", "e8463ac85774")
LATEST: Mapping[str, Any] = {
    "index.chunker": "markdown",
    "index.chunk_unit": "auto",
    "index.analyzer": "auto",
    "index.vector_index": "auto",
    "index.context": "table",
    "search.exact_codes": True,
    "search.matched_words": True,
    "search.refuse": "auto",
    "search.other_languages": "words",
    "search.spelling": "question",
    "search.synonyms": True,
    "answer.mode": "strict",
    "answer.tools": (),
}
"""What the default recipe of the last version without formats has otherwise."""
BEFORE_FORMATS = {
    "index.context": "none",
    "search.exact_codes": False,
    "search.matched_words": False,
    "search.refuse": "off",
    "search.other_languages": "alike",
    "search.spelling": False,
    "search.synonyms": False,
    "search.bm25_pivot": 8.0,
    "answer.memory": 0,
    "answer.tool_calls": 2,
    "answer.tools": None,
}
LATEST_HASHES = ("1a0a70a581ea", "010360b4ce5f")
FUSION = "search.learned"


def test_a_recipe_of_the_first_version_keeps_its_meaning_and_its_hash():
    recipe = Recipe.restore(FIRST)
    assert (recipe.hash, recipe.index.hash) == FIRST_HASHES
    fields = recipe.fields()
    assert {name: fields[name] for name in BEFORE_FORMATS} == BEFORE_FORMATS
    assert Recipe.restore(recipe.stored()) == recipe
    assert IndexRecipe.restore(FIRST["index"]) == recipe.index


def test_a_recipe_that_was_stored_last_without_a_format_keeps_its_hash():
    stored = Recipe.restore(FIRST).with_fields(LATEST).model_dump(mode="json")
    assert stored.pop("format") == FORMAT
    stored["search"]["abbreviations"] = True  # its default, before the field was removed
    recipe = Recipe.restore(stored)
    assert (recipe.hash, recipe.index.hash) == LATEST_HASHES
    assert recipe.removed == {"search.abbreviations": True}


@pytest.mark.parametrize("data", [{"search": {"top_k": 9}}, {"search": {"top_k": 9}, "index": {}}])
def test_what_data_does_not_name_stays_as_the_recipe_has_it(data):
    saved = Recipe().with_fields({"search.refuse": 0.2, "index.context": "none"})
    assert saved.merged(data) == saved.with_fields({"search.top_k": 9})
    assert Recipe.parse(data) == Recipe().with_fields({"search.top_k": 9})


def test_data_with_a_format_is_a_whole_recipe():
    saved = Recipe().with_fields({"search.refuse": 0.2})
    assert saved.merged(Recipe().stored()) == Recipe()
    assert saved.merged({"format": 0, **FIRST}) == Recipe.restore(FIRST)


def test_a_recipe_of_a_newer_version_is_refused():
    for read in (Recipe.parse, Recipe.restore):
        with pytest.raises(InvalidRecipe, match="format"):
            read(Recipe().stored() | {"format": FORMAT + 1})


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"search": {"topk": 3}}, "search.topk"),
        ({"serach": {"top_k": 3}}, "serach"),
        ({"search.top_k": 3}, "search.top_k"),
        ({"search": 3}, "search"),
        ([], "JSON object"),
    ],
)
def test_a_key_that_is_wrong_is_named(data, named):
    with pytest.raises(InvalidRecipe) as caught:
        Recipe.parse(data)
    assert named in caught.value.message


def test_a_field_that_was_removed_is_ignored_with_a_warning_and_stays_in_the_hash(
    monkeypatch, caplog
):
    monkeypatch.setitem(REMOVED, FUSION, Removed(off=None))
    now = Recipe.restore(FIRST)
    before = {part: {**values} for part, values in FIRST.items()}
    before["search"]["learned"] = "0a1b2c3d4e5f"
    old = Recipe.restore(before)
    assert old.removed == {FUSION: "0a1b2c3d4e5f"}
    assert old.fields() == now.fields()
    assert old.hash != now.hash
    assert old.current() == now
    assert Recipe.restore(old.stored()).hash == old.hash
    with caplog.at_level(logging.WARNING):
        assert Recipe.parse(before).hash == Recipe.parse(FIRST).hash
    assert FUSION in caplog.text
    before["search"]["learned"] = None
    assert Recipe.restore(before) == now
    with pytest.raises(InvalidRecipe, match="was removed"):
        now.with_fields({FUSION: None})


def test_hashes_go_on_covering_a_removed_field_that_they_covered_at_every_value(monkeypatch):
    monkeypatch.setitem(REMOVED, "search.stemming", Removed(off=False, hashed=True))
    search = {**FIRST["search"], "top_k": 7}
    covered = json.dumps({**search, "stemming": False}, sort_keys=True, separators=(",", ":"))
    expected = hashlib.sha256(covered.encode()).hexdigest()[:12]
    assert SearchRecipe.restore({**search, "stemming": False}).hash == expected
    assert SearchRecipe.restore(search).hash == expected


def test_a_choice_that_was_removed_reads_as_the_default_and_stays_in_the_hash():
    search = {**FIRST["search"], "fusion": "borda"}
    covered = json.dumps(search, sort_keys=True, separators=(",", ":"))
    restored = Recipe.restore({**FIRST, "search": search})
    assert restored.search.hash == hashlib.sha256(covered.encode()).hexdigest()[:12]
    assert restored.removed == {"search.fusion": "borda"}
    assert restored.current() == Recipe.restore(FIRST)


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
    base.recipes.save(saved)
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
        assert output_of(capsys, *command)["recipe"] == expected.hash


def test_requests_change_what_they_name_and_nothing_else(home):
    workspace, base = handbook(home)
    api, path = client(workspace), "/api/v1/knowledge-bases/handbook"
    saved = base.recipe().with_fields({"search.refuse": 0.1, "search.synonyms": False})
    base.recipes.save(saved)
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
