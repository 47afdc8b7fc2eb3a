"""What each step that search applies to a question gains, collection by collection.

``python -m rag bench --only question_steps`` prints, for each step with all of them on, nDCG@10,
recall@5 and MRR@10 with it less those without it, the questions whose nDCG@10 it makes better and
worse, and the p-value of the paired test of their means. ``xquad_en misspelt`` has a slip in each
question; of the answer sets, it prints the share of right answers. The questions on
``federal_reports`` are in ``federal_reports.jsonl``; the reports are PDFs of agencies of the United
States, which are in the public domain and not kept here.
``python -m tests.bench.question_steps FOLDER HOME [COLLECTION ...]`` keeps the home: nothing is
read or embedded a second time.
"""

import json
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from rag import SAMPLE, Answer, InvalidInput, KnowledgeBase, Recipe, Settings, Upload, Workspace
from rag.evaluation.comparison import compare
from rag.search.snapshot import take_complete_snapshot
from rag.services.services import Services
from tests.golden.answer_sets import KEPT, SetQuestion, has_words, read_set
from tests.typos import mistyped
from tests.workspaces import add

REPORTS, MISSPELT, SETS = "federal_reports", " misspelt", "answer sets"
COLLECTIONS = (
    *(SAMPLE, REPORTS, "anthropic_docs", "xquad_en", f"xquad_en{MISSPELT}", "xquad_de"),
    *("cranfield", "aragog", "scifact", SETS),
)
QUESTIONS_ON_REPORTS = Path(__file__).with_name(f"{REPORTS}.jsonl")
METRICS = ("ndcg@10", "recall@5", "mrr@10")
OFF: Mapping[str, Mapping[str, Any]] = {
    "spelling": {"search.spelling": False},
    "synonyms": {"search.synonyms": False},
    "compounds": {},
    "everyday words": {},
    "matched words": {"search.matched_words": False},
    "exact codes": {"search.exact_codes": False},
    "other languages": {"search.other_languages": "alike"},
    "refusal": {"search.refuse": "off"},
}
"""The fields that turn a step off; compounds and everyday words have none of their own."""
ON: Mapping[str, Any] = {
    "search.spelling": "question",
    "search.synonyms": True,
    "search.matched_words": True,
    "search.exact_codes": True,
    "search.other_languages": "words",
    "search.refuse": "auto",
}
QUESTIONS, SEED = 300, 11
"""The most questions of a collection, a random sample, and the seed of sample and slips."""


def measure(folder: Path, *, collections: Sequence[str] = COLLECTIONS) -> dict[str, float]:
    """Figures by ``"COLLECTION | STEP | FIGURE"``."""
    with tempfile.TemporaryDirectory() as home:
        return dict(measured(Path(home), folder, collections))


