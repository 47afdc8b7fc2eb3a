"""The inspector: the numbers, the cards and the cuts agree, and the URL brings them back."""

import re
from dataclasses import replace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.components.inspector.candidates import candidates, steps, takeaway
from pages.components.recipe.panel import what_it_means
from pages.components.shell.text import plain
from rag import STATE_TITLES, Stage, WordCorrection, unmarked
from tests.handbook import LEAVE, make, marked, texts, unfold, visit


def cards(app: AppTest) -> list[str]:
    return [each.label for each in app.button if (each.key or "").startswith("inspector_card_")]


def step(app: AppTest, name: str) -> str:
    words = app.button(key=f"inspector_step_{name}").label.partition("  \n")[0]
    return words.removeprefix(":gray[").removesuffix("]")


def test_a_number_that_filters_nothing_is_as_readable_as_the_others(base):
    """Streamlit draws the words of a button that is off at 40%, which is a contrast of 2.6:1."""
    app = visit("inspector.py", q=LEAVE)
    off = {
        each.label.startswith(":gray[")
        for each in app.button
        if (each.key or "").startswith("inspector_step_") and each.disabled
    }
    assert off == {True}


def test_the_funnel_counts_what_the_stages_gave(base):
    app = visit("inspector.py", q=LEAVE)
    names = ["passages", "dense", "lexical", "fusion", "refuse", "threshold", "top_k", "context"]
    assert [step(app, name) for name in names] == [
        "**5** passages",
        "**5** dense",
        "**1** lexical",
        "**5** fused",
        "**5** on topic",
        "**1** past threshold",
        "**1** top-k",
        "**1** for the answer",
    ]
    assert step(app, "quoted") == "**1** quoted"
    assert r"quoted as \[1\]" in texts(app)


def test_cards_under_the_threshold_are_grey_and_say_why(base):
    app = visit("inspector.py", q=LEAVE)
    assert cards(app)[:2] == [r"**1 · leave\.md**", r":gray[2 · travel\.md]"]
    assert r"relevance 0\.158 is below 0\.200" in texts(app)
    assert "4 dropped" in texts(app)


def test_moving_the_threshold_moves_counts_cut_and_recipe(base):
    app = visit("inspector.py", q=LEAVE)
    app.slider(key="threshold").set_value(0.1).run()
    assert step(app, "threshold") == "**3** past threshold"
    assert "cosine ≥ 0.10: 3 of 5 pass" in texts(app)
    app.get_by_key("cut").set_value("Off").run()
    assert step(app, "threshold") == "**5** without a threshold"
    assert r"place 3 of the candidates\, top\-k is 2" in texts(app)
    app.button(key="frame_recipe_reset").click().run()
    assert app.slider(key="threshold").value == 0.2
    assert step(app, "threshold") == "**1** past threshold"


def test_the_slider_sets_a_threshold_that_was_automatic(base):
    app = unfold(visit("inspector.py", q=LEAVE))
    mode = app.get_by_key("cut").set_value("Auto").run().get_by_key("cut")
    slider = app.slider(key="threshold")
    assert f"{slider.value:.2f}" in mode.help
    slider.set_value(0.3).run()
    assert app.get_by_key("cut").value == "Set"


def test_a_threshold_that_does_not_apply_is_named_as_such_everywhere(base):
    app = unfold(visit("inspector.py", q=LEAVE))
    app.get_by_key("cut").set_value("Off").run()
    assert "No threshold: the highest ranks are returned." in texts(app)
    trace = base.search(LEAVE, base.recipe())
    foreign = Stage("language", 1, 1, figures={"dense_weight": 0.2})
    stages = [
        replace(stage, figures={"waived": 0.2}) if stage.name == "threshold" else stage
        for stage in trace.stages
    ]
    waived = replace(trace, threshold=None, stages=(foreign, *stages))
    reason = (
        "The threshold 0.20 does not apply to this question, because the embedding model does not "
        "support its language: the highest ranks are returned."
    )
    assert what_it_means(waived) == f"{reason} Its dense weight is 0.20."
    assert takeaway(waived, candidates(waived)) == f"1 of 5 candidates come back. {reason}"
    threshold = next(each for each in steps(waived) if each.name == "threshold")
    assert (threshold.label, threshold.help) == ("without a threshold", reason)


def test_what_a_filter_by_tag_finds_follows_the_tags(base):
    base.recipes.save(base.recipe().with_fields({"search.tags": ["trips"]}))
    app = visit("inspector.py", q=LEAVE)
    assert step(app, "filter") == "**0** pass the filter"
    base.documents.tag("travel.md", ["trips"])
    assert step(app.run(), "filter") == "**1** pass the filter"
    assert {label.partition(" · ")[2] for label in cards(app)} == {r"travel\.md]"}


def test_a_number_of_the_funnel_filters_the_cards(base):
    app = visit("inspector.py", q=LEAVE)
    app.button(key="inspector_step_threshold").click().run()
    assert app.query_params["step"] == "threshold"
    assert len(cards(app)) == 1
    app.button(key="inspector_more_threshold_button").click().run()
    assert len(cards(app)) == 4
    assert cards(app)[0] == r":gray[2 · travel\.md]"
    app.button(key="inspector_step_lexical").click().run()
    assert cards(app) == [r"**1 · leave\.md**"]


def test_a_card_opens_its_passage_in_the_document(base):
    app = visit("inspector.py", q=LEAVE)
    chosen = next(each for each in app.button if each.label == r":gray[2 · travel\.md]")
    chosen.click().run()
    assert app.query_params["passage"] == (chosen.key or "").rpartition("_")[2]
    assert r"**travel\.md**" in texts(app)
    assert "Trains are booked in second class. A hotel may cost $120 a night." in marked(app)


