"""What looking through past interactions adds to a question, and what recording one costs.

``python -m rag bench --only interactions`` runs it on the sample; it takes a minute.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from rag import KnowledgeBase, Recipe, Settings, Workspace

LOGGED = 200
REPEATED = 30


def measure(_folder: Path, *, logged: int = LOGGED, repeated: int = REPEATED) -> dict[str, float]:
    """Milliseconds with 200 logged interactions: median and the slowest of thirty questions.

    ``cpu`` are those of the processor, the others those on the clock.
    """
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Settings.from_env({}, home=Path(folder)))
        base, job = workspace.start_demo()
        workspace.jobs.run(job)
        recipe = base.recipe().with_fields({"answer.provider": "openai", "answer.memory": 3})
        sets = base.questions.list_all()
        asked = [each.text for held in sets for each in base.questions.labelled(held.name)]
        recorded = [_told(base, asked[n % len(asked)]) for n in range(logged)]
        added = [_timed(base, question, recipe) for question in asked[:repeated]]
        shown = sum(len(base.memory.examples(question, recipe)) for question in asked[:repeated])
        workspace.close()
    return {
        "logged": float(logged),
        "examples_per_question": shown / len(added),
        "looking_ms_median": statistics.median(wall for wall, _ in added),
        "looking_ms_slowest": max(wall for wall, _ in added),
        "looking_cpu_ms_median": statistics.median(cpu for _, cpu in added),
        "looking_cpu_ms_slowest": max(cpu for _, cpu in added),
        "conclude_ms_median": statistics.median(recorded),
    }


def _told(base: KnowledgeBase, question: str) -> float:
    """Asks, answers with quotes, and stores; the milliseconds that storing the end took."""
    recipe = base.recipe()
    turn = base.conversations.ask(base.conversations.open(None), question, recipe)
    answer = base.answer(base.search(question, recipe), recipe).answer
    start = time.perf_counter()
    base.conversations.conclude(turn, answer)
    return (time.perf_counter() - start) * 1000


def _timed(base: KnowledgeBase, question: str, recipe: Recipe) -> tuple[float, float]:
    base.search(question, recipe)  # which embeds the question, with memory or without
    start, began = time.perf_counter(), time.process_time()
    base.memory.examples(question, recipe)
    return (time.perf_counter() - start) * 1000, (time.process_time() - began) * 1000
