"""From a chat to a question set: grades of what was retrieved, and questions without an answer."""

from pages.components.labels.grading import FIRST_SET, targets
from pages.components.shell import session
from rag import SAMPLE
from tests.handbook import LEAVE, ask, visit


def test_an_answered_question_is_added_with_the_grades_of_its_sources(base):
    app = ask(visit("chat.py"), LEAVE)
    citation = base.conversations.turns(1)[0].citations[0]
    app.button(key="chat_collect_1").click().run()
    app.get_by_key("chat_collect_grade_1_1").set_value("2")
    app.button(key="chat_collect_store_1").click().run()
    assert not app.exception
    question = base.questions.labelled("questions")[0]
    (label,) = question.labels
    assert (question.text, label.grade) == (LEAVE, 2)
    assert label.quote == citation.quote
    assert label.document_id == citation.document_id


def test_every_retrieved_passage_can_be_graded_and_all_pages_count_alike(base):
    app = ask(visit("chat.py", threshold="0"), LEAVE)
    [turn] = base.conversations.turns(1)
    cited = {citation.chunk_id for citation in turn.citations}
    hits = [hit for hit in base.search(LEAVE, turn.recipe).hits if hit.chunk.id not in cited]
    assert hits
    app.button(key="chat_collect_1").click().run()
    for hit in hits:
        app.get_by_key(f"chat_collect_grade_1_{hit.chunk.id}").set_value("0")
    app.get_by_key("chat_collect_grade_1_1").set_value("3")
    app.button(key="chat_collect_store_1").click().run()
    (toast,) = [each.value for each in app.toast]
    assert f"1 label, and {len(hits)} passage" in toast
    [question] = [each for each in base.questions.labelled("questions") if each.text == LEAVE]
    assert [label.grade for label in question.labels] == [3, *[0] * len(hits)]


def test_passages_to_grade_are_whole(base):
    words = " ".join(["Forklifts are charged overnight in the northern warehouse"] * 8)
    session.opened().jobs.run(base.documents.add_text("hall.txt", f"{words}."))
    app = ask(visit("chat.py"), "Where are forklifts charged overnight?")
    app.button(key="chat_collect_1").click().run()
    labels = [each.label for each in app.get("button_group") if "hall" in (each.label or "")]
    assert labels
    assert not any("…" in label for label in labels)


def test_a_question_is_stored_as_one_without_an_answer(base):
    text = "What may a flight to the moon cost?"
    app = ask(visit("chat.py"), text)
    app.button(key="chat_collect_1").click().run()
    app.checkbox(key="chat_collect_unanswerable_1").check()
    app.button(key="chat_collect_store_1").click().run()
    [question] = [each for each in base.questions.labelled("questions") if each.text == text]
    assert not question.answerable
    found = base.search(LEAVE, base.recipe()).hits[0].chunk
    span = found.document_id, found.start, found.end
    base.questions.grade("questions", LEAVE, *span, 3)  # a set needs one that has an answer
    strict = base.recipe().with_fields({"search.threshold": 1})
    assert base.runs.evaluate("questions", strict).run.metrics["correct_refusal"] == 1.0


def test_labels_go_to_a_set_of_one_s_own_and_where_there_are_several_one_is_asked(base):
    base.questions.rename_set("questions", SAMPLE)
    assert targets(base) == ([FIRST_SET, SAMPLE], 0)
    base.questions.create_set("mine")
    assert targets(base) == (["mine", SAMPLE], 0)
    base.questions.create_set("ours")
    assert targets(base) == (["mine", "ours", SAMPLE], None)
    app = ask(visit("chat.py"), LEAVE)
    app.button(key="chat_collect_1").click().run()
    assert app.selectbox(key="chat_collect_set").value is None
    app.button(key="chat_collect_store_1").click().run()
    assert base.questions.labelled("mine") == base.questions.labelled("ours") == []
