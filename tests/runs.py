"""A small evaluated knowledge base for tests of runs, reports and bundles."""

import json
from collections.abc import Mapping
from pathlib import Path

from rag import KnowledgeBase, Workspace
from rag.services.indexing.servers import Servers
from tests.workspaces import QUICK, add, fill_home, workspace_at

SET = "handbook questions"
DOCUMENTS: Mapping[str, str] = {
    "leave.md": "# Leave\n\nUnused leave may be carried over until 30 June.\n\n"
    "Everybody has 29 days of annual leave in a calendar year.\n\n"
    "Sick leave is reported before ten in the morning by telephone.",
    "pump.txt": "The Hollin pump makes a grinding noise when its bearing is dry.\n\n"
    "Grease the bearing every 500 hours with lithium grease.",
    "travel.txt": "Train journeys are second class.\n\nHotels may cost 140 euros a night.",
}
_ASKED = [
    ("q1", "How long may unused leave be carried over?", "leave.md", "carried over until 30 June"),
    ("q2", "Why is there a grinding noise?", "pump.txt", "when its bearing is dry"),
    ("q3", "What may a hotel cost?", "travel.txt", "Hotels may cost 140 euros a night."),
    ("q4", "Which class do we ride in?", "travel.txt", "Train journeys are second class."),
]
QUESTIONS = "\n".join(
    [
        json.dumps({"id": key, "text": text, "evidence": [{"document": name, "quote": quote}]})
        for key, text, name, quote in _ASKED
    ]
    + [json.dumps({"id": "q5", "text": "Who won the cup in 1954?", "answerable": False})]
)
WORDS = QUICK.with_fields({"search.mode": "lexical"})
VECTORS = QUICK.with_fields({"search.mode": "dense"})


def handbook(
    home: Path, name: str = "handbook", servers: Servers | None = None
) -> tuple[Workspace, KnowledgeBase]:
    """A base with documents and a question set, not evaluated yet."""
    is_empty = not home.is_dir() or not any(home.iterdir())
    if is_empty and (name, servers) == ("handbook", None):
        fill_home(home, _prepare)
        workspace = workspace_at(home)
        return workspace, workspace.base(name)
    workspace = workspace_at(home, servers)
    return workspace, _filled(workspace, name)


def _prepare(home: Path) -> None:
    workspace = workspace_at(home)
    _filled(workspace, "handbook")
    workspace.close()


def _filled(workspace: Workspace, name: str) -> KnowledgeBase:
    base = workspace.create(name, WORDS)
    add(workspace, base, DOCUMENTS)
    base.questions.import_file(SET, "questions.jsonl", QUESTIONS)
    return base


def swept_metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """Metrics that sweeps measure, without those of retrieved text and of answers."""
    return {
        name: value
        for name, value in metrics.items()
        if not name.startswith(("span_", "correct_doubt"))
    }
