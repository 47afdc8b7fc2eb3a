"""Pages say "probability" where the threshold is one, and what to do while there is none."""

from datetime import UTC, datetime

from rag import KnowledgeBase
from rag.evaluation.calibration import Calibration
from rag.storage import registries
from rag.storage.registries import CalibrationRow
from tests.handbook import LEAVE, texts, visit


def _learn(base: KnowledgeBase, intercept: float = -3.0) -> None:
    """A calibration by hand: a fit needs more labels than the handbook has."""
    bm25 = {"k1": 1.2, "b": 0.75, "fuzzy": False, "prefix": False}
    model = Calibration({"cosine": 20.0, "bm25": 0.0}, intercept).to_dict() | {"bm25": bm25}
    scores = dict.fromkeys(("brier", "base_brier", "log_loss", "base_log_loss", "base_rate"), 0.1)
    quality = {"scores": scores, "bins": []}
    with base._database.write() as connection:
        row = CalibrationRow("q", 1, 30, model, quality, 0.6, datetime.now(UTC))
        registries.replace_calibration(connection, base.id, base.recipe().index.hash, row)


def test_the_inspector_speaks_of_probabilities(base):
    _learn(base)
    app = visit("inspector.py", q=LEAVE, by="Probability")
    assert "probability ≥ " in texts(app)
    assert "cosine ≥" not in texts(app)
    assert r"probability 0\." in texts(app)


def test_a_new_calibration_is_seen_at_once(base):
    _learn(base)
    for intercept, probability in ((-3.0, r"0\.047"), (-4.0, r"0\.018")):
        _learn(base, intercept)
        app = visit("inspector.py", q=LEAVE, by="Probability")
        app.button(key="inspector_more_threshold_button").click().run()
        assert rf"probability {probability} is below 0\.200" in texts(app)
    assert r"probability 0\.047" not in texts(app)


def test_without_a_calibration_the_page_says_what_to_do(base):
    app = visit("inspector.py", q=LEAVE, by="Probability")
    assert not app.exception
    assert "need a calibration" in texts(app)
