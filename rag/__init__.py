"""Touchstone: retrieval over your documents, with evidence.

>>> from rag import Workspace
>>> workspace = Workspace.from_env()
>>> base = workspace.base("sample")
>>> trace = base.search("How long may unused leave be carried over?", base.recipe())

Importing the package loads nothing heavy; models and readers are loaded when they are first used.
"""

TYPE_CHECKING = False  # the name is enough for type checkers; importing it is half the start
if TYPE_CHECKING:
    from rag.build_table import MOST_ROWS, BuildFigures
    from rag.bundles import Reproduction
    from rag.caches import CacheFigures
    from rag.comparing import Compared, LabelRanks
    from rag.conversations import failure_words
    from rag.errors import (
        AlreadyExists,
        Cancelled,
        InvalidFile,
        InvalidInput,
        InvalidRecipe,
        NotFound,
        TouchstoneError,
    )
    from rag.evaluation.calibration import NotEnoughLabels
    from rag.evaluation.comparison import Comparison
    from rag.evaluation.drafts import MODEL_KINDS, OFFLINE_KINDS
    from rag.evaluation.floors import Floor, Floors, Recommendation
    from rag.evaluation.intervals import Interval
    from rag.evaluation.run_intervals import TagFigures, UnjudgedShare
    from rag.evaluation.splits import Selection, Split
    from rag.evaluation.sweeping import Change, Grid, QuestionFigures
    from rag.evaluations import DEFAULT_CUTOFFS, Evaluation
    from rag.explaining import Explainer, Finding, passage_key
    from rag.explanation import Attribution, Counterfactual, Gap, Located, Standing, TextPart
    from rag.gates import GateResult
    from rag.http_tools import HttpTool, Outcome
    from rag.jobs import JobItem, JobRow, Jobs
    from rag.judging_queue import Unjudged
    from rag.knowledge_base import KnowledgeBase
    from rag.label_edits import HIGHEST_GRADE
    from rag.lexical import Explanation, TermMatch
    from rag.library import DocumentInfo, Upload
    from rag.limits import FittedCalibration
    from rag.maps import PassageMap, Placed
    from rag.passage_labels import QuestionLabels
    from rag.providers import ProviderStatus
    from rag.question_edits import QuestionRow
    from rag.rankings import Ranked, SideBySide
    from rag.readers import SUPPORTED, PageImage
    from rag.recipe import AnswerRecipe, IndexRecipe, Recipe, SearchRecipe
    from rag.retrieval import Share
    from rag.run_history import LeaderboardRow, QuestionDifference, RunComparison
    from rag.scope import Also, Beside
    from rag.settings import Settings
    from rag.storage.builds import BuildRow
    from rag.storage.conversations import StoredCitation, Turn
    from rag.storage.labels import Label
    from rag.storage.questions import LabelledQuestion, QuestionSet
    from rag.storage.runs import QuestionResult, Run
    from rag.sweeps import SWEEP_CUTOFFS, Mismatch, Sweep, Sweeper
    from rag.tuning import Best, Part, Tuner
    from rag.types import (
        Answer,
        Chunk,
        Citation,
        Document,
        Dropped,
        Hit,
        Message,
        Question,
        Stage,
        Trace,
    )
    from rag.workspace import SAMPLE, BaseInfo, Workspace

