"""The failures of a set on the Metrics page: causes, fixes, and one click to use a fix."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.recipe.working_recipe import STATE
from pages.components.runs import next_step
from pages.components.runs.diagnosis import _most_frequent
from pages.components.shell.text import plain
from rag import NextStep, Workspace
from rag.experiments.tuning.diagnosis.causes import Cause
from rag.services.services import Models
from tests.pages.conftest import fill, finished

OpenPage = Callable[..., AppTest]


def test_causes_and_fixes_are_shown_and_a_fix_is_applied(labelled, open_page):
    app = open_page("metrics.py", metrics="Failures", threshold="0.99")
    app.button(key="metrics_diagnose").click().run()
    assert finished(labelled, "diagnose").status == "done"
    app.run()
    diagnosis = labelled.base("notes").tuning.diagnoses.result("checks")
    assert any(diagnosis.headline in one.value for one in app.markdown)
    causes = next(table.value for table in app.dataframe if "What helps" in table.value)
    assert dict(zip(causes["Cause"], causes["Questions"], strict=True)) == {
        "Lost to the threshold": diagnosis.causes["threshold"]
    }
    assert "Each question counts under its first cause." in [one.value for one in app.caption]
    (fix,) = diagnosis.trials.fixes
    assert fix.changes == {"search.threshold": 0.49}
    app = open_page("metrics.py", metrics="Failures", threshold="0.99", temperature="0.7")
    assert fix.comparison.verdict == "undecided"
    assert app.button(key="metrics_fix_0").label == "Try it anyway"
    assert any("Within noise]" in one.value for one in app.markdown)
    gained = f"+{fix.comparison.difference:.3f} nDCG@10 {fix.comparison.basis}, within noise"
    assert any(one.value.startswith(gained) for one in app.markdown)
    assert fix.comparison.basis.endswith("held-out questions")
    app.button(key="metrics_fix_0").click().run()
    assert app.query_params["threshold"] == "0.49"
    (draft,) = app.session_state[STATE].values()
    assert draft.working.answer.temperature == 0.7  # a change of the visitor's own stays
    assert any(", the recipe changed. " in one.value for one in app.warning)
    assert [one for one in app.button if str(one.key).startswith("metrics_fix")] == []


def test_an_evaluated_change_shows_its_run_and_is_not_evaluated_again(labelled, open_page):
    base = labelled.base("notes")
    strict = base.recipe().with_fields({"search.threshold": 0.99})
    before = base.runs.evaluate("checks", strict).run
    app = _diagnosed(labelled, open_page)
    app.button(key="metrics_fix_run_0").click().run()
    finished(labelled, "evaluate")
    app.run()
    after = next(run for run in base.runs.list_all("checks") if run.id != before.id)
    assert [one.key for one in app.button if one.key == "metrics_fix_run_0"] == []
    said = [one.value for one in app.caption if one.value.startswith("Evaluated ")]
    assert len(said) == 1
    assert said[0].endswith(f": nDCG@10 {after.metrics['ndcg@10']:.3f}.")
    (link,) = [one for one in app.main.get("page_link") if one.value == "Compare on Runs"]
    assert after.id in link.proto.query_string
    assert before.id in link.proto.query_string


def test_no_cause_of_several_is_called_the_most_frequent(labelled):
    diagnosis = labelled.base("notes").tuning.diagnoses.diagnose(
        "checks", labelled.base("notes").recipe().with_fields({"search.threshold": 0.99})
    )
    failed = diagnosis.questions[:2]
    other = replace(failed[1], finding=replace(failed[1].finding, cause="not_found"))
    assert _most_frequent(replace(diagnosis, questions=(failed[0], other))) == ""


def test_labels_are_made_where_a_set_lacks_some_and_else_questions(labelled, open_page):
    app = _diagnosed(labelled, open_page)
    with pytest.raises(KeyError):
        app.button(key="metrics_label_more")
    app.button(key="metrics_add_more").click().run()
    assert app.query_params["metrics"] == "Question sets"
    labelled.base("notes").questions.add_question("checks", "Who has the keys?")
    app = _diagnosed(labelled, open_page)
    with pytest.raises(KeyError):
        app.button(key="metrics_add_more")
    app.button(key="metrics_label_more").click().run()
    assert app.title[0].value == "Inspector"


def _diagnosed(workspace: Workspace, open_page: OpenPage) -> AppTest:
    app = open_page("metrics.py", metrics="Failures", threshold="0.99")
    app.button(key="metrics_diagnose").click().run()
    assert finished(workspace, "diagnose").status == "done"
    return app.run()


@pytest.mark.parametrize(
    ("cause", "link"),
    [
        ("answered", "Threshold from labels, on Tuning"),
        ("missing", "Open Documents"),
        ("doubted", "Ask in the chat"),
        ("unexpected", "Ask in the chat"),
    ],
)
def test_advice_leads_to_the_place_where_it_is_followed(
    labelled, open_page, monkeypatch, cause, link
):
    advice = NextStep("advice", "2 of 3", "Do it.", None, None, causes=(cause,))
    monkeypatch.setattr(
        "rag.experiments.tuning.diagnosis.diagnosis.next_steps", lambda _basis: [advice]
    )
    app = _diagnosed(labelled, open_page)
    links = [one.value for one in app.main.get("page_link")]
    assert link in [*links, *(one.label for one in app.main.button)]


@pytest.mark.parametrize("cause", ["doubted", "unexpected"])
def test_a_question_with_a_wrong_answer_is_asked_in_a_new_conversation(
    labelled, open_page, monkeypatch, cause
):
    both: tuple[Cause, ...] = ("doubted", "unexpected")
    advice = NextStep("advice", "2 of 3", "Do it.", None, None, causes=both)
    monkeypatch.setattr(
        "rag.experiments.tuning.diagnosis.diagnosis.next_steps", lambda _basis: [advice]
    )
    asked = "Until when is unused leave kept?"
    monkeypatch.setattr(
        "pages.components.runs.diagnosis._first_failed", lambda _diagnosis, _cause: asked
    )
    app = _diagnosed(labelled, open_page)
    app.button(key=f"metrics_advice_ask_{cause}").click().run()
    assert app.title[0].value == "Chat"
    assert "Until when is unused leave kept\\?" in [element.value for element in app.markdown]


def test_what_next_names_a_confirmed_fix(labelled, open_page, monkeypatch):
    base = labelled.base("notes")
    monkeypatch.setattr(next_step, "ENOUGH_LABELLED", 1)
    names = [f"{letter}ellow{letter}" for letter in "bcdfghjklmnprstw"]
    job = fill(base, {f"{name}.md": f"The room {name} has a projector." for name in names})
    labelled.jobs.run(job)
    lines = [
        {
            "id": name,
            "text": f"What does {name} have?",
            "evidence": [{"document": f"{name}.md", "quote": f"The room {name} has a projector."}],
        }
        for name in names
    ]
    base.questions.import_file("checks", "x.jsonl", "\n".join(map(json.dumps, lines)))
    recipe = base.recipe().with_fields({"search.mode": "lexical", "search.threshold": 1.0})
    base.recipes.save(recipe)
    base.runs.evaluate("checks", recipe)
    labelled.jobs.run(base.tuning.diagnoses.start("checks", recipe))
    app = open_page("metrics.py", metrics="Failures")
    (line,) = [one.value for one in app.caption if one.value.startswith("**What next?**")]
    assert line == (
        "**What next?** Changing threshold gains +1.000 nDCG@10 on the 8 held-out questions of "
        "*checks*. *Apply* is below."
    )
    app = open_page("metrics.py", set="checks")
    app.button(key="frame_next_go").click().run()
    assert not app.error
    assert app.query_params["metrics"] == "Failures"
    assert any("What should I do next?" in one.value for one in app.header)
    failed = next(table for table in app.dataframe if "Evidence" in table.value)
    question = json.loads(failed.proto.columns)["Question"]
    assert (question["pinned"], question["width"]) == (True, 220)


def test_a_stored_diagnosis_advises_a_reranker_once_one_is_set_up(labelled, open_page, monkeypatch):
    _diagnosed(labelled, open_page)
    diagnoses = labelled.base("notes").tuning.diagnoses
    for here, advice in (
        (False, "Change the fusion."),
        (True, "Add a reranker, or change the fusion."),
    ):
        monkeypatch.setattr(Models, "can_rerank", lambda _models, _recipe, here=here: here)
        stored = diagnoses.result("checks")
        assert stored.advice("ranked_low") == advice


def test_long_evidence_is_short_in_its_row_and_whole_below(labelled, open_page, monkeypatch):
    app = _diagnosed(labelled, open_page)
    evidence = (
        labelled.base("notes").tuning.diagnoses.result("checks").questions[0].finding.evidence
    )
    assert len(evidence) < 96
    monkeypatch.setattr("pages.components.runs.diagnosis._EVIDENCE", 30)
    app.run()
    failed = next(table for table in app.dataframe if "Evidence" in table.value)
    assert max(failed.value["Evidence"].map(len)) <= 30
    assert (failed.value["Evidence"][0][-1], failed.proto.row_height) == ("…", 66)
    (whole,) = (one for one in app.expander if one.label == "Evidence in full")
    assert any(plain(evidence) in one.value for one in whole.markdown)
    widths = {name: one.get("width") for name, one in json.loads(failed.proto.columns).items()}
    assert widths["Document"] == 220  # a name of thirty letters stays whole


def test_both_tables_of_questions_have_the_metric_by_which_they_fail(labelled, open_page):
    base = labelled.base("notes")
    base.runs.evaluate("checks", base.recipe().with_fields({"search.threshold": 0.99}))
    app = _diagnosed(labelled, open_page)
    failed = next(table.value for table in app.dataframe if "Evidence" in table.value)
    listed = open_page("metrics.py", threshold="0.99").dataframe[-1].value
    (scored,) = [name for name in failed if name.startswith("nDCG")]
    assert scored == f"nDCG@{base.recipe().search.top_k}"
    scores = dict(zip(listed["Question"], listed[scored], strict=True))
    assert list(failed[scored]) == [scores[text] for text in failed["Question"]]