def measured(home: Path, folder: Path, names: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield the same figures from a home that is kept. Raises InvalidInput without the reports."""
    if REPORTS in names:
        _require_reports(folder / REPORTS)
    settings = Settings.from_env({}, home=home)
    workspace, services = Workspace(settings), Services.start(settings)
    for name in names:
        if name == SETS:
            yield from _answers(workspace)
            continue
        base = _base(workspace, name.removesuffix(MISSPELT), folder)
        yield from _figures(services, base, name)
    workspace.close()


def _figures(services: Services, base: KnowledgeBase, name: str) -> Iterator[tuple[str, float]]:
    questions = [one for one in base.runs.questions(base.name)[1] if one.answerable]
    questions = random.Random(SEED).sample(questions, min(QUESTIONS, len(questions)))
    if name.endswith(MISSPELT):
        questions = [replace(one, text=mistyped(one.text, 1, SEED)) for one in questions]
    recipe = base.recipe().with_fields(ON)
    queries = base.runs.queries(questions, recipe.index)

    def per_question(tried: Recipe) -> dict[str, dict[str, float]]:
        snapshot = take_complete_snapshot(services, base.id, tried)
        results, _ = base.runs.measure(questions, queries, snapshot, (5, 10))
        return {
            metric: {one.question_id: one.metrics[metric] for one in results} for metric in METRICS
        }

    on = per_question(recipe)
    for metric in METRICS:
        yield f"{name} | all on | {metric}", sum(on[metric].values()) / len(questions)
    for step, fields in OFF.items():
        with _without(step):
            off = per_question(recipe.with_fields(fields))
        for metric in METRICS:
            comparison = compare(metric, on[metric], off[metric])
            yield f"{name} | {step} | {metric}", comparison.mean - comparison.baseline
            if metric == METRICS[0]:
                yield f"{name} | {step} | better", comparison.won
                yield f"{name} | {step} | worse", comparison.lost
                yield f"{name} | {step} | p", comparison.p


def _answers(workspace: Workspace) -> Iterator[tuple[str, float]]:
    """Yield the share of right answers of sets on which no rule was chosen, and what steps gain.

    Right is an answer without doubt whose first quote has the expected words, and a doubt or a
    refusal where the documents have no answer.
    """
    sets = [read_set(name) for name in KEPT]
    bases = {one.name: workspace.create(one.name) for one in sets}
    for one in sets:
        add(workspace, bases[one.name], one.files)

    def right(fields: Mapping[str, Any]) -> dict[str, float]:
        recipe = Recipe().with_fields({**ON, **fields})
        return {
            f"{one.name} {number}": float(
                _is_right(bases[one.name].ask(asked.text, recipe).answer, asked)
            )
            for one in sets
            for number, asked in enumerate(one.questions)
        }

    on = right({})
    yield f"{SETS} | all on | right", sum(on.values()) / len(on)
    for step in ("spelling", "synonyms"):
        comparison = compare("right", on, right(OFF[step]))
        yield f"{SETS} | {step} | right", comparison.mean - comparison.baseline
        yield f"{SETS} | {step} | better", comparison.won
        yield f"{SETS} | {step} | worse", comparison.lost
        yield f"{SETS} | {step} | p", comparison.p


def _is_right(answer: Answer, question: SetQuestion) -> bool:
    answered = answer.assessment is not None and answer.assessment.state == "answered"
    if not question.words:
        return not answered
    return answered and any(has_words(citation, question) for citation in answer.citations[:1])


def _without(step: str) -> AbstractContextManager[Any]:
    """Turn off a part of a step that no field turns off."""
    if step == "compounds":
        return mock.patch("rag.lexical.synonyms.LINKING", {})
    if step == "everyday words":
        return mock.patch("rag.lexical.respelling.similar_general", return_value=[])
    return nullcontext()


def _require_reports(folder: Path) -> None:
    """Raise InvalidInput where a report is missing that a question is about."""
    lines = QUESTIONS_ON_REPORTS.read_text("utf-8").splitlines()
    named = {label["document"] for line in lines for label in json.loads(line)["evidence"]}
    missing = sorted(name for name in named if not (folder / name).is_file())
    if missing:
        raise InvalidInput(
            f"Missing in {folder}: {', '.join(missing)}.",
            "Put these PDFs there. The repository docugami/KG-RAG-datasets on GitHub has them, and "
            "they are in the public domain.",
        )


def _base(workspace: Workspace, name: str, folder: Path) -> KnowledgeBase:
    if name in {info.name for info in workspace.bases()}:
        return workspace.base(name)
    if name == SAMPLE:
        base, job = workspace.start_demo()
    elif name == REPORTS:
        base, files = workspace.create(name), sorted((folder / name).glob("*.pdf"))
        job = base.documents.add_files([Upload(file.name, file.open("rb")) for file in files])
    else:
        base = workspace.create(name)
        job = base.documents.import_beir(folder / name, "test")
    workspace.jobs.run(job)
    if name == REPORTS:
        content = QUESTIONS_ON_REPORTS.read_bytes()
        base.questions.import_file(REPORTS, QUESTIONS_ON_REPORTS.name, content)
    return base


if __name__ == "__main__":
    chosen = sys.argv[3:] or COLLECTIONS
    for key, value in measured(Path(sys.argv[2]), Path(sys.argv[1]), chosen):
        sys.stdout.write(f"{value:8.4f}  {key}\n")
        sys.stdout.flush()
