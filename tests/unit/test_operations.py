"""How a knowledge base does in use: what is counted of a turn, and figures over time."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rag import (
    Answer,
    Citation,
    SentenceCheck,
    Settings,
    Stage,
    TurnRow,
    answering,
    operation_figures,
    operation_periods,
    slowest_turns,
    worst_turns,
)
from rag.conversations.turn_metrics import log, log_turn, turn_metrics, write_log
from rag.types import Example, Usage
from tests.answers import hits, trace
from tests.workspaces import QUICK, add, workspace_at

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


FOUND = replace(trace(hits("one two three", "four five")), seconds=0.5)
PACKED = answering.with_context(FOUND, 10, lambda text: len(text.split()))
EXAMPLE = Example(3, "Why?", 0.8, 0.8, answer="So.")
ANSWER = Answer(
    "So [1].",
    (Citation(1, FOUND.hits[0]),),
    replace(PACKED, seconds=0.5),
    "grounded",
    "complete",
    Usage(40, 7),
    unsupported=(9,),
    examples=(EXAMPLE,),
    seconds=2.0,
    first_token=0.25,
    sentences=(
        SentenceCheck(0, 7, "unsupported", (1,)),
        SentenceCheck(8, 12, "uncited"),
        SentenceCheck(13, 20, "supported", (1,)),
    ),
)


def test_figures_of_an_answer():
    assert turn_metrics(ANSWER) == {
        "mode": "grounded",
        "decision": "complete",
        "state": None,
        "retrieved": 2,
        "mean_relevance": 0.5,
        "mean_score": 0.5,
        "budget_tokens": 10.0,
        "budget_share": 0.5,
        "from_cache": 0,
        "retrieval_seconds": 0.5,
        "first_token_seconds": 0.25,
        "total_seconds": 2.5,
        "prompt_tokens": 40,
        "completion_tokens": 7,
        "unread_tokens": 0,
        "cost": None,
        "currency": None,
        "cited": 1,
        "unsupported": 1,
        "unsupported_sentences": 2,
        "examples": 1,
    }


def test_a_result_from_the_cache_took_no_time():
    known = Stage("question", 1, 1, figures={"from_cache": 1.0})
    found = turn_metrics(replace(ANSWER, trace=replace(PACKED, stages=(known,), seconds=0.5)))
    assert (found["from_cache"], found["retrieval_seconds"], found["total_seconds"]) == (1, 0, 2)
    assert (found["budget_tokens"], found["budget_share"]) == (None, None)


def test_nothing_found_has_no_means():
    found = turn_metrics(Answer("No.", (), trace(()), "quotes", "refused"))
    assert (found["retrieved"], found["mean_relevance"], found["first_token_seconds"]) == (
        0,
        None,
        None,
    )


def test_they_are_stored_with_the_turn(home):
    workspace = workspace_at(home)
    base = workspace.create("notes", QUICK)
    assert add(workspace, base, {"a.txt": "Leave is carried over until June."}) == ["added"]
    talk = base.conversations.open(None)
    for _ in range(2):
        turn = base.conversations.ask(talk, "When is leave carried over until?", QUICK)
        answer = base.answer(base.search("When is leave carried over until?", QUICK), QUICK).answer
        base.conversations.conclude(turn, replace(answer, examples=(EXAMPLE,)))
    first, second = base.conversations.turns(talk)
    workspace.close()
    assert [turn.metrics["from_cache"] for turn in (first, second)] == [0, 1]
    assert (first.metrics["retrieved"], first.metrics["mode"]) == (1, "quotes")
    assert first.metrics["budget_share"] == 7 / 4000
    [example] = first.examples
    assert (example.turn, example.question, example.similarity) == (3, "Why?", 0.8)


@pytest.fixture
def quiet_log() -> Iterator[None]:
    """Takes back what was switched on."""
    yield
    log.handlers.clear()
    log.setLevel(logging.NOTSET)
    log.propagate = True


def test_a_line_of_the_log_has_figures_and_no_text(quiet_log, capsys):
    write_log()
    log_turn(2, 7, ANSWER)
    [line] = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["event"], told["knowledge_base"], told["turn"]) == ("turn", 2, 7)
    assert told["total_seconds"] == 2.5
    texts = {name for name, value in told.items() if isinstance(value, str)}
    assert texts == {"event", "mode", "decision"}


def test_nothing_is_logged_unless_it_is_asked_for():
    assert not Settings.from_env({}).turn_log
    assert Settings.from_env({"TOUCHSTONE_TURN_LOG": "1"}).turn_log
    assert not log.isEnabledFor(logging.INFO)