def test_the_words_of_the_selected_passage_add_up_to_its_score(base):
    app = visit("inspector.py", q=LEAVE, view="Terms")
    table = app.dataframe[0].value
    hit = base.search(LEAVE, base.recipe()).hits[0]
    assert table["contribution"].sum() == pytest.approx(hit.parts["bm25"])
    assert {"unused", "leave", "carried"} <= set(table["word"])


def test_the_prompt_is_the_one_that_a_model_would_get(base):
    app = visit("inspector.py", q=LEAVE, view="Prompt")
    prompt = base.explanations.prompt(base.search(LEAVE, base.recipe()), base.recipe())
    assert prompt.text in [code.value for code in app.main.code]
    used, free = prompt.spending.prompt, prompt.spending.answer
    assert f"{used + free:,} tokens: " in texts(app)


def test_the_address_carries_the_recipe(base):
    app = visit("inspector.py", q=LEAVE, mode="Dense", k="4", threshold="0.05")
    assert app.slider(key="k").value == 4
    assert step(app, "threshold") == "**3** past threshold"
    with pytest.raises(KeyError):
        app.button(key="inspector_step_lexical")


def test_nonsense_in_the_address_is_left_out(base):
    app = visit("inspector.py", q=LEAVE, mode="psychic", k="-3", passage="zz", step="none")
    assert app.slider(key="k").value == 2
    assert step(app, "fusion") == "**5** fused"


def test_without_documents_it_says_what_to_do(home):
    st.cache_resource.clear()
    workspace, base = make(home)
    base.documents.delete_documents(
        [each.id for each in base.documents.documents(base.recipe().index)]
    )
    workspace.close()
    for address in ({}, {"q": LEAVE}):
        app = visit("inspector.py", **address)
        assert "No documents" in texts(app)
        assert not app.info
    st.cache_resource.clear()


def test_words_of_the_question_that_no_passage_has_are_named(base):
    recipe = base.recipe()
    question = "How is unused leave of a girlfriend carried over?"
    assert base.explanations.unknown_words(base.search(question, recipe), recipe) == ("girlfriend",)
    said = texts(visit("inspector.py", q=question))
    assert "No passage has “girlfriend”" in said
    assert "Not in these documents" not in said
    assert "No passage has" not in texts(visit("inspector.py", q=LEAVE))


def test_a_word_that_was_searched_in_another_form_is_not_unknown(base):
    recipe = base.recipe()
    question = "How is unused leave of a girlfriend carried over?"
    other = WordCorrection("a girlfriend", "a girlfriend (partner)")
    reading = question.replace(other.typed, other.read)
    trace = replace(base.search(question, recipe), reading=reading, corrections=(other,))
    assert base.explanations.unknown_words(trace, recipe) == ()


def test_the_state_of_the_answer_stands_with_its_reason(base):
    recipe, question = base.recipe(), "Until when may unused leave RX-77 be carried over?"
    trace = base.search(question, recipe)
    explanation = base.explanations.explain_quotes(trace, recipe)
    found = explanation.assessment
    assert found == base.answer(trace, recipe).answer.assessment
    assert found.state == "doubtful"
    assert found.reason
    title = base.ask(LEAVE, recipe).answer.title
    shown = texts(visit("inspector.py", q=LEAVE))
    assert f"**:green[{title}.]**" in shown
    (quote,) = base.ask(LEAVE, recipe).answer.citations[:1]
    assert f"> {plain(unmarked(quote.quote))}" in shown
    model = recipe.with_fields({"answer.provider": "ollama", "answer.model": "small"})
    assert base.explanations.explain_quotes(trace, model) is None


def test_a_question_for_which_no_passage_is_given_is_refused(base):
    base.recipes.save(base.recipe().with_fields({"search.threshold": 1.0}))
    assert f"**:red[{STATE_TITLES['refused']}.]**" in texts(visit("inspector.py", q=LEAVE))


@pytest.mark.parametrize(
    ("changes", "words", "said"),
    [
        ({}, "until 30 June", r":green\[.*first"),
        ({"search.threshold": None}, "second class", r":orange\[.*rank 2"),
        ({}, "second class", r":red\[.*rank 2"),
        ({"search.candidates": 1}, "goggles", r":red\[No "),
    ],
    ids=["first", "second", "not returned", "no candidate"],
)
def test_the_rank_of_the_first_relevant_passage_is_said(base, changes, words, said):
    index = base.recipe().index
    base.recipes.save(base.recipe().with_fields(changes))
    documents = base.documents.documents(index)
    chunks = [chunk for each in documents for chunk in base.documents.chunks(each.id, index)]
    labelled = next(chunk for chunk in chunks if words in chunk.text)
    span = labelled.document_id, labelled.start, labelled.end
    base.questions.grade("questions", LEAVE, *span, 1)
    shown = texts(visit("inspector.py", q=LEAVE)).replace(":green[Answered", "")
    assert re.search(said, shown)


def test_a_doubtful_answer_is_right_where_the_documents_have_none(base):
    question = "Until when may unused leave RX-77 be carried over?"
    tones = []
    for answerable in (True, False):
        base.questions.collect_with_grades("questions", question, answerable=answerable)
        tones += re.findall(r"\*\*:(\w+)\[", texts(visit("inspector.py", q=question)))
    assert tones == ["orange", "green"]
