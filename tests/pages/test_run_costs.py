"""What the answers of runs took, on the Runs page."""

import pytest

from tests.answer_runs import Chat, with_chat


def test_what_answers_took_stands_beside_their_measures(labelled, open_page, monkeypatch):
    base = labelled.base("notes")
    quotes = base.runs.evaluate("checks", base.recipe()).run.id
    with_chat(monkeypatch, Chat())
    fields = {"answer.provider": "openai", "answer.model": "gpt-4o-mini"}
    job = base.runs.start_answers("checks", base.recipe().with_fields(fields))
    assert labelled.jobs.run(job).status == "done"
    run = base.runs.list_all()[0]
    tokens, cost = base.runs.spent("checks")[run.id]
    app = open_page("runs.py")
    table = app.dataframe[0].value
    assert list(table["Cost"].dropna()) == [cost]
    assert list(table["Tokens"].dropna()) == [tokens]
    app.selectbox(key="metric").select("Groundedness").run()
    shown = app.dataframe[0].value["Groundedness"]
    assert shown.max() == pytest.approx(run.metrics["groundedness"])
    base.runs.remove(run.id)
    assert "Cost" not in open_page("runs.py").dataframe[0].value.columns
    assert base.runs.get(quotes).metrics
