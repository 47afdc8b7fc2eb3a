"""What was typed or graded in a dialog or form stays there until it is stored."""

import json
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.handbook import LEAVE, ask, texts, visit

PAGES = Path(__file__).resolve().parents[2] / "pages"


def _refused() -> None:
    import streamlit as st

    from pages.components.shell.buttons import confirm_button
    from rag import InvalidInput

    def store() -> None:
        st.session_state["stored"] = st.session_state.get("stored", 0) + 1
        if not st.session_state["typed"]:
            raise InvalidInput("Nothing is typed.", "Type something.")

    @st.fragment
    def dialog() -> None:
        st.text_input("Words", key="typed")
        confirm_button("Keep", "keep", store)

    dialog()
    if st.session_state.get("stored") == 2:
        st.text("closed")


def test_a_dialog_says_within_itself_what_went_wrong():
    app = AppTest.from_function(_refused).run()
    app.button(key="keep").click().run()
    assert [each.value for each in app.error] == ["**Nothing is typed\\.**  \nType something\\."]
    assert "keep_done" not in app.session_state
    app.text_input(key="typed").set_value("words")
    app.button(key="keep").click().run()
    assert [each.value for each in app.error] == []
    assert [each.value for each in app.text] == ["closed"]


def test_no_form_clears_what_is_refused():
    forms = [path.name for path in PAGES.rglob("*.py") if "clear_on_submit" in path.read_text()]
    assert forms == []


def test_every_dialog_is_one_that_the_end_of_a_job_leaves_open():
    modules = [path.name for path in PAGES.rglob("*.py") if "st.dialog(" in path.read_text()]
    assert modules == ["buttons.py"]


def test_only_a_table_that_would_lose_its_edits_stays_open_by_escape():
    stays = [path.stem for path in PAGES.rglob("*.py") if "dismissible=False" in path.read_text()]
    assert stays == ["question_sets_view"]


def test_a_question_is_added_as_it_is_worded_in_the_dialog(base):
    app = ask(visit("chat.py"), LEAVE)
    app.button(key="chat_collect_1").click().run()
    assert app.text_area(key="chat_collect_question_1").value == LEAVE
    app.text_area(key="chat_collect_question_1").set_value("May leave be carried into 2027?")
    app.get_by_key("chat_collect_grade_1_1").set_value("2")
    app.button(key="chat_collect_1").click()
    app.button(key="chat_collect_store_1").click().run()
    added = base.questions.labelled("questions")[-1]
    assert (added.text, [label.grade for label in added.labels]) == (
        "May leave be carried into 2027?",
        [2],
    )


def test_a_question_is_added_as_long_as_it_may_be_asked(base):
    app = ask(visit("chat.py"), f"{LEAVE} {'leave ' * 1300}")
    app.button(key="chat_collect_1").click().run()
    assert not app.exception
    field = app.text_area(key="chat_collect_question_1")
    question = field.value or ""
    assert (len(question), field.proto.max_chars) == (7842, 8000)
    app.button(key="chat_collect_1").click()
    app.button(key="chat_collect_store_1").click().run()
    assert base.questions.labelled("questions")[-1].text == question


def test_a_question_that_was_to_be_refused_is_one_without_an_answer(base):
    ask(visit("chat.py"), LEAVE)
    base.conversations.rate(1, -1)
    base.conversations.explain_thumb(1, "should have refused")
    app = visit("usage.py")
    app.button(key="chat_collect_1").click().run()
    assert app.checkbox(key="chat_collect_unanswerable_1").value
    assert "Grade the passages" not in texts(app)


def test_grades_outlast_a_look_at_no_answer(base):
    app = ask(visit("chat.py"), LEAVE)

    def opened() -> AppTest:
        app.button(key="chat_collect_1").click()
        return app.run()

    opened().get_by_key("chat_collect_grade_1_1").set_value("3")
    for ticked in (True, False):
        app.checkbox(key="chat_collect_unanswerable_1").set_value(ticked)
        opened()
    assert app.get_by_key("chat_collect_grade_1_1").value == "3"


def test_a_question_to_be_added_outlasts_the_end_of_its_dialog(base):
    app = ask(visit("chat.py"), LEAVE)
    typed = {"question": "May leave be carried into 2027?", "expected": "Until March."}
    app.button(key="chat_collect_1").click().run()
    for field, words in typed.items():
        app.text_area(key=f"chat_collect_{field}_1").set_value(words)
    app.button(key="chat_collect_1").click().run()
    app.run()  # as by Escape
    assert not [each for each in app.text_area if each.label == "Question"]
    app.button(key="chat_collect_1").click().run()
    fields = {field: app.text_area(key=f"chat_collect_{field}_1").value for field in typed}
    assert fields == typed


def test_what_was_wrong_outlasts_the_end_of_its_dialog(base):
    app = ask(visit("chat.py"), LEAVE)
    base.conversations.rate(1, -1)
    app = app.run()
    app.button(key="chat_why_1").click().run()
    app.text_area(key="chat_correction_1").set_value("Until March.")
    app.button(key="chat_why_1").click().run()
    app.run()
    app.button(key="chat_why_1").click().run()
    assert app.text_area(key="chat_correction_1").value == "Until March."


def test_words_to_be_labelled_outlast_the_end_of_their_dialog(base):
    app = visit("inspector.py", q=LEAVE)
    app.button(key="inspector_evidence").click().run()
    (field,) = (each for each in app.text_input if "inspector_evidence_words" in (each.key or ""))
    field.set_value("until 30  June")
    app.button(key="inspector_evidence").click().run()
    app.run()
    assert field.key not in [each.key for each in app.text_input]
    app.button(key="inspector_evidence").click().run()
    assert app.text_input(key=field.key).value == "until 30  June"


def test_a_note_outlasts_the_end_of_its_dialog_and_is_of_its_run(base):
    questions = [{"id": "q1", "text": LEAVE, "answerable": False}]
    base.questions.import_file("checks", "checks.jsonl", "\n".join(map(json.dumps, questions)))
    first, second = (base.runs.evaluate("checks", base.recipe()).run.id for _ in range(2))
    app = visit("runs.py", runs=first)
    app.button(key="runs_note").click().run()
    app.text_area(key=f"runs_note_text_{first}").set_value("Too strict")
    app.button(key="runs_note").click().run()
    app.run()
    app.button(key="runs_note").click().run()
    assert app.text_area(key=f"runs_note_text_{first}").value == "Too strict"
    app = visit("runs.py", runs=second)
    app.button(key="runs_note").click().run()
    assert app.text_area(key=f"runs_note_text_{second}").value == ""
