"""Whether an answer quotes the very line that answers, on about 200 questions.

``python -m rag bench --only answer_lines`` asks the questions of three collections without a
language model. For the sample the line is a label of grade 3; for the papers and the product docs
``answer_lines.jsonl`` has words that it contains, each checked to occur in a labelled document.
Another line can answer as well, so the shares are lower bounds. Its figures:

- ``passage found``: a passage that is given to the answer has the line,
- ``any quote``: one of the quotes has it,
- ``first quote``: the first one does.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rag import SAMPLE, Answer, Chunk, KnowledgeBase, Question, Recipe, Settings, Workspace

COLLECTIONS = (SAMPLE, "aragog", "anthropic_docs")
ANSWERS_ALONE = 3
"""The grade of labels of the sample that answer by themselves."""
_LINES = Path(__file__).with_name("answer_lines.jsonl")
_SOFT_HYPHENS = str.maketrans("", "", "\u00ad\ufffe\uffff")
"""What PDFs leave within a word that a line breaks."""


def measure(folder: Path, *, collections: Sequence[str] = COLLECTIONS) -> dict[str, float]:
    """Shares by ``"COLLECTION: WHAT"``."""
    with tempfile.TemporaryDirectory() as home:
        workspace = Workspace(Settings.from_env({}, home=Path(home)))
        rows = {name: _rows(read(workspace, name, folder), name, folder) for name in collections}
        workspace.close()
    rows["all"] = [row for own in list(rows.values()) for row in own]
    return {
        f"{name}: {what}": float(np.mean([row[what] for row in own]))
        for name, own in rows.items()
        for what in own[0]
    }


def lines_of(name: str) -> dict[str, tuple[str, ...]]:
    """Words of the lines that answer, by question of a collection; any of them will do."""
    rows = map(json.loads, _LINES.read_text("utf-8").splitlines())
    return {row["question"]: tuple(row["lines"]) for row in rows if row["collection"] == name}


def is_there(text: str, lines: Sequence[str]) -> bool:
    """Whether a text has one of some lines, white space and broken words aside."""
    flat = " ".join(text.translate(_SOFT_HYPHENS).split())
    return any(line in flat for line in lines)


def read(workspace: Workspace, name: str, folder: Path) -> KnowledgeBase:
    pdfs = sorted((folder / name / "pdfs").glob("*.pdf"))
    if name == SAMPLE:
        _, job = workspace.start_demo()
    elif pdfs:
        job = workspace.create(name, Recipe()).documents.add_paths(pdfs)
    else:
        job = workspace.create(name, Recipe()).documents.import_beir(folder / name, "test")
    workspace.jobs.run(job)
    return workspace.base(name)


def _rows(base: KnowledgeBase, name: str, folder: Path) -> list[Mapping[str, bool]]:
    lines, recipe = lines_of(name), base.recipe()
    rows = list[Mapping[str, bool]]()
    for question in questions(base, name, folder):
        if name == SAMPLE or question.id in lines:
            answer = base.ask(question.text, recipe).answer
            rows.append(row_of(answer, question, lines.get(question.id, ())))
    return rows


def questions(base: KnowledgeBase, name: str, folder: Path) -> list[Question]:
    if name == SAMPLE:
        _, all_questions = base.runs.questions(name)
        return sorted((one for one in all_questions if one.answerable), key=lambda one: one.id)
    texts = (folder / name / "queries.jsonl").read_text("utf-8").splitlines()
    return [Question(row["_id"], row["text"]) for row in map(json.loads, texts)]


def row_of(answer: Answer, question: Question, lines: Sequence[str]) -> Mapping[str, bool]:
    """Where the line is that answers: by its words, or by labels where there are none."""

    def has(chunk: Chunk, text: str) -> bool:
        if lines:
            return is_there(text, lines)
        start = chunk.start + max(chunk.text.find(text), 0)
        return any(
            label.document_id == chunk.document_id
            and label.grade >= ANSWERS_ALONE
            and (label.end is None or (start < label.end and label.start < start + len(text)))
            for label in question.evidence
        )

    quotes = [has(one.hit.chunk, one.quote) for one in answer.citations]
    return {
        "passage found": any(has(hit.chunk, hit.chunk.text) for hit in answer.trace.context),
        "any quote": any(quotes),
        "first quote": bool(quotes) and quotes[0],
    }
