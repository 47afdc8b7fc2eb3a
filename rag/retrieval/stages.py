"""The table of stages: one row for each stage of a retrieval, in the order in which they pass.

Code that shows, explains, sweeps or runs a stage reads its row. A new stage that works on
candidates is a function, such as that of a reranker, and a row that names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from rag.protocols import Reranker
from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Candidates, SearchQuery
from rag.retrieval.corpus import Corpus
from rag.retrieval.feedback import search_with_feedback
from rag.retrieval.fusion import fused_scores, ranking
from rag.retrieval.query_transforms import try_transform
from rag.retrieval.timeline import Timeline
from rag.types import Scores, StageName


def rerank_candidates(
    search_query: SearchQuery,
    candidates: Candidates,
    recipe: SearchRecipe,
    corpus: Corpus,
    timeline: Timeline,
) -> tuple[SearchQuery, Candidates]:
    """The candidates with the reranker's scores of their first ``recipe.rerank_depth``.

    It reads what is indexed, context and text: alike passages of two products differ only there.
    A reranker that fails changes nothing, and its stage says why.
    """
    count = len(candidates)
    first = ranking(candidates.keys, fused_scores(candidates, recipe))[: recipe.rerank_depth]
    passages = corpus.lookup([int(key) for key in candidates.keys[first]])
    positions = [int(position) for position in first if int(candidates.keys[position]) in passages]
    texts = [passages[int(candidates.keys[position])][0].indexed_text for position in positions]

    def read(reranker: Reranker) -> Scores:
        return reranker.scores(search_query.reading, texts) if texts else np.empty(0)

    scores = try_transform("rerank", corpus.reranker, read, "the order stays", timeline, count)
    if scores is None:
        return search_query, candidates
    timeline.passed("rerank", count, count, f"first {len(positions)} read by {recipe.rerank}")
    aligned = np.full(count, np.nan)
    aligned[positions] = scores
    return search_query, replace(candidates, rerank=aligned)


CandidateStage = Callable[
    [SearchQuery, Candidates, SearchRecipe, Corpus, Timeline], tuple[SearchQuery, Candidates]
]
"""Takes the question as it was asked and all candidates, gives them changed, and notes itself."""


@dataclass(frozen=True, slots=True)
class StageRow:
    """The definition of a stage.

    ``fields`` are the fields of the search recipe that the stage reads. For an optional step, the
    first field switches it on. A stage without fields is always on. ``label`` names the remaining
    passages in a funnel, and ``help`` explains them; "" for a stage that the funnel doesn't show.
    ``dropped`` is the heading of the dropped passages. ``failed`` explains a failure to the user.
    ``retriever`` is the name in sentences of a stage that retrieves passages, and ``figure`` is the
    part of a hit by which it ranks.

    ``passes`` is the input of the stage: the ``question`` alone, the lists of the retrievers that
    it ``joins``, or ``passages``. ``swept`` is the way in which a sweep measures the stage: by
    ``arithmetic`` on candidates, with ``candidates`` fetched for each of its values, or by the
    ``pipeline``, recipe by recipe. The changes that would alter the fate of a passage are computed
    from candidates, too, unless the pipeline measures the stage. In that case they are determined
    by trial for the fields that are ``tried``, and for none if the stage ``asks_model``. ``run`` is
    called for stages between fusion and threshold.
    """

    name: StageName
    fields: tuple[str, ...] = ()
    label: str = ""
    help: str = ""
    dropped: str = ""
    failed: str = ""
    retriever: str = ""
    figure: str = ""
    passes: Literal["question", "joins", "passages"] = "passages"
    swept: Literal["arithmetic", "candidates", "pipeline"] = "pipeline"
    tried: tuple[str, ...] = ("dense_weight", "refuse", "threshold", "top_k", "candidates")
    run: CandidateStage | None = None

    @property
    def asks_model(self) -> bool:
        """Whether a model of a provider is asked by one of its fields."""
        return not {*self.fields}.isdisjoint(_ASKING)

    def is_on(self, search: SearchRecipe) -> bool:
        """Whether a recipe has this step."""
        return not self.fields or getattr(search, self.fields[0]) != _OFF[self.fields[0]]


_ASKING = SearchRecipe.asking("chat", "reranker")
_OFF = SearchRecipe.plain()

_of_question = partial(StageRow, passes="question")

STAGES: tuple[StageRow, ...] = (
    _of_question("rewrite", ("rewrite",), failed="The follow-up was not made complete"),
    StageRow("spelling", ("spelling",), passes="question", swept="candidates"),
    StageRow("synonyms", ("synonyms",), passes="question", swept="candidates"),
    _of_question("expansions", ("expansions",), failed="No further wordings were searched"),
    _of_question("hyde", ("hyde",), failed="No imagined answer was searched"),
    StageRow("question", passes="question", swept="arithmetic"),
    StageRow("language", ("other_languages",), passes="question", swept="arithmetic"),
    StageRow(
        "filter",
        ("documents", "types", "tags", "pages", "after", "before", "heading"),
        label="pass the filter",
        help="Only these were searched.",
        swept="candidates",
    ),
    StageRow(
        "dense",
        label="dense",
        help="Nearest passages by meaning. Choose to see only these.",
        retriever="dense",
        figure="dense",
        swept="arithmetic",
    ),
    StageRow(
        "lexical",
        label="lexical",
        help="Best passages by BM25. Choose to see only these.",
        retriever="BM25",
        figure="bm25",
        swept="arithmetic",
    ),
    StageRow(
        "fusion",
        ("fusion", "dense_weight", "rrf_k", "bm25_pivot"),
        label="fused",
        help="Both lists in one ranking.",
        figure="fused",
        passes="joins",
        swept="arithmetic",
    ),
    StageRow(
        "feedback",
        ("feedback", "feedback_weight", "feedback_terms"),
        label="with feedback",
        help="Both lists again, for the question enriched by its first hits.",
        passes="joins",
        tried=("dense_weight", "candidates"),
        run=search_with_feedback,
    ),
    StageRow(
        "rerank",
        ("rerank", "rerank_depth", "rerank_batch"),
        label="reranked",
        help="The first of them, scored again together with the question.",
        failed="The results were not reranked",
        figure="rerank",
        run=rerank_candidates,
    ),
    StageRow(
        "tool",
        ("tools",),
        label="of tools",
        help="Results of HTTP tools. Choose to see only these.",
        failed="An HTTP tool returned nothing",
        retriever="tool",
    ),
    StageRow(
        "refuse",
        ("refuse",),
        label="on topic",
        help="Whether the question is on topic. If not, all passages are dropped.",
        dropped="Refused",
        swept="arithmetic",
    ),
    StageRow(
        "threshold",
        ("threshold", "exact_codes", "matched_words"),
        label="past threshold",
        help="Choose to see what the threshold dropped.",
        dropped="Threshold",
        swept="arithmetic",
    ),
    StageRow(
        "duplicates",
        ("duplicates",),
        label="without copies",
        help="Choose to see duplicates of better passages.",
        dropped="Copies",
    ),
    StageRow("mmr", ("mmr",), figure="mmr"),
    StageRow(
        "top_k",
        ("top_k",),
        label="top-k",
        help="Choose to see what came after top-k.",
        dropped="Top-k",
        swept="arithmetic",
    ),
    StageRow(
        "merge",
        label="merged",
        help="Lists of several sources as one. Choose to see what came after top-k.",
        dropped="Merged list",
        failed="A knowledge base returned nothing",
        swept="arithmetic",
    ),
    StageRow(
        "context",
        ("context", "neighbours", "merge", "order"),
        label="for the answer",
        help="A language model gets these in its prompt; without one, quotes are chosen from "
        "these. Choose to see what did not fit.",
        dropped="Context budget",
        swept="candidates",
    ),
)


def stage_rows() -> tuple[StageRow, ...]:
    """All stages, in their order."""
    return STAGES


def stage_row(name: StageName) -> StageRow:
    """The row of a stage."""
    return next(row for row in STAGES if row.name == name)


def stage_title(name: str) -> str:
    """A stage as people write it: ``top-k``."""
    return name.replace("_", "-")


def measured_by_pipeline(search: SearchRecipe) -> list[StageRow]:
    """The stages of a recipe that arithmetic on candidates cannot follow."""
    return [row for row in STAGES if row.swept == "pipeline" and row.is_on(search)]


def by_arithmetic(search: SearchRecipe) -> SearchRecipe:
    """Return the recipe without the stages that arithmetic on candidates cannot follow."""
    fields = [name for row in measured_by_pipeline(search) for name in row.fields]
    return search.model_copy(update={name: _OFF[name] for name in fields})
