"""What next: one line from the state of a knowledge base, with the button that does it."""

import json
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.runs import next_step
from rag import KnowledgeBase, Workspace
from tests.pages.conftest import DOCUMENTS, OpenPage, fill


def _line(app: AppTest) -> str:
    (line,) = [each.value for each in app.caption if each.value.startswith("**What next?**")]
    return line.removeprefix("**What next?** ")


def _button(app: AppTest) -> str:
    return next((each.label for each in app.button if each.key == "frame_next_go"), "")


def _add(base: KnowledgeBase, question: dict[str, object]) -> None:
    content = json.dumps(question).encode()
    base.questions.import_file("checks", "more.jsonl", content, existing="add")


def test_an_empty_base_needs_documents_then_questions(
    filled: Workspace, open_page: OpenPage
) -> None:
    blank = filled.create("blank")
    app = open_page("chat.py", kb="blank")
    assert _button(app) == "Add documents"
    app.button(key="frame_next_go").click().run()
    assert app.title[0].value == "Documents"
    empty = "This knowledge base has no documents. Choose files below, or load the sample."
    assert (_line(app), _button(app)) == (empty, "")  # it is the page
    fill(blank, DOCUMENTS)
    app = open_page("chat.py", kb="notes")
    app.button(key="frame_next_go").click().run()
    assert app.title[0].value == "Metrics"
    app = open_page("metrics.py", kb="notes")
    assert _button(app) == "Label passages"
    app.button(key="frame_next_go").click().run()
    assert app.title[0].value == "Inspector"


def test_the_line_says_that_it_is_about_the_saved_recipe(
    labelled: Workspace, open_page: OpenPage
) -> None:
    app = open_page("tuning.py")
    app.slider(key="k").set_value(9).run()
    changed = "**What next for the saved recipe?** The question set *checks*"
    lines = [each.value for each in app.caption if each.value.startswith("**What next")]
    assert [line[: len(changed)] for line in lines] == [changed]


def test_few_labels_are_counted(labelled: Workspace, open_page: OpenPage) -> None:
    app = open_page("chat.py")
    assert _button(app) == "Evaluate"
    base = labelled.base("notes")
    base.runs.evaluate("checks", base.recipe())
    app = open_page("chat.py")
    assert _button(app) == "Add questions"
    app.button(key="frame_next_go").click().run()
    assert (app.title[0].value, app.query_params["metrics"]) == ("Metrics", "Question sets")
    assert app.selectbox(key="set").value == "checks"
    # A second label of a question makes no second question.
    quotes = [{"document": "pump.txt", "quote": "Grease the bearing"}]
    quotes.append({"document": "travel.txt", "quote": "Train journeys"})
    _add(base, {"id": "q9", "text": "What is done, and how?", "evidence": quotes})
    app = open_page("chat.py")
    assert "has 4 labelled questions." in _line(app)
    _add(base, {"id": "q10", "text": "Who knows?", "answer": "Nobody knows"})
    app = open_page("chat.py")
    assert "has 4 labelled questions." in _line(app)
    assert _button(app) == "Judge next"


def test_labels_for_text_that_is_not_here_are_not_counted(
    filled: Workspace, open_page: OpenPage
) -> None:
    evidence = [{"document": "lost.txt", "quote": "Nowhere"}]
    question = json.dumps({"id": "q", "text": "Where?", "evidence": evidence})
    filled.base("notes").questions.import_file("lost", "lost.jsonl", question)
    app = open_page("chat.py")
    assert "has 0 labelled questions" in _line(app)
    app.button(key="frame_next_go").click().run()
    assert (app.title[0].value, app.query_params["metrics"]) == ("Metrics", "Question sets")


def test_enough_labels_lead_to_runs(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_step, "ENOUGH_LABELLED", 3)
    base = labelled.base("notes")
    captions = [one.value for one in open_page("settings.py").caption]
    assert not [words for words in captions if "What next" in words]
    for page in ("tuning.py", "runs.py", "chat.py"):  # the first two have the set themselves
        app = open_page(page)
        app.button(key="frame_next_go").click().run()
        assert not app.error
        assert (app.title[0].value, app.selectbox(key="set").value) == ("Metrics", "checks")
    nothing = base.recipe().with_fields({"search.threshold": 0.99, "search.exact_codes": False})
    base.recipes.save(nothing)
    own = base.runs.evaluate("checks", nothing).run.id
    better = nothing.with_fields({"search.threshold": None})
    best = base.runs.evaluate("checks", better).run.id
    assert base.runs.get(best).metrics["ndcg@10"] > base.runs.get(own).metrics["ndcg@10"]
    assert _line(open_page("chat.py")).startswith("Nothing")  # 4 questions decide nothing
    decided = {"ndcg@10": SimpleNamespace(verdict_by_labels="better")}
    monkeypatch.setattr(next_step.readings, "changes", lambda *_: decided)
    app = open_page("chat.py")
    app.button(key="frame_next_go").click().run()
    assert app.title[0].value == "Runs"
    assert app.query_params["runs"] == f"{best},{own}"


