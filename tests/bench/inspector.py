"""A rerun of the inspector's page on a knowledge base of 10,000 passages.

``python -m rag bench --only inspector`` runs it: the page's script with all of its elements, as the
server runs it after each input, without a browser. Processor time is told beside the time on the
clock, because a busy machine lengthens only the latter.
"""

import tempfile
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.reruns import at_home, checked, invented, opened, timed, told

DOCUMENTS, WORDS_EACH = 100, 90
RERUNS = 40
VIEWS, RERUNS_OF_A_VIEW = ("What if", "Compare", "Map"), 15


def measure(
    _folder: Path,
    *,
    documents: int = DOCUMENTS,
    reruns: int = RERUNS,
    reruns_of_a_view: int = RERUNS_OF_A_VIEW,
) -> dict[str, float]:
    """Milliseconds at the median and the 95th percentile for a new question and for a new cut.

    Then for a new question with a view open that explains: with a text to be found, and with
    another recipe beside, and on the map.
    """
    with tempfile.TemporaryDirectory() as folder, at_home(folder):
        asked = reruns + 1 + len(VIEWS) * reruns_of_a_view
        questions, passages = _filled(Path(folder), documents, asked)
        app = opened("inspector.py", q=questions[0])
        changed = timed(lambda at: app.text_input(key="q").set_value(questions[at]).run(), reruns)
        moved = timed(lambda at: app.slider(key="threshold").set_value(at / 100).run(), reruns)
        figures = {**told("question", changed), **told("threshold", moved)}
        for place, view in enumerate(VIEWS, start=1):
            figures |= _with_view(
                app, view, questions[-reruns_of_a_view * place :], reruns_of_a_view
            )
        checked(app)
    return {"passages": float(passages), **figures}


def _with_view(app: AppTest, view: str, questions: list[str], reruns: int) -> dict[str, float]:
    """What a new question costs while a view is open that explains it."""
    app.segmented_control(key="view").set_value(view).run()
    if view == "What if":
        app.text_input(key="missing").set_value(questions[-1]).run()

    def ask(at: int) -> None:
        app.text_input(key="q").set_value(questions[at - 1]).run()

    return told(f"question, {view.lower()}", timed(ask, reruns))


def _filled(home: Path, documents: int, asked: int) -> tuple[list[str], int]:
    """Questions about documents of invented words with their map, and how many passages."""
    workspace, base, questions = invented(home, documents, WORDS_EACH, asked)
    workspace.jobs.run(base.maps.draw(base.recipe().index))
    passages = base.search(questions[0], base.recipe()).passages
    workspace.close()
    return questions, passages
