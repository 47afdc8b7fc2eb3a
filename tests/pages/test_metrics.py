"""The Metrics page: evaluating, figures, changes, failures, question sets."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.labels.question_sets import EXAMPLES
from pages.components.labels.question_sets_view import read_rows
from pages.components.metrics.cards import refusals_card
from pages.components.metrics.charts import rank_counts, rank_takeaway
from pages.components.metrics.failures import headline, score, worst_first
from pages.components.shell.text import plain
from rag import LabelledQuestion, ProviderUnavailable, QuestionResult, Workspace
from rag.library.questions import generate_job
from tests.pages.conftest import finished, questions_file

OpenPage = Callable[..., AppTest]


def evaluated(workspace: Workspace) -> dict[str, float]:
    base = workspace.base("notes")
    return dict(base.runs.evaluate("checks", base.recipe()).run.metrics)


def _cards(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def test_evaluate_shows_the_figures_of_the_stored_run(labelled, open_page):
    app = open_page("metrics.py")
    assert not app.metric
    app.button(key="metrics_evaluate").click().run()
    assert finished(labelled, "evaluate").status == "done"
    app.run()
    (run,) = labelled.base("notes").runs.list_all()
    assert _cards(app) == {
        "nDCG@10": f"{run.metrics['ndcg@10']:.3f}",
        "MRR@10": f"{run.metrics['mrr@10']:.3f}",
        "Recall@10": f"{run.metrics['recall@10']:.3f}",
        "Precision@5": f"{run.metrics['precision@5']:.3f}",
        "Rightly unanswered": f"{run.metrics['correct_doubt']:.0%}",
    }
    assert [metric.delta for metric in app.metric] == [""] * 5


@pytest.mark.parametrize(
    ("metrics", "metric", "label"),
    [
        (
            {"correct_refusal": 0.1, "correct_doubt": 0.75},
            "correct_doubt",
            "Rightly unanswered",
        ),
        ({"correct_refusal": 0.1}, "correct_refusal", "Refused by the search"),
        ({}, "correct_refusal", "Rightly unanswered"),
    ],
)
def test_the_card_of_refusals_is_named_after_what_it_counts(labelled, metrics, metric, label):
    base = labelled.base("notes")
    run = base.runs.evaluate("checks", base.recipe()).run
    card = refusals_card(replace(run, metrics=metrics))
    assert (card.metric, card.label) == (metric, label)


def test_the_table_has_every_measure_at_every_k(labelled, open_page):
    figures = evaluated(labelled)
    table = open_page("metrics.py").dataframe[0].value.set_index("Measure")
    assert list(table.columns) == ["@1", "@3", "@5", "@10", "@20", "@100"]
    assert table.loc["Recall", "@3"] == figures["recall@3"]
    assert table.loc["MAP", "@100"] == figures["map@100"]


def test_figures_stand_by_tag(labelled, open_page):
    base = labelled.base("notes")
    base.questions.edit_question("checks", "q1", tags=["codes"])
    found = base.runs.evaluate("checks", base.recipe()).results
    own = next(each.metrics for each in found if each.question_id == "q1")
    table = open_page("metrics.py").dataframe[1].value.set_index("Tag")
    assert table.loc["codes", "Questions"] == 1
    assert table.loc["codes", "nDCG@10"] == own["ndcg@10"]
    assert table.loc["codes", "MRR@10"] == own["mrr@10"]


def test_hits_that_nobody_judged_leave_the_figures_open(labelled, open_page):
    base = labelled.base("notes")
    run = base.runs.evaluate("checks", base.recipe().with_fields({"search.threshold": None})).run
    found = base.runs.unjudged(run.id)
    assert found.unjudged > 0
    app = open_page("metrics.py")
    helps = {card.label: card.proto.help for card in app.metric}
    assert f"{found.ndcg.low:.2f} to {found.ndcg.high:.2f}" in helps["nDCG@10"]
    assert "to 0.20." in helps["Precision@5"]  # a question of this set has one relevant passage
    (open_hits,) = (each.value for each in app.caption if "not judged" in each.value)
    assert f"{found.unjudged} ({found.share:.0%})" in open_hits
    assert f"between {found.ndcg.low:.3f} and {found.ndcg.high:.3f}" in open_hits


def test_the_page_opens_with_how_often_a_right_passage_comes_first(labelled, open_page):
    base = labelled.base("notes")
    results = base.runs.evaluate("checks", base.recipe()).results
    ranks = [result.first_relevant for result in results if result.relevant]
    first, five = (sum(rank is not None and rank <= k for rank in ranks) for k in (1, 5))
    app = open_page("metrics.py")
    (said,) = (each.value for each in app.markdown if each.value.startswith("##### "))
    assert re.search(rf" {first} of {len(ranks)} questions,.* {five}\.", said)
    app.button(key="metrics_causes_open").click().run()
    assert app.query_params["metrics"] == "Failures"


@pytest.mark.parametrize(
    ("found", "badge"), [(9, "green"), (8, "orange"), (7, "orange"), (6, "red")]
)
def test_a_search_has_the_grade_of_what_is_among_the_first_five(labelled, found, badge):
    base = labelled.base("notes")
    run = base.runs.evaluate("checks", base.recipe()).run
    (result, *_) = (item for item in base.runs.results(run.id) if item.relevant)
    ranks = [*[5] * found, None, *[6] * (9 - found)]
    said = headline(run, [replace(result, first_relevant=rank) for rank in ranks], "passage")
    assert said.startswith(f":{badge}-badge[")


def test_the_next_step_is_the_button_that_draws_the_eye(labelled, open_page):
    base = labelled.base("notes")
    base.runs.evaluate("checks", base.recipe())

    def primary(app):
        return [each.label for each in app.main.button if each.proto.type == "primary"]

    assert primary(open_page("metrics.py")) == ["See why questions fail"]
    assert primary(open_page("metrics.py", threshold="0.9")) == ["Evaluate"]


def test_figures_of_another_recipe_say_so(labelled, open_page):
    base = labelled.base("notes")
    evaluated(labelled)
    base.recipes.save(base.recipe().with_fields({"search.mode": "dense"}))
    app = open_page("metrics.py")
    assert "the recipe changed" in app.warning[0].value


def test_tags_make_only_runs_that_filter_by_them_old(labelled, open_page):
    base = labelled.base("notes")
    name = base.documents.documents(base.recipe().index)[0].name
    evaluated(labelled)
    base.documents.tag(name, ["policy"])
    assert not open_page("metrics.py").warning
    base.recipes.save(base.recipe().with_fields({"search.tags": ["policy"]}))
    evaluated(labelled)
    assert not open_page("metrics.py").warning
    base.documents.tag(name, [])
    assert [warning.value for warning in open_page("metrics.py").warning] == [
        "Since this run, the tags that the recipe filters by changed. Evaluate to update the "
        "metrics."
    ]


def test_questions_are_listed_failures_first(labelled, open_page):
    base = labelled.base("notes")
    base.recipes.save(base.recipe().with_fields({"search.threshold": None}))
    evaluated(labelled)
    drawn = open_page("metrics.py").dataframe[-1]
    table, columns = drawn.value, json.loads(drawn.proto.columns)
    assert table["Question"][0] == "Who won the world cup in 1954?"
    assert table["Answer"][0] == "not answered, rightly"
    assert (columns["Tags"]["width"], columns["Answer"]["width"]) == (110, 150)
    assert (columns["Question"]["pinned"], columns["Question"]["width"]) == (True, 220)
    scores = table["nDCG@5"].tolist()
    assert scores[0] is None or math.isnan(scores[0])  # it has no answer to rank
    assert scores[1:] == sorted(scores[1:])
    filtered = open_page("metrics.py", tag="pump.txt").dataframe[-1].value
    assert list(filtered["Question"]) == ["Why does the pump make a grinding noise?"]


def test_nothing_is_tuned_by_refusals_alone(labelled, open_page):
    line = '{"id": "u", "text": "Who won in 1954?", "answerable": false}'
    labelled.base("notes").questions.import_file("refusals", "refusals.jsonl", line)
    app = open_page("metrics.py", set="refusals")
    assert "1 question, 1 of them without an answer" in "".join(each.value for each in app.caption)
    tuning = open_page("tuning.py", set="refusals")
    assert not tuning.error
    assert any("has a labelled passage" in each.value for each in tuning.markdown)


def test_without_questions_there_are_three_ways(filled, open_page):
    app = open_page("metrics.py")
    assert app.button(key="documents_sample").label == "Load the sample"
    assert app.button(key="metrics_import").label == "Import questions"
    assert app.button(key="questions_make").label == "Make questions"
    assert [link.value for link in app.get("page_link")] == ["Open the inspector"]


def test_questions_are_imported_from_a_file(filled, open_page):
    app = open_page("metrics.py")
    app.button(key="metrics_import").click().run()
    assert [b.label for b in app.get("download_button")] == ["Example JSONL", "Example CSV"]
    (uploader,) = app.get("file_uploader")
    types = [".xlsx", ".csv", ".tsv", ".txt", ".jsonl", ".zip", ".qrels"]
    assert list(uploader.proto.type) == types
    assert any("a column *answer*" in one.value for one in app.caption)


@pytest.mark.parametrize("form", sorted(EXAMPLES))
def test_the_example_of_a_question_file_has_an_expected_answer(labelled, form):
    base = labelled.base("notes")
    base.questions.import_file("example", f"example.{form}", EXAMPLES[form])
    listed = {item.text: item.answer for item in base.questions.usable("example")}
    assert listed == {"How long is the warranty?": "24 months", "Who won the 1954 world cup?": ""}


def _picking() -> None:
    import streamlit as st

    from pages.components.labels.question_sets import column_pickers
    from rag import QuestionTable

    rows = (("What may a hotel cost?", "travel.txt"),)
    picked = column_pickers(QuestionTable(("Frage", "Document"), rows, {"document": "Document"}))
    st.json(picked)


def test_columns_of_an_imported_table_are_picked_below_its_first_rows():
    app = AppTest.from_function(_picking).run()
    assert app.dataframe[0].value.to_dict("records") == [
        {"Frage": "What may a hotel cost?", "Document": "travel.txt"}
    ]
    assert [each.value for each in app.selectbox] == [
        *["(none)"] * 3,
        "Document",
        *["(none)"] * 4,
    ]
    app.selectbox[0].set_value("Frage").run()
    assert json.loads(app.json[0].value) == {"question": "Frage"}


def _picking_a_likely_column() -> None:
    import streamlit as st

    from pages.components.labels.question_sets import column_pickers
    from rag import QuestionTable

    rows = (("What may a hotel cost?", "$120", "yes"),)
    columns = "question", "reference", "has_answer"
    st.json(column_pickers(QuestionTable(columns, rows, {"question": "question"})))


def test_a_column_that_is_probably_a_field_is_picked_for_it():
    app = AppTest.from_function(_picking_a_likely_column).run()
    assert [each.value for each in app.selectbox][:3] == ["question", "reference", "has_answer"]
    assert json.loads(app.json[0].value) == {"answer": "reference", "answerable": "has_answer"}


def test_lost_labels_are_listed(labelled, open_page):
    base = labelled.base("notes")
    gone = [d.id for d in base.documents.documents(base.recipe().index) if d.name == "pump.txt"]
    base.documents.delete_documents(gone)
    lost = open_page("metrics.py").dataframe[0].value
    assert lost.to_dict("records") == [
        {
            "Question": "q2",
            "Document": "pump.txt",
            "Page": None,
            "Words": "when its bearing is dry",
        }
    ]
    ((_, label),) = base.questions.lost_labels("checks")
    app = open_page("inspector.py", q="Why does the pump make a grinding noise?", set="checks")
    app.button(key=f"lost_label_{label.id}").click().run()
    app.button(key="lost_label_move").click().run()
    assert not app.exception
    assert base.questions.lost_labels("checks") == []
    (moved,) = base.questions.labelled("checks")[1].labels
    assert (moved.id, moved.quote, moved.grade) == (
        label.id,
        "Sick leave is reported before ten in the morning by telephone.",
        label.grade,
    )


def _result(
    key: str, ndcg: float, first: int | None, *, answerable: bool = True, ranked: bool = True
) -> QuestionResult:
    return QuestionResult(
        question_id=key,
        text=key,
        tags=(),
        answerable=answerable,
        metrics={"ndcg@10": ndcg} if answerable else {},
        ranking=(("p", 0.5, 0),) if ranked else (),
        first_relevant=first,
        found=0,
        relevant=int(answerable),
    )


def test_the_worst_question_stands_first():
    results = [
        _result("good", 0.9, 1),
        _result("deep", 0.0, 30),
        _result("lost", 0.0, None),
        _result("refused", 0.0, None, answerable=False, ranked=False),
        _result("fooled", 0.0, None, answerable=False),
    ]
    assert [one.text for one in worst_first(results)] == [
        "lost",
        "fooled",
        "deep",
        "good",
        "refused",
    ]
    assert score(results[3]) == 1.0


def test_a_value_that_a_run_lacks_has_its_reason(labelled, open_page):
    base = labelled.base("notes")
    base.runs.evaluate("checks", base.recipe(), (3,))
    app = open_page("metrics.py")
    shown = {card.label: card.value for card in app.metric}
    assert shown["Precision@5"] == "–"
    assert any("not measured at 5" in caption.value for caption in app.caption)


def test_first_ranks_are_counted_in_bands():
    firsts = [1, 1, 3, 5, 10, 21, None]
    results = [_result("q", 0.5, first) for first in firsts]
    results.append(_result("unanswerable", 0.0, None, answerable=False))
    results.append(replace(_result("cut", 0.0, None), cut_rank=1))
    counts = rank_counts(results)
    assert counts == {
        "1": 2,
        "2": 0,
        "3": 1,
        "4–5": 1,
        "6–10": 1,
        "11–20": 0,
        "21+": 1,
        "cut by the threshold": 1,
        "not found": 1,
    }
    assert rank_takeaway(counts, 100) == (
        "2 of 8 questions have a relevant passage at rank 1; 1 has none among the first 100. "
        "The threshold cuts it for 1."
    )


def _press_both(app: AppTest, opener: str, inside: str) -> None:
    """A button in a dialog: a rerun of the whole page, as here, closes one that is not opened."""
    app.button(key=opener).click().run()
    app.button(key=opener).click()
    app.button(key=inside).click().run()


def test_a_set_gets_another_name_and_keeps_its_run(labelled, open_page):
    figures = evaluated(labelled)
    app = open_page("metrics.py", metrics="Question sets")
    app.button(key="set_manage").click().run()
    assert app.button(key="set_rename").disabled
    app.text_input(key="set_name").set_value(" spot checks ")
    _press_both(app, "set_manage", "set_rename")
    assert not app.exception
    assert [item.name for item in labelled.base("notes").questions.list_all()] == ["spot checks"]
    assert app.selectbox(key="set").value == "spot checks"
    assert list(app.dataframe[0].value["Name"]) == ["spot checks"]
    app = open_page("metrics.py")
    assert _cards(app)["MRR@10"] == f"{figures['mrr@10']:.3f}"


def test_a_set_is_deleted_only_after_a_second_look(labelled, open_page):
    app = open_page("metrics.py", metrics="Question sets")
    app.button(key="set_manage").click().run()
    assert app.button(key="set_delete").disabled
    app.checkbox(key="set_sure").check()
    _press_both(app, "set_manage", "set_delete")
    assert not app.exception
    assert labelled.base("notes").questions.list_all() == []
    assert "in three ways" in "\n".join(each.value for each in app.markdown)


def test_a_set_is_chosen_in_the_table(labelled, open_page):
    labelled.base("notes").questions.import_file("more", "more.jsonl", questions_file())
    app = open_page("metrics.py", metrics="Question sets", set="checks")
    table = app.dataframe[0].value
    assert list(table["Name"]) == ["checks", "more"]
    assert list(table["Questions"]) == [4, 4]
    assert list(table["Answerable"]) == [3, 3]
    app.session_state["metrics_next_set"] = "more"
    app.run()
    assert app.selectbox(key="set").value == "more"
    assert app.subheader[0].value == "more"


def test_rows_of_the_table_become_questions():
    rows = [
        {"id": "q1", "Question": "Changed?", "Answerable": True, "Tags": "a; b;"},
        {"id": None, "Question": "New?", "Answerable": None, "Tags": None},
        {"id": None, "Question": None, "Answerable": True, "Tags": ""},
    ]
    assert read_rows(rows) == [
        LabelledQuestion("q1", "Changed?", True, ("a", "b")),
        LabelledQuestion("", "New?", True, ()),
    ]


def test_questions_are_made_and_wait_for_a_decision(labelled, open_page):
    base = labelled.base("notes")
    app = open_page("metrics.py", metrics="Question sets")
    app.button(key="questions_make").click().run()
    app.button(key="questions_make_go").click().run()
    assert finished(labelled, "generate").status == "done"
    assert base.questions.proposals("checks") == []  # made questions do not mix with one's own
    waiting = base.questions.proposals("made questions")
    assert waiting
    app = open_page("metrics.py")
    assert app.selectbox(key="set").value == "checks"  # not a set of proposals alone
    app = open_page("metrics.py", set="made questions")
    assert app.button(key="metrics_evaluate").disabled
    assert "*checks* has 3 labelled questions" in "\n".join(
        caption.value for caption in app.caption
    )
    app = open_page("metrics.py", metrics="Question sets", set="made questions")
    table = next(shown.value for shown in app.dataframe if "Leak" in shown.value)
    assert list(table["Question"]) == [item.text for item in waiting]
    assert list(table["Words that answer"]) == [item.labels[0].quote for item in waiting]
    assert min(item.leak or 0.0 for item in waiting) >= 0.5
    assert app.button(key="questions_accept").disabled  # no row is ticked


def test_questions_that_could_not_be_made_say_why(labelled, open_page):
    base = labelled.base("notes")
    for _ in range(2):
        base.questions.request_proposals("more", ["cloze"], 500, base.recipe())
        made = finished(labelled, "generate")
    assert made.message.endswith(" could not be made")
    app = open_page("metrics.py", metrics="Question sets", set="more")
    (reason,) = [text.value for text in app.caption if "could not be made" in text.value]
    assert reason == (
        f"{plain(made.message)}. "
        + plain("No passage is left to make a question from. Add documents, or try another seed.")
    )


def test_a_job_that_makes_no_questions_says_why(labelled, open_page, monkeypatch):
    base = labelled.base("notes")

    def unreachable(*_: object) -> None:
        raise ProviderUnavailable("The model cannot be reached.", "Start it.")

    monkeypatch.setattr(generate_job, "cut_question", unreachable)
    base.questions.request_proposals("more", ["cloze"], 1, base.recipe())
    assert finished(labelled, "generate").status == "failed"
    app = open_page("metrics.py", metrics="Question sets", set="more")
    (error,) = app.error
    assert error.value.startswith("**Making 1 question for more failed")