def test_the_worst_question_without_a_relevant_hit_opens_in_the_inspector(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_step, "ENOUGH_LABELLED", 3)
    base = labelled.base("notes")
    lost = {
        "id": "lost",
        "text": "Grease the bearing?",
        "evidence": [{"document": "leave.md", "quote": "Sick leave is reported"}],
    }
    base.questions.import_file("checks", "l.jsonl", json.dumps(lost).encode(), existing="add")
    recipe = base.recipe().with_fields({"search.mode": "lexical", "search.threshold": None})
    base.recipes.save(recipe)
    base.runs.evaluate("checks", recipe)
    app = open_page("chat.py")
    assert "Grease the bearing" in _line(app)
    app.button(key="frame_next_go").click().run()
    assert app.title[0].value == "Inspector"
    assert app.query_params["q"] == "Grease the bearing?"
    assert not [one for one in app.caption if "What next" in one.value]  # the page says it
    for page in ("metrics.py", "inspector.py", "tuning.py", "runs.py"):
        assert "Grease the bearing" in _line(open_page(page))
    monkeypatch.undo()  # the labels are few
    for page in ("chat.py", "inspector.py", "metrics.py"):
        assert "4 labelled" in _line(open_page(page))


def test_runs_comes_up_with_the_set_that_its_step_names(
    labelled: Workspace, open_page: OpenPage
) -> None:
    base = labelled.base("notes")
    quote = {"document": "pump.txt", "quote": "Grease the bearing"}
    one = json.dumps({"id": "b1", "text": "What is greased?", "evidence": [quote]})
    base.questions.import_file("bearings", "b.jsonl", one.encode())
    base.runs.evaluate("checks", base.recipe())
    run = base.runs.list_all()[0].id
    base.runs.evaluate("bearings", base.recipe())
    for parameters, chosen in ({}, "bearings"), ({"runs": run}, "checks"):
        app = open_page("runs.py", **parameters)
        assert app.selectbox(key="set").value == chosen
        assert f"*{chosen}*" in _line(app)
        assert _line(app.run()) == _line(open_page("runs.py", **parameters))


def test_all_pages_name_one_set_the_one_with_enough_questions_or_the_last_chosen(
    labelled: Workspace, open_page: OpenPage
) -> None:
    base = labelled.base("notes")
    quote = {"document": "pump.txt", "quote": "Grease the bearing"}
    asked = [
        {"id": f"l{n}", "text": f"What is greased {n}?", "evidence": [quote]} for n in range(12)
    ]
    base.questions.import_file("large", "l.jsonl", "\n".join(map(json.dumps, asked)).encode())
    app = open_page("chat.py")
    assert "*large* has 12 labelled questions" in _line(app)
    base.runs.evaluate("checks", base.recipe())  # a newer run of the small set
    base.runs.evaluate("large", base.recipe())
    for page in ("metrics.py", "tuning.py", "runs.py"):
        app = open_page(page)
        assert (app.selectbox(key="set").value, "*large*" in _line(app)) == ("large", True)
    app.selectbox(key="set").set_value("checks").run()
    for page in ("chat.py", "documents.py", "metrics.py"):
        app.switch_page(page).run()
        assert "*checks*" in _line(app)


def test_the_line_is_about_a_set_that_was_just_imported(
    labelled: Workspace, open_page: OpenPage
) -> None:
    app = open_page("metrics.py")
    asked = json.dumps({"id": "m", "text": "What is greased?"}).encode()
    labelled.base("notes").questions.import_file("mine", "mine.jsonl", asked)
    app.session_state["metrics_next_set"] = "mine"
    app.run()
    assert app.selectbox(key="set").value == "mine"
    assert "*mine*" in _line(app)
