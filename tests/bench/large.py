"""Pages of a home with 201 knowledge bases, of which one has 10,000 documents and 5,000 questions.

``python -m rag bench --only large`` runs it: every page's script with all of its elements, as the
server runs it, without a browser; opened for the first time in a process, and then run again. Told
in milliseconds of the processor, which a busy machine does not stretch. Questions are of one
wording, ten documents are of one subject, and vectors are those of the fake embedder: what a page
costs does not depend on where vectors come from. ``LARGE_HOME`` names a folder that keeps the data
for the next run.
"""

import json
import os
import random
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from streamlit.testing.v1 import AppTest

from pages.components.tuning import bench
from rag import QuestionResult, Recipe, Run, Settings, Workspace
from rag.storage import runs
from tests.reruns import ROOT, at_home, checked, timed

PAGES = (
    *("documents", "chat", "inspector", "metrics", "tuning", "runs"),
    *("usage", "settings"),
)
BASES, DOCUMENTS, QUESTIONS, SUBJECTS = 201, 10_000, 5_000, 1_000
RERUNS = 5
RECIPE = {"index.embedder": "fake", "index.chunker": "whole", "search.threshold": None}
SAID = "The price of the product number {} is {} euros. It is delivered from store {} in {} days."


def measure(
    _folder: Path,
    *,
    pages: Sequence[str] = PAGES,
    bases: int = BASES,
    documents: int = DOCUMENTS,
    questions: int = QUESTIONS,
) -> dict[str, float]:
    """Milliseconds of the processor by page: opened, and the median of five reruns."""
    with tempfile.TemporaryDirectory() as folder:
        home = os.environ.get("LARGE_HOME", folder)
        if not (Path(home) / "touchstone.db").exists():
            _fill(Path(home), bases, documents, questions)
        with at_home(home):
            found: dict[str, float] = {}
            for page in pages:
                found |= _timed(page)
    return found


def _timed(page: str) -> dict[str, float]:
    app = AppTest.from_file(str(ROOT / "pages" / "frame.py"), default_timeout=600)
    app.query_params["kb"] = "large"
    app.run()
    [(_, first)] = timed(lambda _: checked(app.switch_page(f"{page}.py").run()), 1)
    found = {f"{page} | opened": first}
    if page == "tuning":
        [(_, rest)] = timed(lambda _: _wait_for_figures(app), 1)
        found[f"{page} | until its figures are there"] = rest
    again = [processor for _, processor in timed(lambda _: checked(app.run()), RERUNS)]
    return found | {f"{page} | rerun": statistics.median(again)}


def _wait_for_figures(app: AppTest) -> AppTest:
    """The thread that finds candidates, and the run that draws what follows from them."""
    for fetch in list(bench._under_way.values()):
        fetch.wait()
    return checked(app.run())


def _fill(home: Path, bases: int, documents: int, asked: int) -> None:
    """A home with all of it, made by the jobs that a user would start."""
    workspace = Workspace(Settings.from_env({}, home=home))
    recipe = Recipe().with_fields(RECIPE)
    base = workspace.create("large", recipe)
    for number in range(1, bases):
        workspace.create(f"small {number:03}", recipe)
    with tempfile.TemporaryDirectory() as folder:
        _write_collection(Path(folder), documents, asked)
        workspace.jobs.run(base.documents.import_beir(Path(folder), "test"))
    [questions] = base.questions.list_all()
    workspace.jobs.run(base.runs.start_evaluation(questions.name, recipe))
    [run] = base.runs.list_all()
    results = base.runs.results(run.id)
    for weight in (0.3, 0.7):  # with figures of their own: an evaluation takes a minute
        tried = run.recipe.with_fields({"search.dense_weight": weight})
        with workspace._services.database.write() as connection:
            runs.insert_run(connection, *_copied(run, results, tried))
    workspace.close()


def _copied(
    run: Run, results: Sequence[QuestionResult], recipe: Recipe
) -> tuple[Run, list[QuestionResult]]:
    """A run of another recipe, in which every seventh question came to nothing."""
    failed = [
        replace(result, metrics=dict.fromkeys(result.metrics, 0.0)) if at % 7 == 0 else result
        for at, result in enumerate(results)
    ]
    return replace(run, id=recipe.hash[:12], recipe=recipe), failed


def _write_collection(folder: Path, number: int, questions: int) -> None:
    dice = random.Random(3)
    documents = [
        {"_id": f"d{at}", "title": "", "text": SAID.format(at, at * 7 % 991, at % SUBJECTS, at % 9)}
        for at in range(number)
    ]
    asked = dice.sample(range(number), questions)
    queries = [
        {"_id": f"q{at}", "text": f"What is the price of the product number {at}?"} for at in asked
    ]
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = "\n".join(map(json.dumps, rows))
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    (folder / "qrels").mkdir()
    judged = [f"q{at}\td{at}\t1" for at in asked]
    text = "\n".join(["query-id\tcorpus-id\tscore", *judged])
    (folder / "qrels" / "test.tsv").write_text(text, "utf-8")
