"""The state of a knowledge base that one request rests on, read once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial

from rag.recipe import Recipe
from rag.retrieval import Corpus
from rag.retrieval.filters import filter_digest
from rag.search.corpus import ThresholdRule, corpus, threshold_rule
from rag.search.tools import refuse_tools
from rag.services.indexing.index import Index
from rag.services.services import Services
from rag.storage import bases, documents


@dataclass(frozen=True)
class SearchState:
    """A recipe with the documents, the threshold rule and the filters that it means now.

    ``version`` is that of the documents. Reading a state asks no model.
    """

    services: Services
    base_id: int
    recipe: Recipe
    version: int
    threshold_rule: ThresholdRule
    filter_digest: str

    def parts(self) -> tuple[Hashable, ...]:
        """All that a search depends on, besides its question, its tools and models elsewhere."""
        index, search, rule = self.recipe.index, self.recipe.search, self.threshold_rule
        return (
            *(str(self.services.settings.home), self.base_id, self.version, self.filter_digest),
            *(index.hash, search.hash, rule.digest, rule.threshold),
        )


@dataclass(frozen=True)
class SearchSnapshot(SearchState):
    """A state with its index.

    Everything that a request does rests on one snapshot, so that a change of the documents in the
    middle of it changes nothing.
    """

    index: Index

    def corpus(self) -> Corpus:
        """Return the corpus that the recipe searches. Raises InvalidRecipe, ProviderError."""
        calibration = self.threshold_rule.calibration
        return corpus(self.services, self.base_id, self.recipe, self.index, calibration)


def read_state(services: Services, base_id: int, recipe: Recipe) -> SearchState:
    """Read the state that a request with a recipe rests on, in one transaction.

    Raises InvalidInput for probabilities without a fitting calibration.
    """
    with services.database.read() as connection:
        version = bases.version(connection, base_id)
        digest = filter_digest(recipe.search, partial(documents.traits, connection, base_id))
        rule = threshold_rule(services, base_id, recipe.index, recipe.search, connection)
    return SearchState(services, base_id, recipe, version, rule, digest)


def take_snapshot(
    services: Services, base_id: int, recipe: Recipe, index: Index | None = None
) -> SearchSnapshot:
    """Return the state and the index that a request with a recipe rests on.

    ``index`` is an index of the recipe that the caller rests on, by default the current one.
    Raises InvalidInput as ``read_state`` does, InvalidRecipe, ProviderError, or StorageError for a
    vector server.
    """
    state = read_state(services, base_id, recipe)
    if index is None:
        index = services.indexes.current(base_id, recipe.index, state.version)
    rule, digest = state.threshold_rule, state.filter_digest
    return SearchSnapshot(services, base_id, recipe, index.version, rule, digest, index)


def take_complete_snapshot(services: Services, base_id: int, recipe: Recipe) -> SearchSnapshot:
    """Read the same with a settled index that has every vector, as measurements need.

    Raises InvalidInput for a recipe with tools and while documents lack vectors, and what
    ``take_snapshot`` raises.
    """
    refuse_tools(recipe.search)
    index = services.indexes.complete(base_id, recipe.index)
    return take_snapshot(services, base_id, recipe, index)
