"""A rerun of the inspector's page on a knowledge base of 10,000 passages.

``python -m rag bench --only inspector`` runs it: the page's script with all of its elements, as the
server runs it after each input, without a browser. Processor time is told beside the time on the
clock, because a busy machine lengthens only the latter.
"""

from __future__ import annotations

import io
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from streamlit.testing.v1 import AppTest

from rag import Recipe, Settings, Upload, Workspace

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS, PASSAGES_EACH, WORDS_EACH, VOCABULARY = 100, 100, 90, 20_000
RERUNS = 40


def measure(_folder: Path) -> dict[str, float]:
    """Milliseconds at the median and the 95th percentile for a new question and for a new cut."""
    with tempfile.TemporaryDirectory() as folder, _at_home(folder):
        questions, passages = _filled(Path(folder))
        app = AppTest.from_file(str(ROOT / "pages" / "frame.py"), default_timeout=120)
        app.query_params["q"] = questions[0]
        app.run().switch_page("inspector.py").run()
        asked = _timed(lambda at: app.text_input(key="q").set_value(questions[at]).run())
        moved = _timed(lambda at: app.slider(key="threshold").set_value(at / 100).run())
        if app.exception:
            raise RuntimeError(app.exception[0].message)
    return {"passages": float(passages), **_told("question", asked), **_told("threshold", moved)}


def _timed(rerun: Callable[[int], object]) -> list[tuple[float, float]]:
    """Milliseconds of each rerun: on the clock, and of the processor."""
    found = []
    for at in range(1, RERUNS + 1):
        clock, processor = time.perf_counter(), time.process_time()
        rerun(at)
        found.append((time.perf_counter() - clock, time.process_time() - processor))
    return [(1000 * clock, 1000 * processor) for clock, processor in found]


def _told(name: str, found: list[tuple[float, float]]) -> dict[str, float]:
    clock, processor = np.array(found).T
    return {
        f"{name}_p50_ms": float(np.median(clock)),
        f"{name}_p95_ms": float(np.percentile(clock, 95)),
        f"{name}_processor_p95_ms": float(np.percentile(processor, 95)),
    }


def _filled(home: Path) -> tuple[list[str], int]:
    """Documents of invented words, and questions that use some of them."""
    dice = random.Random(3)
    words = ["".join(dice.choices("abcdefghijklmnoprstuvwz", k=7)) for _ in range(VOCABULARY)]
    workspace = Workspace(Settings.from_env({}, home=home))
    recipe = Recipe().with_fields({"index.embedder": "wordllama", "index.chunk_size": 450})
    base = workspace.create("large", recipe)
    texts = (
        "\n\n".join(" ".join(dice.choices(words, k=WORDS_EACH)) for _ in range(PASSAGES_EACH))
        for _ in range(DOCUMENTS)
    )
    uploads = [Upload(f"{at}.txt", io.BytesIO(text.encode())) for at, text in enumerate(texts)]
    workspace.jobs.run(base.library.add_files(uploads))
    passages = base.search(words[0], recipe).passages
    workspace.close()
    return [" ".join(dice.choices(words, k=9)) for _ in range(RERUNS + 1)], passages


@contextmanager
def _at_home(folder: str) -> Iterator[None]:
    former = os.environ.get("TOUCHSTONE_HOME")
    os.environ["TOUCHSTONE_HOME"] = folder
    try:
        yield
    finally:
        os.environ.pop("TOUCHSTONE_HOME")
        if former is not None:
            os.environ["TOUCHSTONE_HOME"] = former
