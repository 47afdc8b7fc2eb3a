"""The review page: what failed somebody becomes a labelled question, or is dismissed."""

from streamlit.testing.v1 import AppTest

from pages.components.shell import session
from rag import FROM_USERS, LOCAL, KnowledgeBase, SessionOwner
from tests.handbook import ask, texts, visit

TRAINS = "In which class are trains booked?"


def failed(base: KnowledgeBase) -> AppTest:
    """An answer with a thumb down, a reason and a correction."""
    app = ask(visit("chat.py"), TRAINS)
    app.get("feedback")[0].set_value(0).run()
    app.button(key="chat_why_1").click().run()
    app.get("pills")[-1].set_value("incomplete")
    app.text_area(key="chat_correction_1").set_value("Until June, then it lapses.")
    app.button(key="chat_why_keep_1").click().run()
    assert not app.exception
    return app


def test_a_thumb_down_says_why_and_what_would_have_been_right(base):
    failed(base)
    [turn] = base.conversations.turns(1)
    assert (turn.thumb, turn.reason) == (-1, "incomplete")
    assert turn.correction == "Until June, then it lapses."


def test_a_turn_becomes_a_question_that_knows_that_it_came_from_a_user(base):
    failed(base)
    app = visit("usage.py")
    assert f"**{TRAINS}**" in texts(app).replace("\\", "")
    assert ":orange-badge[incomplete]" in texts(app)
    app.button(key="chat_collect_1").click().run()
    app.get_by_key("chat_collect_grade_1_1").set_value("3")
    app.button(key="chat_collect_store_1").click().run()
    assert not app.exception
    [question] = [each for each in base.questions.labelled("questions") if each.text == TRAINS]
    assert (question.origin, question.answer) == (FROM_USERS, "Until June, then it lapses.")
    assert [(label.grade, label.origin) for label in question.labels] == [(3, FROM_USERS)]
    assert base.conversations.turns(1)[0].review == "labelled"


def test_an_answer_in_doubt_that_was_right_becomes_a_labelled_question(base):
    doubtful = "Until when may unused leave RX-77 be carried over?"
    app = ask(ask(visit("chat.py"), doubtful), TRAINS)
    for number, thumbs in enumerate(app.get("feedback"), start=1):
        thumbs.set_value(0).run()
        app.button(key=f"chat_why_{number}").click().run()
        reasons = app.get("pills")[-1]
        assert ("should have answered" in reasons.options) is (number == 1)
        if number == 1:
            reasons.set_value("should have answered")
            app.text_area(key="chat_correction_1").set_value("30 June")
            app.button(key="chat_why_keep_1").click().run()
    assert [row["feedback"]["reason"] for row in base.conversations.export_feedback()] == [
        "",
        "should have answered",
    ]
    review = visit("usage.py")
    assert ":orange-badge[should have answered]" in texts(review)
    review.button(key="chat_collect_1").click().run()
    assert not review.checkbox(key="chat_collect_unanswerable_1").value
    review.get_by_key("chat_collect_grade_1_1").set_value("3")
    review.button(key="chat_collect_store_1").click().run()
    question = base.questions.labelled("questions")[-1]
    assert (question.text, question.answer, len(question.labels)) == (doubtful, "30 June", 1)


def test_a_turn_is_dismissed_or_opened_where_it_was_asked(base):
    failed(base)
    ask(visit("chat.py", threshold="0.9", talk="1"), "Who won the world cup?")
    app = visit("usage.py")
    assert [each.value for each in app.metric] == ["0", "1", "1", "0", "0", "0"]
    whose = next(each for each in app.caption if "**All users:** 2 questions so far" in each.value)
    order = list(app.main)
    assert order.index(whose) < order.index(app.metric[0])
    app.button(key="review_dismiss_2").click().run()
    assert base.conversations.turns(1)[1].review == "dismissed"
    app.button(key="review_open_1").click().run()
    assert app.title[0].value == "Chat"
    assert app.query_params["talk"] == "1"


def test_a_citation_that_is_opened_is_counted(base):
    app = ask(visit("chat.py"), TRAINS)
    app.get("pills")[0].set_value(1).run()
    assert base.conversations.turns(1)[0].clicks == 1
    app = visit("usage.py")
    assert app.metric[5].value == "1"


def test_a_thumb_of_another_browser_is_seen_with_its_question(base, monkeypatch):
    ann = SessionOwner("ann", ("ann",))
    monkeypatch.setattr(session, "visitor", lambda: ann)
    ask(visit("chat.py"), TRAINS)
    app = ask(visit("chat.py", threshold="0.9", talk="1"), "Who won?")
    thumbs = app.get("feedback")
    assert len(thumbs) == 2  # a refusal has them too
    thumbs[0].set_value(0).run()
    monkeypatch.setattr(session, "visitor", lambda: LOCAL)
    app = visit("usage.py")
    assert [each.value for each in app.metric][:3] == ["0", "1", "1"]
    said = texts(app)
    assert f"**{TRAINS}**" in said.replace("\\", "")
    assert "Who won" not in said
    assert not [each for each in app.button if each.key == "review_open_1"]
    app.button(key="review_dismiss_1").click().run()


def test_the_nearest_documents_of_a_refusal_are_a_list(base):
    ask(visit("chat.py", threshold="0.9"), "Who won?")
    [turn] = base.conversations.turns(1)
    assert "\n\n- " in turn.answer
    card = next(each.value for each in visit("usage.py").markdown if "nearest" in each.value)
    assert "\n\n- " in card
    assert "\\- " not in card
