"""Votes on two recipes, and the verb for them: the order is random, questions count once."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag import Answer, ArenaSummary, InvalidInput, KnowledgeBase, NotFound, SessionOwner, Trace
from rag.evaluation import capital, watched_mean
from tests.verbs import run_verb
from tests.workspaces import QUICK, add, workspace_at

OTHER = QUICK.with_fields({"search.top_k": 2})
VOTINGS, VOTES, QUESTIONS = 1000, 40, 20


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    workspace = workspace_at(tmp_path)
    yield workspace.create("notes", QUICK)
    workspace.close()


def answer(text: str) -> Answer:
    trace = Trace(text, QUICK.hash, 3, None, (), (), 0.5)
    return Answer(text, (), trace, "quotes", "complete")


def vote(base: KnowledgeBase, question: str, preferred: str, order: random.Random) -> None:
    """A vote for the answer with a text, wherever it stands, or a tie."""
    bout = base.conversations.arena.add(
        question, (QUICK, answer("mine")), (OTHER, answer("theirs")), order
    )
    held = base.conversations.arena.find(bout)
    left = held.left.answer["text"] == preferred
    side = "left" if left else "right"
    base.conversations.arena.vote(bout, preferred if preferred in ("tie", "both bad") else side)


def of(base: KnowledgeBase) -> ArenaSummary:
    [found] = base.conversations.arena.summaries()
    return found


def test_votes_count_for_the_recipe_and_not_for_the_side(base):
    order = random.Random(3)
    for number in range(12):
        vote(base, f"question {number}", "mine", order)
    found = of(base)
    ahead = found.rate if found.first == QUICK else 1 - found.rate
    assert (ahead, found.decided) == (1.0, True)
    assert (found.votes, found.questions) == (12, 12)
    assert {found.wins, found.losses} == {12, 0}


def test_both_orders_come_up(base):
    order = random.Random(5)
    pairs = (QUICK, answer("mine")), (OTHER, answer("theirs"))
    bouts = [
        base.conversations.arena.find(base.conversations.arena.add("why?", *pairs, order))
        for _ in range(12)
    ]
    assert {bout.left.answer["text"] for bout in bouts if bout} == {"mine", "theirs"}


def test_a_question_counts_once_however_often_it_is_asked(base):
    order = random.Random(1)
    for _ in range(40):
        vote(base, "Always  the same?", "mine", order)
    found = of(base)
    assert (found.votes, found.questions, found.decided) == (40, 1, False)
    vote(base, "always the same?", "tie", order)
    assert of(base).questions == 1


def test_ties_and_bad_answers_count_half(base):
    order = random.Random(1)
    for number, preferred in enumerate(("mine", "tie", "both bad", "theirs")):
        vote(base, f"question {number}", preferred, order)
    found = of(base)
    assert (found.rate, found.ties, found.both_bad, found.decided) == (0.5, 1, 1, False)
    assert found.interval.low < 0.5 < found.interval.high


def test_what_is_no_vote_or_another_s_is_refused(base):
    bout = base.conversations.arena.add("why?", (QUICK, answer("a")), (OTHER, answer("b")))
    with pytest.raises(InvalidInput):
        base.conversations.arena.vote(bout, "both")
    with pytest.raises(NotFound):
        base.conversations.arena.vote(bout + 1, "tie")
    assert base.conversations.arena.summaries() == []


def test_another_visitor_s_bouts_are_not_seen(tmp_path):
    workspace = workspace_at(tmp_path)
    mine = workspace.create("notes", QUICK)
    vote(mine, "why?", "tie", random.Random(1))
    other = workspace.base("notes", SessionOwner("other", ("other",)))
    assert other.conversations.arena.summaries() == []
    assert other.conversations.arena.find(1) is None
    with pytest.raises(NotFound):
        other.conversations.arena.vote(1, "left")
    workspace.close()


def test_the_interval_says_what_the_decision_says():
    for wins in range(0, 31, 3):
        figures = np.array([1.0] * wins + [-1.0] * (30 - wins))
        found = watched_mean(figures)
        made = capital(figures, np.zeros(1))[0]
        assert found.decided == (made >= np.log(20)) == (not found.low <= 0 <= found.high)
        assert -1 <= found.low <= found.mean <= found.high <= 1
    assert watched_mean(np.zeros(0)) == (0.0, -1.0, 1.0, False)


def test_eight_questions_of_one_mind_decide_and_seven_do_not():
    assert not watched_mean(np.ones(7)).decided
    assert watched_mean(np.ones(8)).decided


def test_two_equal_recipes_are_hardly_ever_told_apart_however_often_one_looks():
    """Questions come up again, their two answers stay, and voters look after every vote."""
    drawn = np.random.default_rng(7)
    leaning = drawn.choice([-0.9, 0.0, 0.9], (VOTINGS, QUESTIONS))  # how the answers fell out
    sums, counts = np.zeros_like(leaning), np.zeros_like(leaning)
    rows, ever = np.arange(VOTINGS), np.zeros(VOTINGS, bool)
    for _ in range(VOTES):
        asked = drawn.integers(QUESTIONS, size=VOTINGS)
        won = drawn.random(VOTINGS) < (1 + leaning[rows, asked]) / 2
        tied = drawn.random(VOTINGS) < 0.2
        sums[rows, asked] += np.where(tied, 0.0, np.where(won, 1.0, -1.0))
        counts[rows, asked] += 1
        # A question without a vote is a draw, on which nothing is won or lost.
        now = capital(sums / np.maximum(counts, 1), np.zeros(VOTINGS)) >= np.log(20)
        ever |= now
    said = f"{ever.sum()} after some vote, {now.sum()} at the end"
    print(f"two equal recipes, {VOTINGS} votings of {VOTES}: decided {said}")  # noqa: T201
    assert ever.sum() <= 0.05 * VOTINGS


def test_a_recipe_that_is_preferred_is_found_out():
    found = 0
    for seed in range(50):
        drawn = np.random.default_rng(seed)
        found += watched_mean(drawn.choice([1.0, 1.0, 1.0, 0.0, -1.0], 60)).decided
    assert found >= 30


ASK = "How long may unused leave be carried over?"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    workspace = workspace_at(tmp_path)
    base = workspace.create("notes", QUICK)
    files = {
        "leave.txt": "Unused leave may be carried over until 30 June.",
        "pump.txt": "The pump makes a grinding noise when its bearing is dry.",
    }
    assert set(add(workspace, base, files)) == {"added"}
    workspace.close()
    return tmp_path


def run(home: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    return run_verb(capsys, "arena", "notes", *arguments, "--home", home)


def test_a_pair_is_asked_voted_on_and_summed_up(home, capsys):
    code, asked, _ = run(home, capsys, "ask", ASK, "--against", "search.top_k=1")
    assert (code, asked["id"], asked["vote"]) == (0, 1, None)
    assert [asked[side]["recipe"] for side in ("left", "right")] == [None, None]
    assert "30 June" in asked["left"]["answer"]
    assert run(home, capsys)[1]["bouts"] == [asked]
    assert run(home, capsys, "summary")[1] == {"summaries": []}

    _, voted, _ = run(home, capsys, "vote", "1", "both bad")
    assert voted["vote"] == "both bad"
    names = {voted[side]["recipe"] for side in ("left", "right")}
    assert len(names) == 2
    assert None not in names
    assert run(home, capsys, "show", "1")[1] == voted
    [found] = run(home, capsys, "summary")[1]["summaries"]
    assert {found["first"], found["second"]} == names
    assert (found["votes"], found["both_bad"], found["rate"], found["decided"]) == (
        1,
        1,
        0.5,
        False,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["vote", "1"], "takes an id and a vote"),
        (["vote", "7", "left"], "no such pair of answers"),
        (["vote", "x", "left"], "is not the id of a pair of answers"),
        (["ask", ASK], "Both recipes are the same"),
        (["list", "1"], "takes nothing more"),
    ],
)
def test_what_makes_no_sense_is_refused(home, capsys, arguments, said):
    code, _, error = run(home, capsys, *arguments)
    assert code == 2
    assert said in error
