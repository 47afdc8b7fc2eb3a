"""The values that flow through the pipeline.

Everything here is frozen. All offsets are character offsets (Python ``str`` indices) into
``Document.text``, half open: ``[start, end)``.
"""

from rag.types.answers import (
    MUST_CITE,
    Answer,
    AnswerStatus,
    BudgetPart,
    Citation,
    Cost,
    Decision,
    DecisionStep,
    Delta,
    Example,
    Message,
    SentenceCheck,
    SentenceVerdict,
    Usage,
)
from rag.types.arrays import Floats, Integers, Keys, Mask, Order, Ranks, Scores, Span, Tell, Vectors
from rag.types.documents import (
    Chunk,
    Document,
    EditKind,
    Heading,
    Page,
    PassageEdit,
    Table,
    chunk_key,
    with_context,
)
from rag.types.labels import LOST, Evidence, Question
from rag.types.retrieval import TOOL, Dropped, Hit, Stage, StageName, Trace, WordCorrection

__all__ = [
    "LOST",
    "MUST_CITE",
    "TOOL",
    "Answer",
    "AnswerStatus",
    "BudgetPart",
    "Chunk",
    "Citation",
    "Cost",
    "Decision",
    "DecisionStep",
    "Delta",
    "Document",
    "Dropped",
    "EditKind",
    "Evidence",
    "Example",
    "Floats",
    "Heading",
    "Hit",
    "Integers",
    "Keys",
    "Mask",
    "Message",
    "Order",
    "Page",
    "PassageEdit",
    "Question",
    "Ranks",
    "Scores",
    "SentenceCheck",
    "SentenceVerdict",
    "Span",
    "Stage",
    "StageName",
    "Table",
    "Tell",
    "Trace",
    "Usage",
    "Vectors",
    "WordCorrection",
    "chunk_key",
    "with_context",
]
