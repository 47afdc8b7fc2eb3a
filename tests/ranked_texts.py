"""A small base, its labels, and the rankings of another system, written down once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.workspaces import QUICK, add, workspace_at

FOLDER = Path(__file__).parent / "golden" / "systems"
BASE, SET = "handbook", "labelled"


@dataclass(frozen=True)
class RankedText:
    """A result; ``id`` is that of a passage of the base, or a name if it is of no document."""

    id: str
    document: str
    text: str
    score: float


_DATA = json.loads((FOLDER / "rankings.json").read_text())
DOCUMENTS: Mapping[str, str] = _DATA["documents"]
QUESTIONS: Mapping[str, str] = {item["id"]: item["text"] for item in _DATA["questions"]}
RANKINGS: Mapping[str, tuple[RankedText, ...]] = {
    question: tuple(RankedText(**item) for item in items)
    for question, items in _DATA["rankings"].items()
}


def is_elsewhere(item: RankedText) -> bool:
    """Whether a result is of no document of the base."""
    return item.document not in DOCUMENTS


def ranking(question: str) -> tuple[RankedText, ...]:
    """The results of a question, by its words."""
    return next(RANKINGS[key] for key, text in QUESTIONS.items() if text == question)


def qrels() -> dict[str, dict[str, int]]:
    """The grade of each labelled passage: by its id, or by its label if no ranking has it."""
    ids = {item.text: item.id for items in RANKINGS.values() for item in items}
    grades: dict[str, dict[str, int]] = {}
    for question in _DATA["questions"]:
        judged = grades.setdefault(question["id"], {})
        for label in question["evidence"]:
            named = next((ids[text] for text in ids if label["quote"] in text), label["quote"])
            judged[named] = max(label["grade"], judged.get(named, 0))
    return grades


def prepare(home: Path) -> None:
    """Fill a home with the base and its questions."""
    workspace = workspace_at(home)
    base = workspace.create(BASE, QUICK)
    assert set(add(workspace, base, dict(DOCUMENTS))) == {"added"}
    lines = "\n".join(json.dumps(question) for question in _DATA["questions"])
    base.questions.import_file(SET, "questions.jsonl", lines)
    workspace.close()
