"""Questions that hardly share a word with the passage that answers them.

``python -m rag bench --only paraphrases`` asks 40 of them, 20 over the sample and 20 over the sets
that are kept apart, without a language model. ``paraphrases.jsonl`` has each with the question that
it puts in other words, by its id or its text: the labels or words of that one tell what is right.
They were written before anything was measured. By recipe it prints the shares

- ``answered``, ``doubtful`` and ``refused``, which add up to 1 with those that conflict,
- ``right``: answered, and the first quote is right; ``first quote``: it is, in any state,
- ``in top 5``: a passage that answers is among the five that are given to the answer.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag import SAMPLE, Answer, KnowledgeBase, Recipe, Settings, Workspace
from rag.types import Citation, Question
from tests.bench.answer_states import LEAST_GRADE
from tests.golden.answer_sets import SetQuestion, has_words, read_set
from tests.workspaces import add

_ROWS = Path(__file__).with_name("paraphrases.jsonl")
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "no threshold": {"search.threshold": None},
    "no refusals": {"search.refuse": "off"},
    "dense": {"search.mode": "dense"},
}
"""Settings that exist, by what they change."""


def measure(_folder: Path, *, recipes: Sequence[str] = tuple(RECIPES)) -> dict[str, float]:
    """Shares by ``"COLLECTION | RECIPE: WHAT"``."""
    rows = list(map(json.loads, _ROWS.read_text("utf-8").splitlines()))
    outcomes = dict[tuple[str, str], list[Mapping[str, bool]]]()
    with tempfile.TemporaryDirectory() as home:
        workspace = Workspace(Settings.from_env({}, home=Path(home)))
        for name in dict.fromkeys(row["collection"] for row in rows):
            base = _read(workspace, name)
            for row in (row for row in rows if row["collection"] == name):
                for recipe_name in recipes:
                    recipe = base.recipe().with_fields(RECIPES[recipe_name])
                    answer = base.ask(row["question"], recipe).answer
                    outcome = _outcome(answer, _asked(base, name, row["of"]))
                    for part in ("sample" if name == SAMPLE else "kept apart", "all"):
                        outcomes.setdefault((part, recipe_name), []).append(outcome)
        workspace.close()
    return {
        f"{part} | {recipe_name}: {what}": float(np.mean([one[what] for one in group]))
        for (part, recipe_name), group in outcomes.items()
        for what in group[0]
    }


def _read(workspace: Workspace, name: str) -> KnowledgeBase:
    if name == SAMPLE:
        workspace.jobs.run(workspace.start_demo()[1])
    else:
        add(workspace, workspace.create(name, Recipe()), read_set(name).files)
    return workspace.base(name)


def _asked(base: KnowledgeBase, name: str, of: str) -> Question | SetQuestion:
    if name == SAMPLE:
        return next(one for one in base.runs.questions(name)[1] if one.id == of)
    return next(one for one in read_set(name).questions if one.text == of)


def _outcome(answer: Answer, question: Question | SetQuestion) -> Mapping[str, bool]:
    first = bool(answer.citations) and _is_right(answer.citations[0], question)
    shown = [Citation(0, hit, hit.chunk.text) for hit in answer.trace.hits[:5]]
    return {
        **{state: answer.state == state for state in ("answered", "doubtful", "refused")},
        "right": first and answer.state in ("answered", "conflicting"),
        "first quote": first,
        "in top 5": any(_is_right(one, question) for one in shown),
    }


def _is_right(citation: Citation, question: Question | SetQuestion) -> bool:
    if isinstance(question, SetQuestion):
        return has_words(citation, question)
    chunk, quote = citation.hit.chunk, citation.quote
    start = chunk.start + max(chunk.text.find(quote), 0)
    return any(
        label.document_id == chunk.document_id
        and label.grade >= LEAST_GRADE
        and (label.end is None or (start < label.end and label.start < start + len(quote)))
        for label in question.evidence
    )
