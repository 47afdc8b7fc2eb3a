"""What is counted and timed of a turn, and stored with it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rag import Answer, Citation, SentenceCheck, Settings, Stage, answering
from rag.conversations.turn_metrics import log, log_turn, turn_metrics, write_log
from rag.types import Example, Usage
from tests.answers import hits, trace
from tests.workspaces import QUICK, add, workspace_at

FOUND = replace(trace(hits("one two three", "four five")), seconds=0.5)
PACKED = answering.with_context(FOUND, 10, lambda text: len(text.split()))
EXAMPLE = Example(3, "Why?", "So.", 0.8, 0.8)
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
