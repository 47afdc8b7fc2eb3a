"""Exports of recipes, run where tests can run them: the first 10 results are those of the recipe.

BM25 differs from engine to engine. To test fusion, the BM25 scores of the recipe stand in for it.
LangChain and LlamaIndex cut words as the recipe does here.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import psycopg
import pytest
from qdrant_client import QdrantClient, models

from rag import KnowledgeBase, Recipe
from rag.__main__ import main
from rag.experiments.exports.python_retrievers import AS_PRINTED
from rag.lexical import LexicalIndex
from rag.retrieval.fusion import LIST_SCALES, QDRANT_RRF
from rag.search.snapshot import take_snapshot
from rag.types import Keys, Scores, Vectors
from tests.postgres import Server
from tests.qdrant import local_qdrant
from tests.sample import sample

QUESTIONS = 100
PLAIN = {
    "search.top_k": 10,
    "search.threshold": None,
    "search.refuse": "off",
    "search.exact_codes": False,
    "search.other_languages": "alike",
    "search.synonyms": False,
}
DENSE = {"search.mode": "dense"}
EVEN_RRF = {"search.fusion": "rrf", "search.rrf_k": 20, "search.dense_weight": 0.5}
ALONE = [
    {"search.fusion": fusion, "search.dense_weight": 0.7, "search.candidates": 12}
    for fusion in (*LIST_SCALES, QDRANT_RRF)
]
RANKS = 1000
MATCHING = re.compile(r"question AS \(.*?\), lexical AS", re.DOTALL)


@dataclass
class Asked:
    """The sample with its passages by key, and what its questions find: vectors and BM25."""

    base: KnowledgeBase
    keys: Keys
    vectors: Vectors
    questions: list[str]
    question_vectors: Vectors
    bm25: Scores
    texts: list[str]
    lexical: LexicalIndex
    _wanted: dict[str, list[list[int]]] = field(default_factory=dict)

    def recipe(self, **fields: Any) -> Recipe:
        return self.base.recipe().with_fields({**PLAIN, **fields})

    def wanted(self, recipe: Recipe) -> list[list[int]]:
        if recipe.hash not in self._wanted:
            traces = (self.base.search(question, recipe) for question in self.questions)
            found = [[hit.chunk.key for hit in trace.hits] for trace in traces]
            self._wanted[recipe.hash] = found
        return self._wanted[recipe.hash]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    with sample(tmp_path_factory.mktemp("exports")) as base:
        recipe = base.recipe()
        snapshot = take_snapshot(base._services, base.id, recipe)
        index, keys = snapshot.index, np.sort(snapshot.index.passages)
        questions = [each.text for each in base.questions.usable("sample")][:QUESTIONS]
        embedder = base._services.models.embedder(recipe.index.embedder)
        options = {"k1": 1.2, "b": 0.75, "fuzzy": False, "prefix": False}
        bm25 = [index.lexical.scores(question, keys, **options) for question in questions]
        yield Asked(
            base,
            keys,
            index.dense.vectors(keys),
            questions,
            embedder.embed(questions, "query"),
            np.array(bm25),
            _texts(base, keys),
            index.lexical,
        )


@pytest.fixture(scope="module")
def collection(asked: Asked) -> QdrantClient:
    """The exported collection.

    Dimension q of a sparse vector has the BM25 score for question q. Dimension ``RANKS`` + q rises
    with that score and, since Qdrant has no order of equal ones, with the key.
    """
    client = local_qdrant()
    created = _body(asked, asked.recipe(**DENSE), 0)
    dense = {"dense": models.VectorParams.model_validate(created["vectors"]["dense"])}
    client.create_collection("passages", dense, {"words": models.SparseVectorParams()})
    points, places = [], np.argsort(np.argsort(-asked.bm25, axis=1, kind="stable"), axis=1)
    for row, key in enumerate(asked.keys.tolist()):
        (there,) = asked.bm25[:, row].nonzero()
        values = np.concatenate([asked.bm25[there, row], len(asked.keys) - places[there, row]])
        indices = np.concatenate([there, RANKS + there])
        words = models.SparseVector(indices=indices.tolist(), values=values.tolist())
        vector = {"dense": asked.vectors[row].tolist(), "words": words}
        points.append(models.PointStruct(id=key, vector=vector, payload={}))
    client.upsert("passages", points)
    return client


@pytest.fixture(scope="module")
def table(asked: Asked, postgres: Server) -> Iterator[psycopg.Connection[Any]]:
    """The exported table with the passages, and one with BM25 scores."""
    create, load, _ = asked.base.recipes.export(asked.recipe(**DENSE), "pgvector").statements
    url = postgres.url(postgres.create()).replace("+psycopg", "")
    with psycopg.connect(url) as connection:
        connection.execute(create.content)
        for key, vector in zip(asked.keys.tolist(), asked.vectors.tolist(), strict=True):
            row = {"id": key, "text": f"passage {key}", "vector": str(vector)}
            connection.execute(load.content, row)
        connection.execute("CREATE TABLE bm25 (question int, id bigint, word_score float8)")
        with connection.cursor().copy("COPY bm25 FROM STDIN") as copy:
            for question, row in zip(*asked.bm25.nonzero(), strict=True):
                copy.write_row((question, asked.keys[row], asked.bm25[question, row]))
        yield connection


@pytest.mark.parametrize("fields", [DENSE, {**DENSE, "search.threshold": 0.45}])
def test_dense_results_in_qdrant_are_those_of_the_recipe(asked, collection, fields):
    recipe = asked.recipe(**fields)
    assert _in_qdrant(asked, recipe, collection) == asked.wanted(recipe)


@pytest.mark.parametrize(
    "fields",
    [EVEN_RRF, {"search.fusion": QDRANT_RRF, "search.rrf_k": 20, "search.dense_weight": 0.7}],
)
def test_reciprocal_ranks_in_qdrant_are_those_of_the_recipe(asked, collection, fields):
    recipe = asked.recipe(**fields)
    found = _in_qdrant(asked, recipe, collection, first=RANKS)
    assert len(found) == QUESTIONS
    assert _wrong(asked, recipe, found) == []


def test_saturation_in_qdrant_agrees_where_no_list_lacks_a_passage(asked, collection):
    recipe = asked.recipe(**{"search.fusion": "saturation", "search.candidates": 2000})
    found = _in_qdrant(asked, recipe, collection, most=10)
    assert len(found) == 10
    assert _wrong(asked, recipe, found) == []


@pytest.mark.parametrize(
    "fields",
    [
        DENSE,
        {**DENSE, "search.threshold": 0.45, "search.candidates": 7},
        {"search.mode": "lexical"},
        {"search.fusion": "weighted", "search.dense_weight": 0.7, "search.threshold": 0.45},
        {"search.fusion": "rrf", "search.rrf_k": 20, "search.dense_weight": 0.7},
        {"search.fusion": "saturation", "search.candidates": 30},
        *ALONE,
    ],
)
def test_results_in_postgresql_are_those_of_the_recipe(asked, table, fields):
    recipe = asked.recipe(**fields)
    (*_, ask) = asked.base.recipes.export(recipe, "pgvector").statements
    found = []
    for number, vector in enumerate(asked.question_vectors.tolist()):
        scores = f"matching AS (SELECT id, word_score FROM bm25 WHERE question = {number})"
        query = MATCHING.sub(f"{scores}, lexical AS", ask.content)
        rows = table.execute(query, {"vector": str(vector)}).fetchall()
        found.append([row[0] for row in rows])
    assert found == asked.wanted(recipe)


def test_the_full_text_query_runs_in_postgresql(asked, table):
    (*_, ask) = asked.base.recipes.export(asked.recipe(), "pgvector").statements
    key = int(asked.keys[3])
    values = {"vector": str(asked.vectors[3].tolist()), "text": f"Which passages have {key}?"}
    rows = table.execute(ask.content, values).fetchall()
    assert len(rows) == 10
    assert rows[0][:2] == (key, f"passage {key}")


IN_PYTHON = [
    DENSE,
    {**DENSE, "search.threshold": 0.45, "search.candidates": 7},
    {"search.mode": "lexical", "search.k1": 0.9, "search.b": 0.4},
    {"search.fusion": "weighted", "search.dense_weight": 0.7, "search.threshold": 0.45},
    {"search.fusion": "rrf", "search.rrf_k": 20, "search.dense_weight": 0.7},
    {"search.fusion": "saturation", "search.candidates": 30},
    *ALONE,
]


@pytest.mark.parametrize("fields", IN_PYTHON)
def test_results_in_langchain_are_those_of_the_recipe(asked, fields):
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

    class Stored(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            assert texts == asked.texts
            return asked.vectors.tolist()

        def embed_query(self, text: str) -> list[float]:
            return asked.question_vectors[asked.questions.index(text)].tolist()

    recipe = asked.recipe(**fields)
    pairs = zip(asked.keys.tolist(), asked.texts, strict=True)
    documents = [Document(text, metadata={"key": key}) for key, text in pairs]
    retriever = _module(asked, recipe, "langchain").RecipeRetriever.from_documents(
        documents, Stored(), **_terms(asked, recipe)
    )
    results = [retriever.invoke(question) for question in asked.questions]
    assert [[one.metadata["key"] for one in row] for row in results] == asked.wanted(recipe)


@pytest.mark.parametrize("fields", IN_PYTHON)
def test_results_in_llama_index_are_those_of_the_recipe(asked, fields):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import TextNode

    class Stored(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return asked.vectors[asked.texts.index(text)].tolist()

        def _get_query_embedding(self, query: str) -> list[float]:
            return asked.question_vectors[asked.questions.index(query)].tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    recipe = asked.recipe(**fields)
    pairs = zip(asked.keys.tolist(), asked.texts, strict=True)
    nodes = [TextNode(text=text, id_=str(key)) for key, text in pairs]
    retriever = _module(asked, recipe, "llama_index").RecipeRetriever(
        nodes, Stored(), **_terms(asked, recipe)
    )
    results = [retriever.retrieve(question) for question in asked.questions]
    assert [[int(one.node_id) for one in row] for row in results] == asked.wanted(recipe)


@pytest.mark.parametrize("fields", [DENSE, {}], ids=["dense", "words"])
def test_the_code_runs_as_it_is_printed_on_exported_passages(asked, fields, tmp_path, request):
    """How many results are those of the recipe stands in the export, for these 100 questions."""
    from langchain_core.embeddings import Embeddings
    from llama_index.core.base.embeddings.base import BaseEmbedding

    vectors = dict(zip(asked.questions, asked.question_vectors.tolist(), strict=True))

    class LangChain(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise AssertionError("the vectors are in the file")

        def embed_query(self, text: str) -> list[float]:
            return vectors[text]

    class LlamaIndex(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            raise AssertionError("the vectors are in the file")

        def _get_query_embedding(self, query: str) -> list[float]:
            return vectors[query]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return vectors[query]

    kind = request.node.callspec.id
    recipe = asked.base.recipe().with_fields({"search.top_k": 10, **fields})
    if fields:
        recipe = asked.recipe(**fields)
    path, options = tmp_path / "passages.jsonl", ["--vectors", "--json"]
    home = str(asked.base._services.settings.home)
    command = ["export-passages", asked.base.name, "-o", str(path), "--home", home]
    assert main([*command, *options]) == 0
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["number"] for row in rows] == asked.keys.tolist()
    assert [row["vector"] for row in rows] == asked.vectors.tolist()
    wanted = [[f"{key:016x}" for key in keys] for keys in asked.wanted(recipe)]
    langchain = _module(asked, recipe, "langchain").RecipeRetriever.from_file(path, LangChain())
    llama_index = _module(asked, recipe, "llama_index").RecipeRetriever.from_file(
        path, LlamaIndex()
    )
    found = (
        [[hit.metadata["id"] for hit in langchain.invoke(text)] for text in asked.questions],
        [[hit.node_id for hit in llama_index.retrieve(text)] for text in asked.questions],
    )
    for results in found:
        equal = sum(result == own for result, own in zip(results, wanted, strict=True))
        assert f" {equal} questions of 100 " in AS_PRINTED[kind]


def test_exported_passages_load_into_qdrant(asked):
    client = local_qdrant()
    created = _body(asked, asked.recipe(**DENSE), 0)
    dense = {"dense": models.VectorParams.model_validate(created["vectors"]["dense"])}
    client.create_collection("passages", dense)
    rows = asked.base.recipes.passages(asked.base.recipe(), vectors=True)
    client.upsert(
        "passages",
        [models.PointStruct(id=row.number, vector={"dense": row.vector}) for row in rows],
    )
    recipe = asked.recipe(**DENSE)
    assert _in_qdrant(asked, recipe, client) == asked.wanted(recipe)


def test_words_are_cut_alike_enough_without_the_analyzer_of_the_recipe(asked):
    recipe = asked.recipe(**{"search.mode": "lexical"})
    ranker = _module(asked, recipe, "langchain").Ranker(asked.texts, asked.vectors)
    shares = []
    for question, vector, wanted in zip(
        asked.questions, asked.question_vectors, asked.wanted(recipe), strict=True
    ):
        keys = {int(asked.keys[row]) for row, _ in ranker.rank(question, vector)}
        shares.append(len(keys & {*wanted}) / max(len(wanted), 1))
    assert np.mean(shares) > 0.8


def _module(asked: Asked, recipe: Recipe, target: str) -> ModuleType:
    export = asked.base.recipes.export(recipe, target)
    module = ModuleType(f"recipe_retriever_{target}_{recipe.hash}")
    code = compile(export.text, module.__name__, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module


def _terms(asked: Asked, recipe: Recipe) -> dict[str, Any]:
    if recipe.search.mode == "dense":
        return {}
    analyzer, names = asked.lexical.analyzer, asked.lexical.analyzers
    return {
        "passage_terms": analyzer.tokens,
        "question_terms": lambda question: analyzer.question_tokens(question, names),
    }


def _texts(base: KnowledgeBase, keys: Keys) -> list[str]:
    """The indexed texts of passages, in the order of their keys."""
    chunks = (
        chunk
        for info in base.documents.documents(base.recipe().index)
        for chunk in base.documents.chunks(info.id, base.recipe().index)
    )
    texts = {chunk.key: chunk.indexed_text for chunk in chunks}
    return [texts[key] for key in keys.tolist()]


def _body(asked: Asked, recipe: Recipe, number: int) -> Any:
    export = asked.base.recipes.export(recipe, "qdrant")
    return json.loads(export.statements[number].content)


def _in_qdrant(
    asked: Asked, recipe: Recipe, client: QdrantClient, *, first: int = 0, most: int = QUESTIONS
) -> list[list[int]]:
    """The ids that the exported query finds, with the sparse dimensions from ``first``."""
    body = _body(asked, recipe, 2)
    scale = recipe.search.k1 + 1  # of the scores of Qdrant's own model
    found = []
    for number, vector in enumerate(asked.question_vectors[:most].tolist()):
        words = {"indices": [first + number], "values": [scale]}
        query = models.QueryRequest.model_validate(_filled(body, vector, words))
        points = client.query_points(
            "passages",
            query=query.query,
            using=query.using,
            prefetch=query.prefetch,
            limit=query.limit or 0,
            score_threshold=query.score_threshold,
        ).points
        found.append([int(point.id) for point in points])
    return found


def _filled(part: Any, vector: list[float], words: dict[str, Any]) -> Any:
    if part == "{{vector}}":
        return vector
    if isinstance(part, dict):
        if "model" in part:
            return words
        return {name: _filled(value, vector, words) for name, value in part.items()}
    return [_filled(value, vector, words) for value in part] if isinstance(part, list) else part


def _wrong(asked: Asked, recipe: Recipe, found: list[list[int]]) -> list[str]:
    """The questions whose results have other scores than those of the recipe."""
    wrong = []
    for question, ids in zip(asked.questions, found, strict=False):
        trace = asked.base.search(question, recipe)
        scores = {hit.chunk.key: hit.score for hit in trace.candidates}
        wanted = [hit.score for hit in trace.hits]
        if [scores[key] for key in ids] != pytest.approx(wanted, abs=1e-6):
            wrong.append(question)
    return wrong
