"""Every field of a recipe has a bound, and what is beyond one is refused quickly."""

from typing import Any

import pytest

from rag import InvalidRecipe, Recipe

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
