"""From a question to a trace: candidates, fusion, threshold, top-k."""

from rag.retrieval.caches import Remembered as Remembered
from rag.retrieval.candidates import Candidates as Candidates
from rag.retrieval.candidates import IncompleteVectors as IncompleteVectors
from rag.retrieval.candidates import SearchQuery as SearchQuery
from rag.retrieval.corpus import Corpus as Corpus
from rag.retrieval.fusion import ScoreContribution as ScoreContribution
from rag.retrieval.fusion import score_contributions as score_contributions
from rag.retrieval.merging import Part as Part
from rag.retrieval.merging import merge_traces as merge_traces
from rag.retrieval.model_steps import Listwise as Listwise
from rag.retrieval.pipeline import embed_question as embed_question
from rag.retrieval.pipeline import gather as gather
from rag.retrieval.pipeline import retrieve as retrieve
from rag.retrieval.selection import Nearness as Nearness
from rag.retrieval.selection import Selection as Selection
from rag.retrieval.selection import select as select
from rag.retrieval.stages import StageRow as StageRow
from rag.retrieval.stages import stage_row as stage_row
from rag.retrieval.stages import stage_rows as stage_rows
from rag.retrieval.stages import stage_title as stage_title
from rag.retrieval.timeline import Timeline as Timeline
