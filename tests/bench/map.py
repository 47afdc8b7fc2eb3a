"""The map of 50,000 passages: drawing it once, and looking at it afterwards.

``python -m rag bench --only map`` runs it, without a browser; filling the home takes a few minutes.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from pages.components.inspector.passage_map import Drawing, figure
from pages.components.shell.palette import LIGHT
from rag import Settings, Workspace
from tests.reruns import at_home, checked, invented, opened, timed, told

DOCUMENTS, WORDS_EACH = 500, 45
RERUNS = 10


def measure(_folder: Path, *, documents: int = DOCUMENTS, reruns: int = RERUNS) -> dict[str, float]:
    """Seconds of the first drawing; milliseconds of a look, whole and in parts; its megabytes."""
    with tempfile.TemporaryDirectory() as folder, at_home(folder):
        questions, drawing = fill(Path(folder), documents, reruns + 1)
        figures = {"first_drawing_s": drawing, **_parts(Path(folder), questions[0])}
        figures.update(_page(questions, reruns))
    return figures


def fill(home: Path, documents: int, asked: int) -> tuple[list[str], float]:
    """Documents of invented words with their map; questions, and the seconds of the drawing."""
    workspace, base, questions = invented(home, documents, WORDS_EACH, asked)
    clock = time.perf_counter()
    workspace.jobs.run(base.maps.draw(base.recipe().index))
    seconds = time.perf_counter() - clock
    workspace.close()
    return questions, seconds


def _parts(home: Path, question: str) -> dict[str, float]:
    """A fresh process: the index is loaded, the map is not."""
    workspace = Workspace(Settings.from_env({}, home=home))
    base = workspace.base("large")
    recipe = base.recipe()
    trace = base.search(question, recipe)
    with _Timed() as load:
        shown = base.maps.current(recipe.index)
    with _Timed() as place:
        placed = base.maps.place(recipe.index, shown, question)
    with _Timed() as draw:
        chart, _ = figure(Drawing(shown, placed, trace.hits, {}, None, "Document"), LIGHT)
        text = chart.to_json(validate=False)
    workspace.close()
    return {
        "passages": float(len(shown.keys)),
        "load_ms": load.milliseconds,
        "place_ms": place.milliseconds,
        "figure_ms": draw.milliseconds,
        "figure_mb": len(text) / 1e6,
    }


def _page(questions: list[str], reruns: int) -> dict[str, float]:
    """The inspector with the map open, as the server runs it after each new question."""
    app = opened("inspector.py", q=questions[0], view="Map")
    asked = timed(lambda at: app.text_input(key="q").set_value(questions[at]).run(), reruns)
    checked(app)
    if not any("The question lies among" in each.value for each in app.caption):
        raise RuntimeError("the map was not drawn")
    return told("question", asked)


class _Timed:
    """Milliseconds of a block."""

    def __enter__(self) -> _Timed:
        self._clock = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.milliseconds = 1000 * (time.perf_counter() - self._clock)
