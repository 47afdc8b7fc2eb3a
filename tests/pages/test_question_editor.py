"""The questions of a set as a table to edit."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

OpenPage = Callable[..., AppTest]


def test_questions_are_edited_as_a_table(labelled, open_page):
    app = open_page("metrics.py", metrics="Question sets")
    app.button(key="questions_edit").click().run()
    table = next(each.value for each in app.dataframe if "Tags" in each.value)
    assert list(table["id"]) == ["q1", "q2", "q3", "q4"]
    assert list(table["Answerable"]) == [True, True, True, False]
    assert table["Tags"][1] == "pump.txt"
    # Nothing was typed that the key would lose.
    assert app.button(key="questions_cancel").proto.shortcut == "escape"


def test_a_group_that_was_found_has_the_words_of_its_first_question(labelled, open_page):
    base = labelled.base("notes")
    lines = (
        "id,question,group",
        "a1,How long is the pump tested?,",
        "a2,How long is the pump tested!,",
        "b1,Who tests it?,people",
        "b2,Where is the pump?,people",
    )
    base.questions.import_file("alike", "alike.csv", "\n".join(lines))
    app = open_page("metrics.py", metrics="Question sets", set="alike")
    app.button(key="questions_edit").click().run()
    table = next(each.value for each in app.dataframe if "Counted with" in each.value)
    first = "“How long is the pump tested?”"
    assert list(table["Counted with"]) == [first, first, "people", "people"]
