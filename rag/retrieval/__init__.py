"""From a question to a trace: candidates, fusion, threshold, top-k."""

from rag.retrieval.caches import Remembered
from rag.retrieval.candidates import Candidates, IncompleteVectors, SearchQuery
from rag.retrieval.corpus import Corpus
from rag.retrieval.fusion import ScoreContribution, score_contributions
from rag.retrieval.merging import Part, merge_traces
from rag.retrieval.model_steps import Listwise
from rag.retrieval.pipeline import embed_question, gather, retrieve
from rag.retrieval.selection import Nearness, Selection, select
from rag.retrieval.stages import StageRow, stage_row, stage_rows, stage_title
from rag.retrieval.timeline import Timeline

__all__ = [
    "Candidates",
    "Corpus",
    "IncompleteVectors",
    "Listwise",
    "Nearness",
    "Part",
    "Remembered",
    "ScoreContribution",
    "SearchQuery",
    "Selection",
    "StageRow",
    "Timeline",
    "embed_question",
    "gather",
    "merge_traces",
    "retrieve",
    "score_contributions",
    "select",
    "stage_row",
    "stage_rows",
    "stage_title",
]
