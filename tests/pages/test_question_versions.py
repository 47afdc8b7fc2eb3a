"""Before an import takes the place of a set the dialog asks, and what was replaced comes back."""

from streamlit.testing.v1 import AppTest

REPLACED = '{"id": "n", "text": "Who is new here?"}'


def _choosing() -> None:
    import streamlit as st

    from pages.components.labels.question_sets import existing_choice
    from pages.components.shell.session import workspace

    name = st.text_input("Name", "checks")
    st.text(str(existing_choice(workspace().base("notes"), name)))


def test_a_name_that_is_taken_asks_what_becomes_of_the_set(labelled):
    app = AppTest.from_function(_choosing, default_timeout=60).run()
    (choice,) = app.radio
    assert choice.label.startswith("There is a set of this name, with 4 questions.")
    assert choice.options == ["Add to it", "Replace it"]
    assert app.text[0].value == "None"
    app.radio[0].set_value("add").run()
    assert app.text[0].value == "add"
    app.text_input[0].set_value("another").run()
    assert (len(app.radio), app.text[0].value) == (0, "refuse")


def test_the_passport_of_a_set_says_who_made_it_and_what_is_wrong(labelled, open_page):
    base = labelled.base("notes")
    twice = '{"id": "a", "text": "Who is new?"}\n{"id": "b", "text": "Who is NEW?"}'
    base.questions.import_file("checks", "new.jsonl", twice)
    base.questions.set_licence("checks", "CC0")
    app = open_page("metrics.py", metrics="Question sets")
    app.session_state[f"set_passport_{base.questions.named('checks').id}"] = True
    app.run()
    said = [text.value.replace("\\", "") for text in app.markdown]
    assert any("a = b" in line for line in said)
    assert any("CC0" in line for line in said)
    passport = base.questions.check("checks")
    assert set(passport.lines) <= set(said)


def test_a_replaced_version_is_brought_back(labelled, open_page):
    base = labelled.base("notes")
    before = [(item.id, item.labels) for item in base.questions.labelled("checks")]
    assert not [
        each
        for each in open_page("metrics.py", metrics="Question sets").button
        if each.key == "set_versions"
    ]
    base.questions.import_file("checks", "new.jsonl", REPLACED)
    app = open_page("metrics.py", metrics="Question sets")
    app.button(key="set_versions").click().run()
    assert app.selectbox(key="set_version").options == [
        "1, replaced just now: 4 questions, 3 labels"
    ]
    app.button(key="set_versions").click()
    app.button(key="set_restore").click().run()
    assert not app.exception
    toasts = [each.value.replace("\\", "") for each in app.toast]
    assert toasts == ["Version 1 of checks is back. Version 2 is kept under Earlier versions."]
    after = [(item.id, item.labels) for item in base.questions.labelled("checks")]
    bare = [
        [(key, [(each.quote, each.grade) for each in labels]) for key, labels in found]
        for found in (before, after)
    ]
    assert bare[0] == bare[1]
