"""A knowledge base with two halves of documents that answer alike, of which one is judged."""

import json
from pathlib import Path

from rag import KnowledgeBase, Workspace
from tests.runs import WORDS
from tests.workspaces import add, workspace_at

SET = "pumps"
NAMES = (
    "Hollin", "Marsh", "Tarn", "Fell", "Beck", "Moor", "Crag", "Ghyll", "Holm", "Rigg", "Scar",
    "Thwaite",
)  # fmt: skip
OLD = WORDS.with_fields({"search.documents": ["old*"]})
NEW = WORDS.with_fields({"search.documents": ["new*"]})


def half_judged(home: Path) -> tuple[Workspace, KnowledgeBase]:
    """Every old document is judged for every question, and no new one."""
    workspace = workspace_at(home)
    base = workspace.create("pumps", WORDS)
    texts = {name: f"The {name} pump is greased once a month." for name in NAMES}
    add(workspace, base, {f"old {name}.txt": text for name, text in texts.items()})
    add(workspace, base, {f"new {name}.txt": f"{text} Or so." for name, text in texts.items()})
    asked = [
        {
            "id": name,
            "text": f"How often is the {name} pump greased?",
            "evidence": [
                {"document": f"old {each}.txt", "grade": int(each == name)} for each in NAMES
            ],
        }
        for name in NAMES
    ]
    base.questions.import_file(SET, "pumps.jsonl", "\n".join(map(json.dumps, asked)))
    return workspace, base
