"""The steps of a search as widgets: they change the recipe, the URL and the funnel."""

from contextlib import closing

from streamlit.testing.v1 import AppTest

from pages.components.recipe.working_recipe import STATE
from rag import HttpTool, KnowledgeBase, Recipe
from tests.handbook import LEAVE, unfold, visit
from tests.workspaces import workspace_at


def recipe(app: AppTest, base: KnowledgeBase) -> Recipe:
    held: Recipe = app.session_state[STATE][base.id].working
    return held


def step(app: AppTest, name: str) -> str:
    words = app.button(key=f"inspector_step_{name}").label.partition("  \n")[0]
    return words.removeprefix(":gray[").removesuffix("]")


def test_a_filter_is_typed_searched_with_and_counted(base):
    app = unfold(visit("inspector.py", q=LEAVE))
    app.text_input(key="in_documents").set_value("travel.md, safety*").run()
    assert recipe(app, base).search.documents == ("travel.md", "safety*")
    assert step(app, "filter") == "**3** pass the filter"
    assert step(app, "dense") == "**3** dense"
    app.text_input(key="in_documents").set_value("").run()
    assert recipe(app, base).search.steps == {}


def test_what_makes_no_sense_is_refused_in_words_and_changes_nothing(base):
    app = unfold(visit("inspector.py", q=LEAVE))
    app.text_input(key="in_after").set_value("last week").run()
    assert not app.exception
    assert any(r"search\.after" in each.value for each in app.error)
    assert recipe(app, base).search.after == ""
    app.text_input(key="in_after").set_value("2024-01-31").run()
    assert recipe(app, base).search.after == "2024-01-31"
    assert not app.error


def test_synonyms_are_a_toggle(base):
    app = unfold(visit("inspector.py", q="How long is my vacation?"))
    assert app.toggle(key="synonyms").value is recipe(app, base).search.synonyms is True
    app.toggle(key="synonyms").set_value(False).run()
    assert recipe(app, base).search.synonyms is False


def test_copies_and_diversity_are_off_or_a_number(base):
    app = unfold(visit("inspector.py", q=LEAVE, cut="Off"))
    app.selectbox(key="copies").set_value("0.8").run()
    app.selectbox(key="mmr").set_value("0.5").run()
    assert recipe(app, base).search.steps == {"duplicates": 0.8, "mmr": 0.5}
    assert step(app, "duplicates") == "**5** without copies"
    app.selectbox(key="copies").set_value("Off").run()
    assert recipe(app, base).search.steps == {"mmr": 0.5}


def test_feedback_shows_its_parameters_when_it_is_on(base):
    app = unfold(visit("inspector.py", q=LEAVE))
    assert "feedback_weight" not in {each.key for each in app.slider}
    app.number_input(key="feedback").set_value(2).run()
    app.slider(key="feedback_weight").set_value(0.5).run()
    app.number_input(key="feedback_terms").set_value(3).run()
    steps = {"feedback": 2, "feedback_weight": 0.5, "feedback_terms": 3}
    assert recipe(app, base).search.steps == steps
    assert step(app, "feedback") == "**5** with feedback"


def test_a_url_brings_every_step_back(base):
    url = {
        "spelling": "true",
        "synonyms": "false",
        "feedback": "2",
        "copies": "0.87",
        "mmr": "0.7",
        "in_documents": "leave.md,travel.md",
        "in_tags": "law",
        "in_pages": "3",
        "in_after": "2024-01-31",
        "show": "Section",
        "join": "true",
        "order": "Document",
    }
    app = visit("inspector.py", q=LEAVE, **url)
    assert recipe(app, base).search.spelling is True
    assert recipe(app, base).search.synonyms is False
    assert recipe(app, base).search.steps == {
        "feedback": 2,
        "duplicates": 0.87,
        "mmr": 0.7,
        "documents": ("leave.md", "travel.md"),
        "tags": ("law",),
        "pages": "3",
        "after": "2024-01-31",
        "context": "section",
        "merge": True,
        "order": "document",
    }
    assert step(app, "filter") == "**0** pass the filter"


def test_the_prompt_shows_the_shaped_text(base):
    app = visit("inspector.py", q=LEAVE, view="Prompt", show="Neighbours")
    assert any("A certificate is needed" in each.value for each in app.code)
    plain = visit("inspector.py", q=LEAVE, view="Prompt")
    assert not any("A certificate is needed" in each.value for each in plain.code)


def test_what_nobody_opened_is_drawn_where_it_was_changed_and_stays(base):
    def drawn(app: AppTest) -> bool:
        return "k1" in {each.key for each in app.slider}

    assert not drawn(visit("inspector.py", q=LEAVE))
    app = visit("inspector.py", q=LEAVE, k1="1.5")
    assert drawn(app)
    assert recipe(app, base).search.k1 == 1.5
    app.button(key="frame_recipe_reset").click().run()
    assert recipe(app, base).search.k1 == 1.2
    assert drawn(app)
    assert "k1" not in app.query_params


def test_a_widget_without_a_value_changes_nothing(base):
    """A slow browser sends an empty parameter of the address again when its widget is there."""
    app = unfold(visit("inspector.py", q=LEAVE))
    for key in ("cut", "mode"):
        next(each for each in app.get("segmented_control") if each.key == key).set_value(None)
    app.run()
    assert not app.exception
    assert not app.error
    assert recipe(app, base) == base.recipe()


def test_the_tools_that_an_answer_may_call_are_chosen(base, home, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_MODEL", "tiny")
    with closing(workspace_at(home)) as workspace:
        for name in ("wiki", "pumps"):
            workspace.tools.save(HttpTool(name=name, url="http://127.0.0.1:9/?q={question}"))
    app = visit("chat.py", provider="compatible", draws_on="auto")
    chosen = app.multiselect(key="may_call")
    assert (chosen.label, chosen.value) == ("Tools it may call", [])
    assert set(chosen.options) == {"wiki", "pumps"}
    chosen.set_value(["pumps"]).run()
    assert recipe(app, base).answer.tools == ("pumps",)
    app.selectbox(key="draws_on").set_value("Strict").run()
    assert "may_call" not in {each.key for each in app.multiselect}


def test_a_group_that_is_opened_late_shows_the_working_recipe(base):
    app = unfold(visit("inspector.py", q=LEAVE))
    app.selectbox(key="spelling").set_value("false").run()
    assert app.selectbox(key="spelling").proto.set_value is False
    app.session_state["recipe_question"] = True  # as a click on it does
    app.run()
    assert app.selectbox(key="spelling").proto.set_value is True
    assert app.selectbox(key="spelling").proto.raw_value == "Off"
    app.run()
    assert app.selectbox(key="spelling").proto.set_value is False