# A name is imported when it is first used: the reading child process and the command line would
# otherwise load the database and the models to do without them.
_WHERE = {
    "rag.build_table": "BuildFigures MOST_ROWS",
    "rag.bundles": "Reproduction",
    "rag.caches": "CacheFigures",
    "rag.conversations": "failure_words",
    "rag.comparing": "Compared LabelRanks",
    "rag.errors": (
        "AlreadyExists Cancelled InvalidFile InvalidInput InvalidRecipe NotFound TouchstoneError"
    ),
    "rag.evaluation.calibration": "NotEnoughLabels",
    "rag.evaluation.comparison": "Comparison",
    "rag.evaluation.floors": "Floor Floors Recommendation",
    "rag.evaluation.drafts": "MODEL_KINDS OFFLINE_KINDS",
    "rag.evaluation.intervals": "Interval",
    "rag.evaluation.splits": "Selection Split",
    "rag.evaluation.run_intervals": "TagFigures UnjudgedShare",
    "rag.evaluation.sweeping": "Change Grid QuestionFigures",
    "rag.evaluations": "DEFAULT_CUTOFFS Evaluation",
    "rag.explaining": "Explainer Finding passage_key",
    "rag.explanation": "Attribution Counterfactual Gap Located Standing TextPart",
    "rag.gates": "GateResult",
    "rag.http_tools": "HttpTool Outcome",
    "rag.jobs": "JobItem JobRow Jobs",
    "rag.judging_queue": "Unjudged",
    "rag.knowledge_base": "KnowledgeBase",
    "rag.label_edits": "HIGHEST_GRADE",
    "rag.lexical": "Explanation TermMatch",
    "rag.limits": "FittedCalibration",
    "rag.library": "DocumentInfo Upload",
    "rag.maps": "PassageMap Placed",
    "rag.providers": "ProviderStatus",
    "rag.question_edits": "QuestionRow",
    "rag.passage_labels": "QuestionLabels",
    "rag.rankings": "Ranked SideBySide",
    "rag.readers": "PageImage SUPPORTED",
    "rag.recipe": "AnswerRecipe IndexRecipe Recipe SearchRecipe",
    "rag.retrieval": "Share",
    "rag.run_history": "LeaderboardRow QuestionDifference RunComparison",
    "rag.scope": "Also Beside",
    "rag.settings": "Settings",
    "rag.storage.builds": "BuildRow",
    "rag.storage.conversations": "StoredCitation Turn",
    "rag.storage.labels": "Label",
    "rag.storage.questions": "LabelledQuestion QuestionSet",
    "rag.storage.runs": "QuestionResult Run",
    "rag.sweeps": "Mismatch SWEEP_CUTOFFS Sweep Sweeper",
    "rag.tuning": "Best Part Tuner",
    "rag.types": "Answer Chunk Citation Document Dropped Hit Message Question Stage Trace",
    "rag.workspace": "BaseInfo SAMPLE Workspace",
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'rag' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


__all__ = [
    "DEFAULT_CUTOFFS",
    "HIGHEST_GRADE",
    "MODEL_KINDS",
    "MOST_ROWS",
    "OFFLINE_KINDS",
    "SAMPLE",
    "SUPPORTED",
    "SWEEP_CUTOFFS",
    "AlreadyExists",
    "Also",
    "Answer",
    "AnswerRecipe",
    "Attribution",
    "BaseInfo",
    "Beside",
    "Best",
    "BuildFigures",
    "BuildRow",
    "CacheFigures",
    "Cancelled",
    "Change",
    "Chunk",
    "Citation",
    "Compared",
    "Comparison",
    "Counterfactual",
    "Document",
    "DocumentInfo",
    "Dropped",
    "Evaluation",
    "Explainer",
    "Explanation",
    "Finding",
    "FittedCalibration",
    "Floor",
    "Floors",
    "Gap",
    "GateResult",
    "Grid",
    "Hit",
    "HttpTool",
    "IndexRecipe",
    "Interval",
    "InvalidFile",
    "InvalidInput",
    "InvalidRecipe",
    "JobItem",
    "JobRow",
    "Jobs",
    "KnowledgeBase",
    "Label",
    "LabelRanks",
    "LabelledQuestion",
    "LeaderboardRow",
    "Located",
    "Message",
    "Mismatch",
    "NotEnoughLabels",
    "NotFound",
    "Outcome",
    "PageImage",
    "Part",
    "PassageMap",
    "Placed",
    "ProviderStatus",
    "Question",
    "QuestionDifference",
    "QuestionFigures",
    "QuestionLabels",
    "QuestionResult",
    "QuestionRow",
    "QuestionSet",
    "Ranked",
    "Recipe",
    "Recommendation",
    "Reproduction",
    "Run",
    "RunComparison",
    "SearchRecipe",
    "Selection",
    "Settings",
    "Share",
    "SideBySide",
    "Split",
    "Stage",
    "Standing",
    "StoredCitation",
    "Sweep",
    "Sweeper",
    "TagFigures",
    "TermMatch",
    "TextPart",
    "TouchstoneError",
    "Trace",
    "Tuner",
    "Turn",
    "Unjudged",
    "UnjudgedShare",
    "Upload",
    "Workspace",
    "failure_words",
    "passage_key",
]
