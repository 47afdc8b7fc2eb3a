"""Timing of the reruns of a page's script after an input changes, for the benchmarks of pages."""

import io
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.components.shell import session
from pages.components.tuning import bench
from rag import KnowledgeBase, Recipe, Settings, Upload, Workspace

ROOT = Path(__file__).resolve().parents[1]
VOCABULARY, PASSAGES_EACH, WORDS_ASKED = 20_000, 100, 9


def opened(page: str, **query: str) -> AppTest:
    """A page of the dashboard, run once, without a browser."""
    app = AppTest.from_file(str(ROOT / "pages" / "frame.py"), default_timeout=300)
    for name, value in query.items():
        app.query_params[name] = value
    app.run().switch_page(page).run()
    return checked(app)


def checked(app: AppTest) -> AppTest:
    """The same, unless it failed."""
    if app.exception:
        raise RuntimeError(app.exception[0].message)
    return app


def with_figures(draw: Callable[[], AppTest]) -> AppTest:
    """A page that is drawn, and again when the candidates are there that it began to look for."""
    before = set(bench._under_way.values())
    app = checked(draw())
    begun = set(bench._under_way.values()) - before
    for fetch in begun:
        fetch.wait()
    return checked(app.run()) if begun else app


def timed(rerun: Callable[[int], object], reruns: int) -> list[tuple[float, float]]:
    """Milliseconds of each rerun, numbered from 1: on the clock, and of the processor."""
    found = []
    for at in range(1, reruns + 1):
        clock, processor = time.perf_counter(), time.process_time()
        rerun(at)
        found.append((time.perf_counter() - clock, time.process_time() - processor))
    return [(1000 * clock, 1000 * processor) for clock, processor in found]


def told(name: str, found: list[tuple[float, float]]) -> dict[str, float]:
    """Medians and 95th percentiles; a busy machine lengthens only what the clock says."""
    clock, processor = np.array(found).T
    return {
        f"{name}_p50_ms": float(np.median(clock)),
        f"{name}_p95_ms": float(np.percentile(clock, 95)),
        f"{name}_processor_p50_ms": float(np.median(processor)),
        f"{name}_processor_p95_ms": float(np.percentile(processor, 95)),
    }


def forget() -> None:
    """Forget the workspace that the pages opened, and what they cached."""
    session.opened.clear()
    st.cache_data.clear()


@contextmanager
def at_home(folder: str) -> Iterator[None]:
    """The dashboard keeps its data in a folder; what it opened there is closed and forgotten."""
    former = os.environ.get("TOUCHSTONE_HOME")
    os.environ["TOUCHSTONE_HOME"] = folder
    forget()
    try:
        yield
        session.opened().close()
    finally:
        forget()
        os.environ.pop("TOUCHSTONE_HOME")
        if former is not None:
            os.environ["TOUCHSTONE_HOME"] = former


def invented(
    home: Path, documents: int, words_each: int, questions: int
) -> tuple[Workspace, KnowledgeBase, list[str]]:
    """A home with documents of a hundred passages of invented words, and questions in them."""
    dice = random.Random(3)
    words = ["".join(dice.choices("abcdefghijklmnoprstuvwz", k=7)) for _ in range(VOCABULARY)]
    workspace = Workspace(Settings.from_env({}, home=home))
    recipe = {"index.embedder": "wordllama", "index.chunk_size": 5 * words_each}
    base = workspace.create("large", Recipe().with_fields(recipe))
    texts = (
        "\n\n".join(" ".join(dice.choices(words, k=words_each)) for _ in range(PASSAGES_EACH))
        for _ in range(documents)
    )
    uploads = [Upload(f"{at}.txt", io.BytesIO(text.encode())) for at, text in enumerate(texts)]
    workspace.jobs.run(base.documents.add_files(uploads))
    return workspace, base, [" ".join(dice.choices(words, k=WORDS_ASKED)) for _ in range(questions)]
