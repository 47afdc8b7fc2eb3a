"""The state of a knowledge base that one request rests on, read once."""

from __future__ import annotations

from dataclasses import dataclass

from rag.indexing.index import Index
from rag.recipe import Recipe
from rag.retrieval import Corpus
from rag.search.corpus import corpus, filter_digest
from rag.search.threshold import ThresholdRule, threshold_rule
from rag.services import Services
from rag.storage import bases


@dataclass(frozen=True, slots=True)
class SearchSnapshot:
    """A recipe with the index, the threshold rule and the filtered documents that it means now.

    Everything that a request does rests on one snapshot, so that a change of the documents in the
    middle of it changes nothing.
    """

    services: Services
    base_id: int
    recipe: Recipe
    index: Index
    threshold_rule: ThresholdRule
    filter_digest: str

    def corpus(self) -> Corpus:
        """Return the corpus that the recipe searches. Raises InvalidRecipe, ProviderError."""
        calibration = self.threshold_rule.calibration
        return corpus(self.services, self.base_id, self.recipe, self.index, calibration)


def take_snapshot(services: Services, base_id: int, recipe: Recipe) -> SearchSnapshot:
    """Read the state that a request with a recipe rests on, in one transaction.

    Raises InvalidInput for probabilities without a fitting calibration, InvalidRecipe,
    ProviderError, or StorageError for a vector server.
    """
    with services.database.read() as connection:
        version = bases.version(connection, base_id)
        digest = filter_digest(connection, base_id, recipe.search)
        rule = threshold_rule(services, base_id, recipe.index, recipe.search, connection)
    index = services.indexes.current(base_id, recipe.index, version)
    return SearchSnapshot(services, base_id, recipe, index, rule, digest)
