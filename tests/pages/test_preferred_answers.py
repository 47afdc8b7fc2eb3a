"""The memory page says whether memory helps, and the runs page whose answers a judge prefers."""

from pages.components.shell.text import plain
from tests.answer_runs import Chat, with_chat
from tests.handbook import texts


def test_memory_is_measured_and_told(labelled, open_page, monkeypatch):
    with_chat(monkeypatch, Chat())
    base = labelled.base("notes")
    quotes = base.recipe()
    turn = base.conversations.ask(base.conversations.open(None), "What is it?", quotes)
    base.conversations.conclude(turn, base.ask("What is it?", quotes).answer)
    recipe = quotes.with_fields({"answer.provider": "ollama", "answer.model": "small"})
    base.save_recipe(recipe)
    app = open_page("usage.py", usage="Memory")
    app.session_state["memory_benefit"] = True
    app.run()
    app.button(key="memory_measure").click().run()
    assert not app.exception
    for job in base.runs.memory_trial_jobs("checks", recipe):
        assert labelled.jobs.run(job.id).status == "done"
    app.run()
    assert not app.exception
    found = base.runs.memory_effect("checks", recipe)
    assert plain(found.sentence) in texts(app)


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
