"""Exported recipes: the fidelity of each field, and the requests for engines that tests lack."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag import (
    EXPORT_TARGETS,
    IndexRecipe,
    InvalidInput,
    KnowledgeBase,
    Recipe,
    RecipeExportData,
    SearchRecipe,
)
from tests.workspaces import QUICK, stocked

FUSIONS = SearchRecipe.model_json_schema()["properties"]["fusion"]["enum"]
TARGETS = ("qdrant", "pgvector", "elasticsearch", "opensearch")
PYTHON = ("langchain", "llama_index")
COSINE = "cosineSimilarity(params.vector, doc['vector'])"


@pytest.fixture
def base(home: Path) -> Iterator[KnowledgeBase]:
    workspace, stored = stocked(home, {"cats.md": "Cats purr."})
    yield stored
    workspace.close()


def exported(base: KnowledgeBase, target: str, **fields: Any) -> RecipeExportData:
    recipe = QUICK.with_fields({f"search.{name}": value for name, value in fields.items()})
    return base.recipes.export(recipe, target)


def fidelities(export: RecipeExportData, *names: str) -> list[str]:
    by_name = {field.name: field.fidelity for field in export.fields}
    return [by_name[f"search.{name}"] for name in names]


def body(export: RecipeExportData, number: int = -1) -> Any:
    return json.loads(export.statements[number].content)


@pytest.mark.parametrize("target", EXPORT_TARGETS)
def test_each_field_of_index_and_search_has_a_fidelity(base, target):
    names = [f"index.{name}" for name in IndexRecipe.model_fields]
    names += [f"search.{name}" for name in SearchRecipe.model_fields]
    for mode in ("dense", "lexical", "hybrid"):
        for fusion in FUSIONS:
            export = exported(base, target, mode=mode, fusion=fusion)
            assert [field.name for field in export.fields] == names
            assert all(field.reason for field in export.fields)


def test_steps_and_thresholds_that_an_engine_lacks(base):
    steps = {"mmr": 0.5, "refuse": 0.3, "rerank": "service", "tags": ["x"], "feedback": 3}
    export = exported(base, "qdrant", mode="dense", threshold=0.4, exact_codes=True, **steps)
    assert fidelities(export, *steps, "rerank_depth", "feedback_weight", "exact_codes") == (
        ["not expressible"] * 8
    )
    assert fidelities(export, "mode", "threshold", "top_k", "hyde", "k1", "neighbours") == (
        ["exact"] * 6
    )
    assert body(export)["score_threshold"] == 0.4
    by_probability = exported(base, "qdrant", mode="dense", threshold=0.4, relevance="probability")
    assert fidelities(by_probability, "threshold", "relevance") == ["not expressible"] * 2
    assert "score_threshold" not in body(by_probability)
    automatic = exported(base, "pgvector", mode="lexical", threshold="auto")
    assert fidelities(automatic, "threshold", "relevance") == ["exact"] * 2
    automatic = exported(
        base, "pgvector", mode="lexical", threshold="auto", relevance="probability"
    )
    assert fidelities(automatic, "threshold", "relevance") == ["not expressible"] * 2


@pytest.mark.parametrize(
    ("analyzer", "names"),
    [
        ("auto", ("english", "english", "english", "english")),
        ("german", ("german", "german", "german", "german")),
        ("tamil", ("tamil", "tamil", "standard", "standard")),
        ("polish", ("none", "simple", "standard", "standard")),
    ],
)
def test_the_analyzer_of_each_engine(base, analyzer, names):
    recipe = QUICK.with_fields({"index.analyzer": analyzer})
    qdrant, pgvector, *engines = (base.recipes.export(recipe, target) for target in TARGETS)
    point = body(qdrant, 1)["points"][0]
    assert point["vector"]["words"]["options"]["language"] == names[0]
    assert f"to_tsvector('{names[1]}', text)" in pgvector.statements[0].content
    texts = [body(engine, 0)["mappings"]["properties"]["text"] for engine in engines]
    assert [text["analyzer"] for text in texts] == list(names[2:])


def test_requests_for_elasticsearch(base):
    near = {
        "source": "dotProduct(params.vector, 'vector') + 1.0",
        "params": {"vector": "{{vector}}"},
    }
    dense = exported(base, "elasticsearch", mode="dense", threshold=0.4)
    scripted = {"script_score": {"query": {"match_all": {}}, "script": near}}
    assert body(dense) == {"size": 5, "query": scripted, "min_score": 1.4, "_source": ["text"]}
    created = body(dense, 0)
    assert created["mappings"]["properties"]["vector"]["dims"] == 64
    assert created["settings"]["similarity"]["recipe"] == {"type": "BM25", "k1": 1.2, "b": 0.75}
    rrf = body(exported(base, "elasticsearch", fusion="rrf", dense_weight=0.7))["retriever"]["rrf"]
    assert (rrf["rank_constant"], rrf["rank_window_size"]) == (60, 100)
    assert [one["weight"] for one in rrf["retrievers"]] == [0.7, 0.3]
    linear = body(exported(base, "elasticsearch", fusion="weighted"))["retriever"]["linear"]
    assert linear["rank_window_size"] == 100
    assert [one["normalizer"] for one in linear["retrievers"]] == ["minmax", "minmax"]
    saturation = exported(base, "elasticsearch", fusion="saturation", dense_weight=0.4)
    script = body(saturation)["query"]["script_score"]["script"]
    assert script["params"] == {"vector": "{{vector}}", "weight": 0.4, "pivot": 8.0}
    assert script["source"] == (
        "params.weight * dotProduct(params.vector, 'vector') + "
        "(1.0 - params.weight) * _score / (_score + params.pivot) + 1.0"
    )
    names = ("fusion", "dense_weight", "bm25_pivot", "candidates", "threshold")
    assert fidelities(saturation, *names) == ["exact"] * 3 + ["approximate", "exact"]


def test_requests_for_opensearch(base):
    rrf = exported(base, "opensearch", fusion="rrf", dense_weight=0.7)
    _, pipeline, _, ask = rrf.statements
    assert pipeline.request == "PUT /_search/pipeline/passages-fusion"
    assert ask.request == "POST /passages/_search?search_pipeline=passages-fusion"
    (processor,) = json.loads(pipeline.content)["phase_results_processors"]
    assert processor["score-ranker-processor"]["combination"] == {
        "technique": "rrf",
        "rank_constant": 60,
        "parameters": {"weights": [0.7, 0.3]},
    }
    hybrid = body(rrf)["query"]["hybrid"]
    assert hybrid["pagination_depth"] == 100
    assert hybrid["queries"][0]["script_score"]["script"]["source"] == f"{COSINE} + 1.0"
    weighted = exported(base, "opensearch", fusion="weighted")
    (processor,) = body(weighted, 1)["phase_results_processors"]
    assert processor["normalization-processor"]["normalization"] == {"technique": "min_max"}
    assert fidelities(weighted, "fusion", "dense_weight") == ["approximate"] * 2


def test_another_target_is_refused(base):
    with pytest.raises(InvalidInput, match="No export is for 'solr'"):
        base.recipes.export(Recipe(), "solr")


@pytest.mark.parametrize(
    ("target", "own", "others"),
    [
        ("elasticsearch", "elasticsearch_linear", ["opensearch_min_max"]),
        ("elasticsearch", "weaviate_relative_score", ["opensearch_min_max"]),
        ("opensearch", "opensearch_min_max", ["elasticsearch_linear", "weaviate_relative_score"]),
    ],
)
def test_the_formula_of_an_engine_is_exact_where_it_is_the_same(base, target, own, others):
    names = "fusion", "dense_weight", "candidates"
    assert fidelities(exported(base, target, fusion=own), *names) == ["exact"] * 3
    for other in others:
        assert fidelities(exported(base, target, fusion=other), "fusion") == ["approximate"]
    for everywhere in ("pgvector", *PYTHON):
        assert fidelities(exported(base, everywhere, fusion=own), "fusion") == ["exact"]
    assert fidelities(exported(base, target, fusion="qdrant_rrf"), "fusion") == ["approximate"]
    assert fidelities(exported(base, "qdrant", fusion=own), "fusion") == ["approximate"]


def test_the_lists_of_elasticsearch_are_as_long_as_the_results(base):
    own = {"fusion": "elasticsearch_linear", "candidates": 5}
    linear = body(exported(base, "elasticsearch", **own, top_k=8))["retriever"]["linear"]
    assert linear["rank_window_size"] == 8
    assert fidelities(exported(base, "elasticsearch", **own, top_k=8), "candidates") == [
        "approximate"
    ]
    assert fidelities(exported(base, "elasticsearch", **own, top_k=5), "candidates") == ["exact"]
