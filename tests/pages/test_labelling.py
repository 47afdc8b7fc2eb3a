"""Questions without labels, one after the other in the inspector."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from rag import Workspace
from tests.handbook import texts
from tests.pages.conftest import QUESTIONS

TEXTS = [text for _, text, _, _ in QUESTIONS]


@pytest.fixture
def unlabelled(filled: Workspace) -> Workspace:
    """``filled`` with the set "asked": three questions without labels."""
    content = "\n".join(["question", *TEXTS])
    filled.base("notes").questions.import_file("asked", "asked.csv", content)
    return filled


def _line(app: AppTest) -> str:
    (line,) = [item.value for item in app.markdown if item.value.startswith(":material/label: ")]
    return line.removeprefix(":material/label: ")


def _grade_first(app: AppTest) -> None:
    grades = [item for item in app.get("button_group") if "inspector_grade_" in (item.key or "")]
    grades[0].set_value("3").run()
    assert not app.exception


@pytest.mark.parametrize("key", ["metrics_label_first", "frame_next_go"])
def test_label_passages_asks_the_first_question_without_labels(unlabelled, open_page, key):
    app = open_page("metrics.py", set="asked")
    app.button(key=key).click().run()
    assert not app.exception
    assert app.title[0].value == "Inspector"
    assert app.query_params["q"] == TEXTS[0]
    assert app.text_input(key="q").value == TEXTS[0]
    assert app.selectbox(key="set").value == "asked"


def test_metrics_say_how_many_questions_are_not_measured(labelled, open_page):
    more = json.dumps({"id": "more", "text": "Who paints the fence?", "answer": "Nobody"})
    labelled.base("notes").questions.import_file("checks", "more.jsonl", more, existing="add")
    app = open_page("metrics.py", set="checks")
    assert "1 answerable question has no label: it is not measured" in texts(app)
    app.button(key="metrics_label_rest").click().run()
    assert not app.exception
    assert app.query_params["q"] == "Who paints the fence?"


def test_the_next_question_without_labels_follows_a_grade(unlabelled, open_page):
    app = open_page("inspector.py", set="asked", q=TEXTS[0])
    assert app.button(key="labelling_next").label == "Skip"
    app.button(key="labelling_next").click().run()
    assert _line(app).startswith("Question 2 of 3 without labels")
    _grade_first(app)
    assert app.button(key="labelling_next").label == "Next"
    assert not [pills for pills in app.get("pills") if pills.key == "inspector_suggestion"]
    offered = open_page("inspector.py", set="asked").get("pills")[0].options
    assert offered == [TEXTS[0].replace("?", r"\?"), TEXTS[2].replace("?", r"\?")]
    app.button(key="labelling_next").click().run()
    assert app.text_input(key="q").value == TEXTS[2]
    assert _line(app).startswith("Question 2 of 2 without labels")
    app.button(key="inspector_unanswerable").click().run()
    app.button(key="labelling_next").click().run()
    assert app.text_input(key="q").value == TEXTS[0]
    assert not app.get("page_link")
    _grade_first(app)
    assert app.get("page_link")[0].proto.page == "metrics"  # where the labels are measured
    labels = unlabelled.base("notes").questions.labelled("asked")
    assert [(item.answerable, len(item.labels)) for item in labels] == [
        (True, 1),
        (True, 1),
        (False, 0),
    ]


def test_an_inspector_without_a_question_leads_to_one(unlabelled, open_page):
    app = open_page("inspector.py")
    assert app.get("pills")[0].options == [text.replace("?", r"\?") for text in TEXTS]
    app.button(key="frame_next_go").click().run()
    assert app.text_input(key="q").value == TEXTS[0]
    assert not [item for item in app.button if item.key == "frame_next_go"]


def test_a_question_with_labels_has_no_line(labelled, open_page):
    app = open_page("inspector.py", q=TEXTS[0])
    assert "without labels" not in texts(app)
    assert not [item for item in app.button if item.key == "labelling_next"]


def test_only_labelled_questions_tell_recipes_apart(unlabelled, open_page):
    base = unlabelled.base("notes")
    assert base.runs.plan("asked").questions == 0
    _grade_first(open_page("inspector.py", set="asked", q=TEXTS[0]))
    assert base.runs.plan("asked").questions == 1
    table = open_page("metrics.py", set="asked", metrics="Question sets").dataframe[0].value
    assert (list(table["Answerable"]), list(table["Labelled"])) == ([3], [1])


def test_the_suggestions_are_of_the_chosen_set_alone(unlabelled, open_page):
    unlabelled.base("notes").questions.import_file("pets", "pets.csv", "question\nWho feeds cats?")
    pets = open_page("inspector.py", set="pets")
    assert pets.get("pills")[0].options == [r"Who feeds cats\?"]
    asked = open_page("inspector.py", set="asked")
    assert asked.get("pills")[0].options == [text.replace("?", r"\?") for text in TEXTS]
