"""Every field of a recipe has a bound and a caption; steps are off by default."""

from typing import Any

import pytest

from rag import CAPTIONS, InvalidRecipe, Recipe, phrase
from rag.providers import ROWS

FIELDS = sorted(Recipe().fields())


def _unbounded(schema: dict[str, Any]) -> bool:
    """Whether a JSON schema allows a string, a list or a number of any size."""
    if "anyOf" in schema:
        return any(map(_unbounded, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return False
    match schema["type"]:
        case "string":
            return "maxLength" not in schema
        case "array":
            return "maxItems" not in schema or _unbounded(schema["items"])
        case "integer" | "number":
            return not {"minimum", "maximum"} <= schema.keys()
    return schema["type"] not in ("boolean", "null")


def test_every_field_has_a_bound():
    parts = Recipe.model_json_schema()["$defs"].values()
    assert [
        name for part in parts for name, each in part["properties"].items() if _unbounded(each)
    ] == []


@pytest.mark.parametrize(
    "hostile",
    [
        *("9" * 50_000, "x\ud800", "x\0", ["x"] * 200_000, ["x" * 501]),
        *("1," * 250_000 + "1", 10**400, float("inf"), float("nan"), "[" * 5000, "*" * 400),
    ],
    ids=str.split("digits half zero many long ranges huge endless none brackets stars"),
)
def test_no_field_takes_what_is_beyond_all_bounds(hostile):
    free = ("model", "heading", "provider", "embedder", "analyzer")
    for field in FIELDS:
        if hostile == "*" * 400 and field.endswith(free):
            continue
        with pytest.raises(InvalidRecipe) as caught:
            Recipe().with_fields({field: hostile})
        assert len(caught.value.message) < 400, field


def test_a_range_of_pages_that_goes_back_is_refused():
    with pytest.raises(InvalidRecipe, match="9-3 is no range: write 3-9"):
        Recipe().with_fields({"search.pages": "1,9-3"})


BEFORE_STEPS = "7c8633e87896"  # the hash of the default recipe when no step was known


OLD = Recipe().with_fields(
    {
        "index.chunker": "recursive",
        "index.analyzer": "english",
        "index.chunk_unit": "tokens",
        "index.vector_index": "flat",
        "index.context": "none",
        "search.exact_codes": False,
        "search.matched_words": False,
        "search.refuse": "off",
        "search.other_languages": "alike",
        "search.spelling": False,
        "search.synonyms": False,
        "answer.mode": "grounded",
        "answer.tools": None,
        "answer.evidence": "passages",
    }
)


def test_a_step_that_is_off_leaves_the_hash_as_it_was():
    assert OLD.hash == BEFORE_STEPS
    assert OLD.with_fields({"search.mmr": None, "search.feedback": 0}).hash == BEFORE_STEPS
    assert OLD.with_fields({"search.feedback": 2}).hash != BEFORE_STEPS
    assert OLD.with_fields({"search.feedback_weight": 0.5}).hash != BEFORE_STEPS


def test_a_percentile_counts_where_it_decides():
    plain, cut = OLD.index, OLD.index.model_copy(update={"chunker": "semantic"})
    assert plain.model_copy(update={"breakpoint_percentile": 80}).hash == plain.hash
    assert cut.model_copy(update={"breakpoint_percentile": 80}).hash != cut.hash
    assert plain.model_copy(update={"breakpoint_percentile": 80}).cut == plain.cut
    assert cut.cut == "semantic 200/0 tokens of minilm at 90 by minilm"


def test_steps_are_named_by_what_is_not_at_its_default():
    changed = Recipe().with_fields({"search.tags": ["law"], "search.top_k": 9})
    assert changed.search.steps == {"tags": ("law",)}
    assert Recipe().search.steps == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("feedback", 21),
        ("feedback_weight", 1.5),
        ("expansions", 9),
        ("rerank", "service:"),
        ("rerank", "somebody"),
        ("rerank_depth", 0),
        ("duplicates", 0.4),
        ("mmr", -0.1),
        ("documents", "one name"),
        ("tags", [""]),
        ("pages", "three"),
        ("after", "2024-13-01"),
        ("before", "yesterday"),
        ("neighbours", 0),
        ("order", "chance"),
    ],
)
def test_values_that_make_no_sense_are_refused_by_name(field, value):
    with pytest.raises(InvalidRecipe, match=f"search.{field}"):
        Recipe().with_fields({f"search.{field}": value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rerank", "service:rerank-v3"),
        ("rerank", "cross-encoder:/models/one"),
        ("pages", "3-9, 12"),
        ("after", "2024-02-29"),
    ],
)
def test_values_that_make_sense_are_taken(field, value):
    assert Recipe().with_fields({f"search.{field}": value}).search.steps == {field: value}


def test_a_text_of_the_wrong_form_is_refused_with_what_the_field_means():
    with pytest.raises(InvalidRecipe) as caught:
        Recipe().with_fields({"search.rerank": "foo"})
    assert caught.value.message == "Recipe field search.rerank cannot be 'foo'."


def test_a_number_out_of_range_is_refused_with_what_the_field_means():
    with pytest.raises(InvalidRecipe) as refused:
        Recipe().with_fields({"search.top_k": 0})
    assert "search.top_k" in refused.value.message
    assert "passages returned" in refused.value.hint


def test_every_provider_that_reranks_is_named_by_a_recipe():
    for name in (row.name for row in ROWS if row.reranks):
        for wanted in (name, f"{name}:model"):
            assert Recipe().with_fields({"search.rerank": wanted}).search.rerank == wanted


def test_every_field_has_a_caption():
    assert set(CAPTIONS) == set(Recipe().fields())


def test_a_caption_stands_within_a_sentence():
    assert phrase("search.dense_weight") == "dense weight"
    assert phrase("search.top_k") == "top-k"
    assert [phrase("search.k1"), phrase("search.b")] == ["BM25 k1", "BM25 b"]
    assert phrase("search.tools") == "HTTP tools"
