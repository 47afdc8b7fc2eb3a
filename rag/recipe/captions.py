"""Captions of recipe fields, for panels and sentences, and their parameters in addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rag.recipe.parts import AnswerRecipe, IndexRecipe, SearchRecipe
from rag.recipe.recipe_part import Url

CAPTIONS: Mapping[str, str] = {
    f"{part.part}.{name}": str(field.title)
    for part in (IndexRecipe, SearchRecipe, AnswerRecipe)
    for name, field in part.model_fields.items()
}

URL_PARAMETERS: Mapping[str, str] = {
    mark.parameter: f"{part.part}.{name}"
    for part in (SearchRecipe, AnswerRecipe)
    for name, mark in part.marks(Url).items()
}
"""Recipe fields by their parameter in the address of a page, which is the key of the widget too."""


def chunker_name(chunker: str) -> str:
    """Name a chunker as people see it: sections are those of any format, not Markdown's alone."""
    return "sections" if chunker == "markdown" else chunker


def model_name(model: str) -> str:
    """Name a model as people see it; llama.cpp calls it by the whole path of its file."""
    is_path = model.startswith("/") or model.endswith(".gguf")
    return re.split(r"[\\/]", model)[-1] if is_path else model


def phrase(field: str) -> str:
    """The caption of a field within a sentence: ``top-k``, ``BM25 b``."""
    caption = CAPTIONS[field]
    return caption if caption[:2].isupper() else f"{caption[0].lower()}{caption[1:]}"
