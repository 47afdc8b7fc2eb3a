"""A rerun of the tuning page with SciFact's 300 questions, after each move of a slider.

``python -m rag bench --only tuning`` runs it: the page's script with all of its elements, as the
server runs it, without a browser. Every move gives a recipe that was not measured before, so
nothing comes from a cache of figures. Passages are embedded with the fast model: what a move costs
does not depend on where vectors come from.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from streamlit.testing.v1 import AppTest

from rag import Recipe, Settings, Workspace
from tests.handbook import unfold
from tests.reruns import at_home, opened, timed, told, with_figures

MOVES = 15
CURVES = ("Threshold", "Weight", "Top-k", "Map", "Cost")


def measure(
    folder: Path, *, moves: int = MOVES, curves: Sequence[str] = CURVES
) -> dict[str, float]:
    """Milliseconds on the clock and of the processor, by slider, and by the curve shown."""
    with tempfile.TemporaryDirectory() as home, at_home(home):
        _filled(Path(home), folder / "scifact")
        app = with_figures(lambda: opened("tuning.py"))
        app.session_state["recipe_panel"] = True
        app = unfold(app)
        sliders = {
            "dense_weight": lambda at: _moved(app, "w", at / 20),
            "threshold": lambda at: _moved(app, "threshold", at / 50),
            "top_k": lambda at: _moved(app, "k", at),
            "k1": lambda at: _moved(app, "k1", round(0.2 + at / 10, 2)),
            "b": lambda at: _moved(app, "b", at / 20),
        }
        found = {}
        for name, move in sliders.items():
            found |= told(f"{name}_moved", timed(move, moves))
        for place, curve in enumerate(curves):
            app.session_state["curve"] = curve
            app.run()
            first = 0.3 + place / 200  # no weight twice
            times = timed(lambda at, first=first: _moved(app, "w", first + at / 40), moves)
            found |= told(f"dense_weight_moved_beside_{curve.lower()}", times)
    return found


def _moved(app: AppTest, slider: str, value: float) -> None:
    with_figures(lambda: app.slider(key=slider).set_value(value).run())


def _filled(home: Path, collection: Path) -> None:
    workspace = Workspace(Settings.from_env({}, home=home))
    recipe = Recipe().with_fields({"index.embedder": "wordllama", "index.chunker": "whole"})
    base = workspace.create("scifact", recipe)
    workspace.jobs.run(base.documents.import_beir(collection, "test"))
    workspace.close()
