"""The operations page: figures of use over time, and the turns worth a look."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from streamlit.testing.v1 import AppTest

from rag import KnowledgeBase, OperationPeriod, SessionOwner, operation_periods
from tests.answer_runs import Chat, with_chat
from tests.answers import asked
from tests.handbook import LEAVE, texts, visit
from tests.workspaces import workspace_at


def told(base: KnowledgeBase, question: str, threshold: float = 0.2) -> int:
    return asked(base, question, base.recipe().with_fields({"search.threshold": threshold})).id


def test_the_page_is_listed_once_somebody_asked(base):
    assert not base.conversations.has_turns()
    told(base, LEAVE)
    assert base.conversations.has_turns()


def test_questions_refusals_and_thumbs_are_counted(base):
    base.conversations.rate(told(base, LEAVE), 1)
    told(base, "zebra quux", 0.99)
    app = visit("usage.py", usage="Operations")
    shown = {each.label: each.value for each in app.metric}
    assert (shown["Questions"], shown["Failed"]) == ("2", "0")
    assert shown["Doubtful, refused"] == "0%, 50%"
    assert (shown["Thumbs up"], shown["Tokens"]) == ("1 of 1", "–")
    said = texts(app)
    assert ":orange-badge[refused] zebra quux" in said
    assert not app.get("plotly_chart")  # of one hour, the cards say it all


def test_what_happened_at_several_times_is_drawn_over_time(base):
    told(base, LEAVE)
    [period] = operation_periods(base.conversations.all_turns())
    later = replace(period, start=period.start + timedelta(hours=1))

    def drawn(periods: Sequence[OperationPeriod]) -> list[str]:
        app = AppTest.from_function(_charts, args=(list(periods),)).run()
        assert not app.exception
        return [each.proto.id.rpartition("operations_")[2] for each in app.get("plotly_chart")]

    assert drawn([period, later]) == ["questions", "times"]  # no tokens, refusals and thumbs
    assert drawn([period]) == []


def test_thumbs_down_are_counted_in_whole_numbers_above_zero(base):
    base.conversations.rate(told(base, LEAVE), -1)
    [period] = operation_periods(base.conversations.all_turns())
    later = replace(period, start=period.start + timedelta(hours=1))
    app = AppTest.from_function(_charts, args=([period, later],)).run()
    assert not app.exception
    (chart,) = (one for one in app.get("plotly_chart") if one.proto.id.endswith("_thumbs"))
    figure = json.loads(chart.proto.spec)
    assert [(bar["name"], bar["y"]) for bar in figure["data"]] == [("down", [1, 1])]
    assert figure["layout"]["yaxis"]["dtick"] == 1


def _charts(periods: list) -> None:
    from pages.components.usage.operations import charts

    charts(periods)


def test_a_turn_opens_in_the_inspector(base):
    turn = told(base, LEAVE)
    app = visit("usage.py", usage="Operations")
    app.button(key=f"operations_slow_{turn}").click().run()
    assert not app.exception
    assert app.query_params["q"] == LEAVE


def test_what_another_visitor_asked_is_counted_and_not_told(home, base):
    other = workspace_at(home)
    told(other.base("handbook", SessionOwner("someone", ("someone",))), LEAVE)
    other.close()
    app = visit("usage.py", usage="Operations")
    assert {each.label: each.value for each in app.metric}["Questions"] == "1"
    assert LEAVE.rstrip("?") not in texts(app)


def test_money_is_told_where_the_price_is_known(base, monkeypatch):
    with_chat(monkeypatch, Chat())
    for model in ("openai", "openai", "mistral"):
        asked(base, LEAVE, base.recipe().with_fields({"answer.provider": model}))
    app = visit("usage.py", usage="Operations")
    # Twice 100 tokens of a prompt and 10 of an answer, at 0.15 and 0.60 for a million.
    assert {each.label: each.value for each in app.metric}["Cost, USD"] == "0.000042"
    said = texts(app)
    assert "100 + 10 tokens · 0.000021 USD" in said
    assert "100 + 10 tokens · cost unknown" in said


def test_an_answer_that_its_sources_do_not_bear_out_is_among_the_worst(base, monkeypatch):
    with_chat(monkeypatch, Chat())
    asked(base, LEAVE, base.recipe().with_fields({"answer.provider": "openai"}))
    said = texts(visit("usage.py", usage="Operations"))
    assert f":orange-badge[not supported] {LEAVE.rstrip('?')}" in said
    assert "1 cited · 1 unsupported sentence · " in said
