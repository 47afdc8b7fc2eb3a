"""Topic model of a recipe, which predicts whether the documents cover a question."""

from __future__ import annotations

from rag.recipe import IndexRecipe, SearchRecipe
from rag.services import Services
from rag.topic import TopicModel, shipped


def topic_model(
    services: Services, base_id: int, index: IndexRecipe, search: SearchRecipe
) -> TopicModel | None:
    """The model of a recipe: what ships for its embedder.

    None for a recipe that refuses nothing, and where nothing was taught for the embedder.
    """
    return None if search.refuse == "off" else shipped(index.embedder)
