"""The runs page says whose answers a judge prefers."""

from pages.components.shell.text import plain
from tests.answer_runs import Chat, with_chat
from tests.handbook import texts


def test_answers_of_two_runs_are_compared_by_a_judge(labelled, open_page, monkeypatch):
    with_chat(monkeypatch, Chat())
    base = labelled.base("notes")
    for top_k in (1, 2):
        recipe = base.recipe().with_fields({"search.top_k": top_k})
        labelled.jobs.run(base.runs.start_answers("checks", recipe))
    newer, older = (each.id for each in base.runs.list_all("checks"))
    labelled.jobs.run(base.runs.start_preferences(newer, older, "ollama:judge"))
    app = open_page("runs.py", runs=f"{newer},{older}")
    app.session_state[f"runs_prefer_{newer}_{older}"] = True
    app.session_state["runs_judge"] = "ollama:judge"
    app.run()
    assert not app.exception
    found = base.runs.preferences(newer, older, "ollama:judge")
    assert found.rate == 0.5
    assert plain(found.sentence) in texts(app)
