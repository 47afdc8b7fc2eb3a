"""The section Learned fusion of the page Tuning."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.tuning import learned_fusion
from rag import Workspace
from rag.storage.quality import learned_fusions
from rag.storage.quality.learned_fusions import LearnedFusionRow

OpenPage = Callable[..., AppTest]
HASH = "0123456789ab"


def _section(app: AppTest) -> str:
    return " ".join(one.value for one in [*app.caption, *app.markdown, *app.error])


def test_a_stored_fusion_is_used_and_too_few_labels_are_told(
    labelled: Workspace, open_page: OpenPage
) -> None:
    base = labelled.base("notes")
    comparison = {
        "metric": "ndcg@10",
        "differences": {"q1": 0.25, "q2": 0.25},
        "mean": 0.75,
        "baseline": 0.5,
        "interval": [0.1, 0.4],
        "raw_p": 0.004,
        "p": 0.004,
        "interval_95": [0.1, 0.4],
    }
    passports = [{"unit": "documents", "folds": 5, "comparison": comparison}]
    recipe = base.recipe()
    learned_with = {"index.embedder": recipe.index.embedder}
    model = {"kind": "linear", "weights": {"cosine": 1.0}}
    row = LearnedFusionRow(
        HASH, 0, "linear", "checks", 1, 60, model, learned_with, passports, datetime.now(UTC)
    )
    with labelled._services.database.write() as connection:
        learned_fusions.add(connection, base.id, row)
    app = open_page("tuning.py")
    assert not app.exception
    assert "unseen documents +0.250 (p = 0.004)" in _section(app)
    assert app.button(key="tuning_learn").disabled  # three labels are too few
    assert "needs 60 labelled questions" in _section(app)


@pytest.mark.parametrize(("needed", "disabled"), [(3, False), (4, True)])
def test_questions_without_a_label_are_not_learned_from(
    labelled: Workspace,
    open_page: OpenPage,
    monkeypatch: pytest.MonkeyPatch,
    needed: int,
    *,
    disabled: bool,
) -> None:
    """Three of the four questions have a label; the documents do not answer the fourth one."""
    monkeypatch.setattr(learned_fusion, "FEWEST_QUESTIONS", {"linear": needed, "trees": needed})
    app = open_page("tuning.py")
    assert app.button(key="tuning_learn").disabled == disabled
