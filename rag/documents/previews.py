"""Previews of the passages that a recipe makes from a document, and their lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rag import providers
from rag.chunking import chunks, length_counter
from rag.recipe import IndexRecipe
from rag.services import Models
from rag.types import Chunk, Document


def preview(models: Models, document: Document, recipe: IndexRecipe) -> Iterator[Chunk]:
    """The passages of a document; only ``semantic`` embeds, and nothing is stored."""
    embedder, languages = models.embedder(recipe.embedder), providers.languages(recipe.embedder)
    embed = partial(embedder.embed, input_type="document")
    return chunks(document, recipe, embedder.tokenizer, embed, languages)


def sizes(
    models: Models, document: Document, cut: Sequence[Chunk], recipe: IndexRecipe
) -> list[int]:
    """Return the lengths of a document's passages, in the unit of a recipe."""
    tokenizer = models.embedder(recipe.embedder).tokenizer
    counted = length_counter(document, recipe, tokenizer, providers.languages(recipe.embedder))
    size = len if counted is None else counted.count
    return [size(passage.text) for passage in cut]
