"""Seconds from starting the dashboard to a first metric on own documents, in a real browser.

``python -m rag bench --only first_metric`` serves an empty home, makes a knowledge base, uploads
documents, imports questions with the documents that answer them, and evaluates, as quickly as a
script clicks. Each step waits for what a user would wait for.
"""

from __future__ import annotations

import csv
import json
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.waiting import LONG
from tests.dashboard import serving

COLLECTION, DOCUMENTS = "xquad_en", 40
_WHEN = ("listening", "documents added", "questions imported", "first metric")


def measure(
    folder: Path, *, collection: str = COLLECTION, documents: int = DOCUMENTS
) -> dict[str, float]:
    """Seconds since the start after each step, nDCG@10, and the number of documents."""
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        files = _written(folder / collection, Path(scratch), documents)
        expect.set_options(timeout=LONG)
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        start = time.perf_counter()
        with serving(Path(scratch) / "home") as address:
            reached = [time.perf_counter()]
            _add_documents(page, address, files)
            reached.append(time.perf_counter())
            _import_questions(page, Path(scratch) / "questions.jsonl")
            reached.append(time.perf_counter())
            value = _evaluate(page)
            reached.append(time.perf_counter())
        chromium.close()
    figures = {name: at - start for name, at in zip(_WHEN, reached, strict=True)}
    return figures | {"nDCG@10": value, "documents": len(files)}


def _written(collection: Path, folder: Path, documents: int) -> list[Path]:
    """Write the first documents as files, and their questions as ``questions.jsonl``."""
    files = []
    for row in _rows(collection / "corpus.jsonl")[:documents]:
        file = folder / f"{row['_id']}.md"
        file.write_text(f"# {row['title']}\n\n{row['text']}\n", encoding="utf-8")
        files.append(file)
    present = {file.stem for file in files}
    texts = {row["_id"]: row["text"] for row in _rows(collection / "queries.jsonl")}
    with (collection / "qrels" / "test.tsv").open(encoding="utf-8") as qrels:
        labels = [
            row for row in csv.DictReader(qrels, delimiter="\t") if row["corpus-id"] in present
        ]
    lines = [
        json.dumps(
            {
                "id": label["query-id"],
                "text": texts[label["query-id"]],
                "evidence": [{"document": f"{label['corpus-id']}.md"}],
            }
        )
        for label in labels
    ]
    (folder / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return files


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _add_documents(page: Page, address: str, files: list[Path]) -> None:
    page.goto(f"{address}/upload")
    page.get_by_role("button", name="New", exact=True).click()
    page.get_by_role("textbox", name="Name").fill("own")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**kb=own*")
    page.locator("input[type=file]").first.set_input_files(files)
    page.get_by_role("button", name=f"Add {len(files)} files").click()
    page.get_by_role("heading", name=f"{len(files)} documents").wait_for()


def _import_questions(page: Page, file: Path) -> None:
    page.get_by_role("link", name="Metrics").click()
    page.get_by_role("button", name="Import").first.click()
    page.get_by_role("dialog").locator("input[type=file]").set_input_files(file)
    page.get_by_role("dialog").get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("button", name="Evaluate").wait_for()


def _evaluate(page: Page) -> float:
    page.get_by_role("button", name="Evaluate").click()
    shown = page.get_by_test_id("stMetricValue").first
    shown.wait_for()
    return float(shown.inner_text())
