"""Recipes as Python modules: retrievers for LangChain and LlamaIndex that run in process."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from rag.experiments.exports.fidelity import EngineExport, Rule, StatementData, fusion_weights
from rag.lexical.analyzers import DEFAULT, function_words
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval.fusion import LIST_SCALES, QDRANT_RRF

_STEMMERS = (
    "arabic armenian basque catalan czech danish dutch english esperanto estonian finnish french "
    "german greek hindi hungarian indonesian irish italian lithuanian nepali norwegian persian "
    "polish portuguese romanian russian serbian sesotho spanish swedish tamil turkish yiddish"
)


@dataclass(frozen=True, slots=True)
class _Framework:
    """The code around the ranking that a framework needs."""

    packages: str
    imports: str
    retriever: str
    usage: str


_LANGCHAIN = _Framework(
    packages="langchain-core numpy",
    imports="""from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever""",
    retriever='''class RecipeRetriever(BaseRetriever):
    """The recipe over passages that are kept in memory."""

    documents: list[Document]
    embeddings: Embeddings
    ranker: Ranker

    @classmethod
    def from_documents(cls, documents, embeddings, **terms):
        texts = [document.page_content for document in documents]
        ranker = Ranker(texts, embeddings.embed_documents(texts), **terms)
        return cls(documents=documents, embeddings=embeddings, ranker=ranker)

    @classmethod
    def from_file(cls, path, embeddings, **terms):
        """Load the passages that export-passages --vectors wrote."""
        rows = read_passages(path)
        texts, vectors = [indexed_text(row) for row in rows], [row["vector"] for row in rows]
        names = ("id", "document", "page")
        documents = [
            Document(text, metadata={name: row[name] for name in names})
            for text, row in zip(texts, rows)
        ]
        ranker = Ranker(texts, vectors, **terms)
        return cls(documents=documents, embeddings=embeddings, ranker=ranker)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        results = []
        for row, score in self.ranker.rank(query, self.embeddings.embed_query(query)):
            document = self.documents[row]
            metadata = {**document.metadata, "score": score}
            results.append(document.model_copy(update={"metadata": metadata}))
        return results''',
    usage="""retriever = RecipeRetriever.from_file("passages.jsonl", embeddings)
documents = retriever.invoke(question)""",
)

_LLAMA_INDEX = _Framework(
    packages="llama-index-core numpy",
    imports="""from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode""",
    retriever='''class RecipeRetriever(BaseRetriever):
    """The recipe over passages that are kept in memory."""

    def __init__(self, nodes: list[BaseNode], embed_model: BaseEmbedding, vectors=None, **terms):
        texts = [node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes]
        vectors = vectors or embed_model.get_text_embedding_batch(texts)
        self._nodes, self._embed_model = nodes, embed_model
        self._ranker = Ranker(texts, vectors, **terms)
        super().__init__()

    @classmethod
    def from_file(cls, path, embed_model, **terms):
        """Load the passages that export-passages --vectors wrote."""
        rows = read_passages(path)
        names = ("document", "page")
        nodes = [
            TextNode(
                text=indexed_text(row),
                id_=row["id"],
                metadata={name: row[name] for name in names},
            )
            for row in rows
        ]
        return cls(nodes, embed_model, [row["vector"] for row in rows], **terms)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        question = query_bundle.query_str
        ranking = self._ranker.rank(question, self._embed_model.get_query_embedding(question))
        return [NodeWithScore(node=self._nodes[row], score=score) for row, score in ranking]''',
    usage="""retriever = RecipeRetriever.from_file("passages.jsonl", embed_model)
