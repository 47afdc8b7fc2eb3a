"""The shapes of others, so that a tuned recipe serves their clients as it is.

Dify's external knowledge: https://docs.dify.ai/en/use-dify/knowledge/external-knowledge-api, with
``/api/v1`` as its endpoint. OpenAI's search of vector stores: POST /vector_stores/{id}/search,
with ``/api/v1`` as the base address of its client.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import ConfigDict, Field

from rag import Hit, InvalidInput, Recipe, Schema
from rag.api.resource import Body, Resource, Shared, base_called, needs
from rag.api.resources.search import Text

_MOST_QUESTIONS = 10

compatible = Resource("compatible")


class RecordData(Schema):
    """A passage for Dify, which sorts by ``score``: it falls with the rank."""

    content: str
    score: float
    title: str
    metadata: dict[str, str | int | float]


class RecordsData(Schema):
    """The passages for Dify."""

    records: list[RecordData]


class ContentData(Schema):
    """The text of a passage for a client of OpenAI."""

    type: Literal["text"] = "text"
    text: str


class StoreHitData(Schema):
    """A passage for a client of OpenAI; ``score`` falls with the rank."""

    file_id: str
    filename: str
    score: float
    attributes: dict[str, str | int | float]
    content: list[ContentData]


class StorePageData(Schema):
    """The passages for a client of OpenAI."""

    object: Literal["vector_store.search_results.page"] = "vector_store.search_results.page"
    search_query: list[str]
    data: list[StoreHitData]
    has_more: Literal[False] = False
    next_page: None = None


class LenientBody(Body):
    """A request body of a compatible API, which can have additional fields."""

    model_config = ConfigDict(extra="ignore")


class RetrievalSetting(LenientBody):
    """``score_threshold`` 0 leaves the threshold of the recipe."""

    top_k: int = Field(ge=1, le=100)
    score_threshold: float = Field(0.0, ge=0, le=1)


class DifyRetrieval(LenientBody):
    """A question of Dify."""

    knowledge_id: str = Field(max_length=80)
    query: Text
    retrieval_setting: RetrievalSetting
    metadata_condition: dict[str, Any] | None = None


class RankingOptions(LenientBody):
    """``score_threshold`` 0 leaves the threshold of the recipe; its reranker ranks."""

    ranker: str | None = None
    score_threshold: float = Field(0.0, ge=0, le=1)


class VectorStoreSearch(LenientBody):
    """A question of a client of OpenAI."""

    query: Text | Annotated[list[Text], Field(max_length=_MOST_QUESTIONS)]
    max_num_results: int = Field(10, ge=1, le=50)
    ranking_options: RankingOptions = RankingOptions()
    rewrite_query: bool = Field(False, description="the recipe decides whether it is rewritten")
    filters: dict[str, Any] | None = None


@compatible.post("/retrieval", **needs("read", 400, 404, 415, 502))
def retrieve_for_dify(workspace: Shared, body: DifyRetrieval) -> RecordsData:
    """Dify's external knowledge; ``knowledge_id`` is the id or the name of a knowledge base."""
    if body.metadata_condition:
        raise InvalidInput(
            "Conditions on metadata are not supported.", "Filter by tag or date in the recipe."
        )
    base, setting = base_called(workspace, body.knowledge_id), body.retrieval_setting
    recipe = _recipe(base.recipe(), setting.top_k, setting.score_threshold)
    records = [
        RecordData(
            content=hit.chunk.text,
            score=score,
            title=hit.document,
            metadata={"document_id": hit.chunk.document_id, **_attributes(hit)},
        )
        for hit, score in _scored(base.search(body.query, recipe).hits)
    ]
    return RecordsData(records=records)


@compatible.post("/vector_stores/{store}/search", **needs("read", 400, 404, 415, 502))
def search_vector_store(
    workspace: Shared,
    store: Annotated[str, Path(description="the id of a knowledge base, or its name")],
    body: VectorStoreSearch,
) -> StorePageData:
    """OpenAI's search of a vector store; of several questions, a passage keeps its best score."""
    if body.filters:
        raise InvalidInput(
            "Filters on attributes are not supported.", "Filter by tag or date in the recipe."
        )
    base = base_called(workspace, store)
    recipe = _recipe(base.recipe(), body.max_num_results, body.ranking_options.score_threshold)
    queries = [body.query] if isinstance(body.query, str) else body.query
    if not queries or len(queries) > _MOST_QUESTIONS:
        raise InvalidInput(f"Ask 1 to {_MOST_QUESTIONS} questions.")
    best: dict[str, tuple[Hit, float]] = {}
    for question in queries:
        for hit, score in _scored(base.search(question, recipe).hits):
            if hit.chunk.id not in best or score > best[hit.chunk.id][1]:
                best[hit.chunk.id] = hit, score
    hits = sorted(best.values(), key=lambda pair: -pair[1])[: body.max_num_results]
    data = [
        StoreHitData(
            file_id=hit.chunk.document_id,
            filename=hit.document,
            score=score,
            attributes=_attributes(hit),
            content=[ContentData(text=hit.chunk.text)],
        )
        for hit, score in hits
    ]
    return StorePageData(search_query=queries, data=data)


def _recipe(saved: Recipe, top_k: int, threshold: float) -> Recipe:
    fields: dict[str, Any] = {"search.top_k": top_k}
    return saved.with_fields(fields | ({"search.threshold": threshold} if threshold else {}))


def _scored(hits: Sequence[Hit]) -> list[tuple[Hit, float]]:
    """Hits with scores that fall with their rank, since clients sort by them.

    The scores of the ranking, such as those of fusion, are scaled to the range of the relevances of
    the hits: that lies between 0 and 1, and thresholds are about it.
    """
    if not hits:
        return []
    relevances = [min(1.0, max(0.0, hit.relevance)) for hit in hits]
    low, high = min(relevances), max(relevances)
    falling = list(accumulate((hit.score for hit in hits), min))
    spread = falling[0] - falling[-1]
    shares = [(score - falling[-1]) / spread if spread else 1.0 for score in falling]
    return [(hit, low + share * (high - low)) for hit, share in zip(hits, shares, strict=True)]


def _attributes(hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    described = {"page": chunk.page, "heading": chunk.heading or None, "url": hit.url or None}
    places = {"chunk_id": chunk.id, "start": chunk.start, "end": chunk.end}
    places["relevance"] = hit.relevance
    return places | {name: value for name, value in described.items() if value is not None}
