"""How a knowledge base does in use: figures over time, and the turns worth a look."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rag import TurnRow, operation_figures, operation_periods, slowest_turns, worst_turns

START = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)


def turn(number: int, minutes: float = 0, status: str = "complete", **more: Any) -> TurnRow:
    metrics = {"total_seconds": float(number), "cited": 1, **more.pop("metrics", {})}
    asked = START + timedelta(minutes=minutes)
    return TurnRow(
        number, 1, f"q{number}", status, "quotes", more.get("thumb", 0), 9, metrics, asked
    )


def test_figures_of_some_turns():
    told = {"prompt_tokens": 100, "completion_tokens": 20, "first_token_seconds": 0.5}
    found = operation_figures(
        [
            turn(1, thumb=1, metrics={**told, "from_cache": 1}),
            turn(2, status="refused", thumb=-1),
            turn(3, metrics={**told, "first_token_seconds": 1.5}),
            turn(100, status="failed"),
        ]
    )
    assert (found.questions, found.refused, found.failed, found.refused_share) == (4, 1, 1, 0.25)
    assert (found.p50, round(found.p95 or 0, 6), found.first_token) == (2.0, 2.9, 1.0)
    assert (found.prompt_tokens, found.completion_tokens, found.tokens) == (200, 40, 240)
    assert (found.from_cache, found.thumbs_up, found.thumbs_down) == (1, 1, 1)


def test_nothing_measured_has_no_times():
    found = operation_figures([turn(1, status="failed")])
    assert (found.p50, found.p95, found.first_token) == (None, None, None)
    assert operation_figures([]).refused_share is None


def test_hours_without_a_question_are_there():
    found = operation_periods([turn(1), turn(2, 20), turn(3, 125)])
    assert [(each.start.hour, each.figures.questions) for each in found] == [
        (10, 2),
        (11, 0),
        (12, 1),
    ]


def test_a_longer_span_is_counted_by_the_day():
    found = operation_periods([turn(1), turn(2, 4 * 24 * 60)])
    assert [(f"{each.start:%d %H}", each.figures.questions) for each in found] == [
        ("01 00", 1),
        ("02 00", 0),
        ("03 00", 0),
        ("04 00", 0),
        ("05 00", 1),
    ]
    assert operation_periods([]) == []


def test_the_slowest_and_the_worst():
    turns = [
        turn(1, status="refused"),
        turn(2, metrics={"unsupported": 2}),
        turn(3, thumb=-1),
        turn(4, status="failed"),
        turn(5, metrics={"cited": 0}),
        turn(6),
        turn(7, status="interrupted"),
        turn(8, thumb=-1),
        turn(9, metrics={"cited": 2, "unsupported": 0, "unsupported_sentences": 1}),
        turn(10, metrics={"cited": 2, "unsupported": 0, "unsupported_sentences": 3}),
        turn(11, metrics={"cited": 2, "unsupported": 0, "unsupported_sentences": 1}),
        turn(0, metrics={"unread_tokens": 900}),
    ]
    assert [each.id for each in slowest_turns(turns, 3)] == [11, 10, 9]
    assert [(each.id, wrong) for each, wrong in worst_turns(turns, 11)] == [
        (8, "thumb down"),
        (3, "thumb down"),
        (4, "failed"),
        (7, "interrupted"),
        (2, "unsupported"),
        (10, "unsupported sentence"),
        (11, "unsupported sentence"),
        (9, "unsupported sentence"),
        (5, "no citation"),
        (0, "cut prompt"),
        (1, "refused"),
    ]
    assert len(worst_turns(turns, 12)) == 11


def test_a_turn_from_before_anything_was_measured_has_the_time_of_its_search():
    old = TurnRow(1, 1, "q", "complete", "quotes", 0, 0.25, {}, START)
    assert operation_figures([old]).p50 == 0.25
    assert worst_turns([old], 1) == []