nodes = retriever.retrieve(question)""",
)


def langchain_export(recipe: Recipe, dimension: int, threshold: float | None) -> EngineExport:
    """Return a module for langchain-core 0.3 or later."""
    return _export(_LANGCHAIN, recipe, threshold)


def llama_index_export(recipe: Recipe, dimension: int, threshold: float | None) -> EngineExport:
    """Return a module for llama-index-core 0.11 or later."""
    return _export(_LLAMA_INDEX, recipe, threshold)


def _export(framework: _Framework, recipe: Recipe, threshold: float | None) -> EngineExport:
    words = recipe.search.mode != "dense"
    stemmer = _stemmer(recipe.index.analyzer) if words else ""
    packages = framework.packages + (" PyStemmer" if stemmer else "")
    standard = ["import json", *(["import math", "import re"] if words else [])]
    standard += ["from collections import Counter"] if words else []
    standard += [""]
    third = ["import numpy as np", *(["import Stemmer"] if stemmer else [])]
    imports = [*standard, *third, framework.imports]
    parts = [
        "\n".join(imports),
        _constants(recipe.search, recipe.index.analyzer, stemmer, threshold),
        *([_cutting(bool(stemmer)), _WORD_INDEX] if words else []),
        _BEST,
        *_fusion(recipe.search),
        _ranker(recipe.search, threshold),
        _READING,
        framework.retriever,
    ]
    embedder = recipe.index.embedder
    printed = AS_PRINTED["words" if words else "dense"]
    return (
        (
            StatementData(
                f"Save as recipe_retriever.py; needs {packages}", "", "\n\n\n".join(parts)
            ),
            StatementData(
                f"Load the passages, and ask one question by the embedder {embedder}. {printed}",
                "",
                textwrap.indent(framework.usage, "# "),
            ),
        ),
        {name: Rule("exact", "the code has it") for name in _FIELDS},
    )


AS_PRINTED = {
    "dense": "On the sample, the first 10 results of 100 questions of 100 are those of the recipe.",
    "words": "On the sample, the first 10 results of 36 questions of 100 are those of the default "
    "recipe: the code cuts words more simply and leaves out the steps named above.",
}
_FIELDS = tuple(
    f"search.{name}"
    for name in (
        *("mode", "threshold", "candidates", "k1", "b", "fusion", "dense_weight", "rrf_k"),
        "bm25_pivot",
    )
)


def _stemmer(analyzer: str) -> str:
    """Return the name of a Snowball stemmer, "" for an analyzer without one."""
    name = DEFAULT if analyzer == "auto" else analyzer
    return name if name in _STEMMERS.split() else ""


def _constants(search: SearchRecipe, analyzer: str, stemmer: str, threshold: float | None) -> str:
    dense, words = fusion_weights(search)
    lines = [f"TOP_K, CANDIDATES = {search.top_k}, {search.candidates}"]
    if threshold is not None and search.relevance == "cosine":
        lines.append(f"THRESHOLD = {threshold!r}  # of the cosine")
    if search.mode == "hybrid":
        lines.append(f"DENSE_WEIGHT, WORD_WEIGHT = {dense!r}, {words!r}")
        lines += {
            "rrf": [f"RRF_K = {search.rrf_k}"],
            QDRANT_RRF: [f"RRF_K = {search.rrf_k}"],
            "saturation": [f"PIVOT = {search.bm25_pivot!r}"],
        }.get(search.fusion, [])
    if search.mode != "dense":
        lines.append(f"K1, B = {search.k1!r}, {search.b!r}  # of BM25")
        if stemmer:
            lines.append(f'STEMMER = Stemmer.Stemmer("{stemmer}")')
        telling = " ".join(sorted(function_words(DEFAULT if analyzer == "auto" else analyzer)))
        wrapped = textwrap.fill(telling, 92, initial_indent="    ", subsequent_indent="    ")
        lines.append(f'FUNCTION_WORDS = frozenset(\n    """\n{wrapped}\n    """.split()\n)')
    return "\n".join(lines)


def _cutting(stems: bool) -> str:
    stemmed = "[STEMMER.stemWord(word) for word in words]" if stems else "words"
    return f'''def words_of(text):
    return re.findall(r"\\w+", text.casefold())


def passage_terms(text):
    """Return the terms of a passage."""
    words = words_of(text)
    return {stemmed}


def question_terms(question):
    """Return the terms of a question, without function words unless it has nothing else."""
    words = words_of(question)
    words = [word for word in words if word not in FUNCTION_WORDS] or words
    return {stemmed}'''


_READING = '''def read_passages(path):
    """Read the passages of a JSONL file."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def indexed_text(row):
    """Return the text that is indexed: the passage after its context."""
    return f"{row['context']}\\n{row['text']}" if row["context"] else row["text"]'''

_WORD_INDEX = '''class WordIndex:
    """Passages by words, scored with BM25 (without the constant factor k1 + 1)."""

    def __init__(self, texts, terms):
        counts = [Counter(terms(text)) for text in texts]
        lengths = np.array([count.total() for count in counts], dtype=float)
        average = lengths.mean() if lengths.any() else 1.0
        self._damping = K1 * (1 - B + B * lengths / average)
        self._postings = {}
        for row, count in enumerate(counts):
            for term, frequency in count.items():
                self._postings.setdefault(term, ([], []))
                self._postings[term][0].append(row)
                self._postings[term][1].append(frequency)

    def scores(self, terms):
        """Return the score of each passage; 0 without a term of the question."""
        scores = np.zeros(len(self._damping))
        for term, times in Counter(terms).items():
            if term in self._postings:
                rows, frequencies = map(np.array, self._postings[term])
                rarity = math.log(1 + (len(scores) - len(rows) + 0.5) / (len(rows) + 0.5))
                scores[rows] += times * rarity * frequencies / (frequencies + self._damping[rows])
        return scores'''

_BEST = '''def best(scores, count):
    """Return the rows of the highest scores, best first; equal ones in the order of passages."""
    return np.argsort(-scores, kind="stable")[:count]'''

_FUSIONS = {
    "weighted": '''def stretched(scores):
    """Stretch scores to [0, 1]; 0 where they do not differ."""
    low, width = scores.min(), scores.max() - scores.min()
    return (scores - low) / width if width else np.zeros_like(scores)''',
    "rrf": '''def reciprocal(rows, ranked):
    """Return 1 / (RRF_K + rank), ranks from 1; 0 for rows that a list lacks."""
    ranks = {row: rank for rank, row in enumerate(ranked.tolist(), start=1)}
    return np.array([1 / (RRF_K + ranks.get(row, math.inf)) for row in rows.tolist()])''',
    QDRANT_RRF: '''def reciprocal(rows, ranked, weight):
    """Return 1 / (RRF_K + rank / weight), ranks from 1; 0 for rows that a list lacks."""
    if not weight:
        return np.zeros(len(rows))
    ranks = {row: rank for rank, row in enumerate(ranked.tolist(), start=1)}
    return np.array([1 / (RRF_K + ranks.get(row, math.inf) / weight) for row in rows.tolist()])''',
}
_FUSED = {
    "weighted": "DENSE_WEIGHT * stretched(cosines[rows]) + WORD_WEIGHT * stretched(bm25[rows])",
    "rrf": "DENSE_WEIGHT * reciprocal(rows, near) + WORD_WEIGHT * reciprocal(rows, worded)",
    "saturation": "DENSE_WEIGHT * cosines[rows] + WORD_WEIGHT * bm25[rows] / (bm25[rows] + PIVOT)",
}


_STRETCHED_LIST = '''def stretched(scores, rows, ranked):
    """Stretch the scores of one list to [0, 1]; rows that it lacks have 0."""
    own = scores[ranked]
    if not len(own):
        return np.zeros(len(rows))
    low, width = own.min(), own.max() - own.min()
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (scores[rows] - low) / width
    {scaled}
    return np.where(np.isin(rows, ranked), values, 0.0)'''


def _fusion(search: SearchRecipe) -> list[str]:
    if search.mode != "hybrid":
        return []
    if (least := LIST_SCALES.get(search.fusion)) is not None:
        scaled = f"values = np.where(values == 0, {least!r}, values) if width else 1.0"
        return [_STRETCHED_LIST.format(scaled=scaled)]
    return [_FUSIONS[search.fusion]] if search.fusion in _FUSIONS else []


def _fused(search: SearchRecipe) -> str:
    if search.fusion == QDRANT_RRF:
        return "reciprocal(rows, near, DENSE_WEIGHT) + reciprocal(rows, worded, WORD_WEIGHT)"
    if search.fusion in LIST_SCALES:
        near, worded = "stretched(cosines, rows, near)", "stretched(bm25, rows, worded)"
        return f"DENSE_WEIGHT * {near} + WORD_WEIGHT * {worded}"
    return _FUSED[search.fusion]


def _ranker(search: SearchRecipe, threshold: float | None) -> str:
    words = search.mode != "dense"
    options = ", passage_terms=passage_terms, question_terms=question_terms" if words else ""
    lines = [
        "class Ranker:",
        '    """Passages with their vectors; give your own functions to cut words differently."""'
        if words
        else '    """Passages with their vectors."""',
        "",
        f"    def __init__(self, texts, vectors{options}):",
        "        self._vectors = np.array(vectors, dtype=float).reshape(len(texts), -1)",
        "        lengths = np.linalg.norm(self._vectors, axis=1, keepdims=True)",
        "        self._vectors /= np.where(lengths > 0, lengths, 1.0)",
    ]
    if words:
        lines += [
            "        self._words = WordIndex(texts, passage_terms)",
            "        self._question_terms = question_terms",
        ]
    lines += [
        "",
        "    def rank(self, question, vector):",
        '        """Return rows of passages with their scores, best first."""',
        "        if not len(self._vectors):",
        "            return []",
        "        vector = np.array(vector, dtype=float) / np.linalg.norm(vector)",
        "        cosines = (self._vectors * vector).sum(axis=1)",
    ]
    if words:
        lines += [
            "        bm25 = self._words.scores(self._question_terms(question))",
            "        worded = best(bm25, CANDIDATES)",
            "        worded = worded[bm25[worded] > 0]",
        ]
    if search.mode != "lexical":
        lines.append("        near = best(cosines, CANDIDATES)")
    rows = {"dense": "near", "lexical": "worded", "hybrid": "np.union1d(near, worded)"}
    scores = {"dense": "cosines[rows]", "lexical": "bm25[rows]"}.get(search.mode, _fused(search))
    lines += [f"        rows = {rows[search.mode]}", f"        scores = {scores}"]
    if threshold is not None and search.relevance == "cosine":
        lines += [
            "        passing = cosines[rows] >= THRESHOLD",
            "        rows, scores = rows[passing], scores[passing]",
        ]
    lines += [
        "        order = best(scores, TOP_K)",
        "        return list(zip(rows[order].tolist(), scores[order].tolist()))",
    ]
    return "\n".join(lines)
