"""A judge that compares the answers of two runs: both orders, ties, groups, budget, going on."""

import re
from collections.abc import Iterator, Sequence

import pytest

from rag import Budget, InvalidInput, KnowledgeBase, Message, Workspace
from rag.types import Delta, Usage
from tests.answer_runs import ASKED, ASKING, COUNT, Chat, evaluated, with_chat
from tests.runs import SET

OTHER = ASKING.with_fields({"answer.model": "other"})
JUDGE = "ollama:judge"


@pytest.fixture
def workspace(parts: tuple[Workspace, KnowledgeBase]) -> Workspace:
    return parts[0]


class Prefers(Chat):
    """Says which of two answers is better by what it finds in them; ``place`` where that is all."""

    def __init__(self, place: int | None = None) -> None:
        super().__init__()
        self.place = place
        self.said = "It is in the handbook [1]."

    def reply(self, _prompt: str) -> str:
        return self.said

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        if "two answers" not in messages[0].content:
            yield from super().stream(messages, temperature=temperature, max_tokens=max_tokens)
            return
        self.calls += 1
        first, second = (_part(messages[1].content, name) for name in ("first", "second"))
        grade = self.place
        if grade is None:
            grade = 1 if "better" in first else 2 if "better" in second else 0
        yield Delta(f'{{"reason": "so", "grade": {grade}}}')
        yield Delta(usage=Usage(100, 10))


def _part(text: str, name: str) -> str:
    return re.split(rf"(?m)^{name}:$", text)[1].split("\n\n")[0]


def runs(
    workspace: Workspace, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, chat: Prefers
) -> tuple[str, str]:
    """A run with better answers, and one with other words."""
    with_chat(monkeypatch, chat)
    evaluated(workspace, base, ASKING)
    chat.said = "It is in the handbook, which is better [1]."
    evaluated(workspace, base, OTHER)
    chat.calls = 0
    better, worse = (run.id for run in base.runs.list_all())
    return better, worse


def told(workspace: Workspace, base: KnowledgeBase, job: int) -> str:
    done = workspace.jobs.run(job)
    assert done.status == "done", done.message
    return done.message


def test_the_better_run_wins_in_both_orders(workspace, base, monkeypatch):
    chat = Prefers()
    better, worse = runs(workspace, base, monkeypatch, chat)
    said = told(workspace, base, base.runs.start_preferences(better, worse, JUDGE))
    assert said == f"{COUNT} pairs of answers compared."
    assert chat.calls == 2 * ASKED  # the fifth question was refused by both, in the same words
    found = base.runs.preferences(better, worse, JUDGE)
    assert (found.questions, found.wins, found.losses, found.ties) == (COUNT, ASKED, 0, 1)
    assert found.rate == pytest.approx((ASKED + 0.5) / COUNT)
    assert found.tokens == 2 * ASKED * 110
    assert found.cost == "0.00 USD"
    told(workspace, base, base.runs.start_preferences(worse, better, JUDGE))
    back = base.runs.preferences(worse, better, JUDGE)
    assert (back.wins, back.losses) == (0, ASKED)
    assert back.rate == pytest.approx(1 - found.rate)


def test_five_questions_decide_nothing(workspace, base, monkeypatch):
    chat = Prefers()
    better, worse = runs(workspace, base, monkeypatch, chat)
    told(workspace, base, base.runs.start_preferences(better, worse, JUDGE))
    said = base.runs.preferences(better, worse, JUDGE)
    assert said.verdict == "undecided"
    assert said.sentence.endswith("5 questions, 4 better, 0 worse, 1 tied.")
    assert said.interval.low <= 0.5 <= said.interval.high


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_judge_that_goes_by_the_place_comes_to_ties(workspace, base, monkeypatch, place):
    better, worse = runs(workspace, base, monkeypatch, Prefers(place))
    told(workspace, base, base.runs.start_preferences(better, worse, JUDGE))
    found = base.runs.preferences(better, worse, JUDGE)
    assert (found.wins, found.losses, found.ties, found.rate) == (0, 0, COUNT, 0.5)


def test_a_budget_pauses_and_nothing_is_asked_twice(workspace, base, monkeypatch):
    monkeypatch.setattr("rag.experiments.runs.quality.model_calls.AT_ONCE", 1)
    chat = Prefers()
    better, worse = runs(workspace, base, monkeypatch, chat)
    told(
        workspace,
        base,
        base.runs.start_preferences(better, worse, JUDGE, budget=Budget(tokens=200)),
    )
    assert base.runs.preferences(better, worse, JUDGE).open == COUNT - 1
    told(workspace, base, base.runs.start_preferences(better, worse, JUDGE))
    assert chat.calls == 2 * ASKED
    assert base.runs.preferences(better, worse, JUDGE).open == 0


def test_replies_that_are_no_preference_count_toward_the_budget(workspace, base, monkeypatch):
    monkeypatch.setattr("rag.experiments.runs.quality.model_calls.AT_ONCE", 1)
    chat = Prefers(place=7)  # no grade of the rubric
    better, worse = runs(workspace, base, monkeypatch, chat)
    told(
        workspace,
        base,
        base.runs.start_preferences(better, worse, JUDGE, budget=Budget(tokens=440)),
    )
    assert chat.calls == 4  # two questions, each asked twice in the first order


def test_runs_without_answers_have_nothing_to_compare(workspace, base, monkeypatch):
    better, _ = runs(workspace, base, monkeypatch, Prefers())
    bare = base.runs.evaluate(SET, ASKING).run.id
    with pytest.raises(InvalidInput, match=f"Run {bare} has no answers"):
        base.runs.start_preferences(better, bare, JUDGE)
    with pytest.raises(InvalidInput, match="two runs of one question set"):
        base.runs.start_preferences(better, better, JUDGE)
