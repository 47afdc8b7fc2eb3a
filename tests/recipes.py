"""Recipes with everything off, as those were that the first version stored; values of fields."""

from typing import Any

from pydantic import BaseModel

from rag import SearchRecipe


def plain_search(**fields: Any) -> SearchRecipe:
    """A search recipe with fields of its own, and everything off besides."""
    return SearchRecipe.model_validate({**SearchRecipe.plain(), **fields})


def choices(part: type[BaseModel], field: str) -> list[Any]:
    """Values of a field as its schema has them: the default, all of a few, the ends of a range."""
    schema = part.model_json_schema()["properties"][field]
    values = [schema["default"]]
    for option in schema.get("anyOf", [schema]):
        values += option.get("enum", [])
        match option.get("type"):
            case "boolean":
                values += [False, True]
            case "integer" | "number" as kind:
                lowest, highest = option["minimum"], option["maximum"]
                values += [lowest, (lowest + highest) / 2, highest][
                    :: 2 if kind == "integer" else 1
                ]
            case "null":
                values.append(None)
    return list({repr(value): value for value in values}.values())
