"""The failures of a set on the Metrics page: causes, fixes, and one click to use a fix."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from rag import Workspace
from tests.pages.conftest import finished

OpenPage = Callable[..., AppTest]


def test_causes_and_fixes_are_shown_and_a_fix_is_applied(
    labelled: Workspace, open_page: OpenPage
) -> None:
    app = open_page("metrics.py", metrics="Failures", threshold="0.99")
    app.button(key="metrics_diagnose").click().run()
    assert finished(labelled, "diagnose").status == "done"
    app.run()
    diagnosis = labelled.base("notes").diagnoses.result("checks")
    assert diagnosis is not None
    assert any(diagnosis.headline in one.value for one in app.markdown)
    causes = next(table.value for table in app.dataframe if "What helps" in table.value)
    assert dict(zip(causes["Cause"], causes["Questions"], strict=True)) == {
        "Lost to the threshold": diagnosis.causes["threshold"]
    }
    (fix,) = diagnosis.trials.fixes
    assert fix.changes == {"search.threshold": 0.49}
    app.button(key="metrics_fix_0").click().run()
    assert app.query_params["threshold"] == "0.49"
    assert any("changed since this diagnosis" in one.value for one in app.warning)
