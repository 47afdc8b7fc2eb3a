"""What answers and judges cost: by the table, by a file of one's own, and as a budget."""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import pytest

from rag import (
    Budget,
    Cost,
    InvalidFile,
    InvalidInput,
    KnowledgeBase,
    Message,
    Settings,
    Workspace,
    cost_text,
    money,
)
from rag.providers import price_of, read_prices
from rag.types import Delta, Usage
from tests.answer_runs import ASKED, ASKING, PRICED, Chat, evaluated, with_chat
from tests.runs import SET

OWN = """
[prices]
currency = "EUR"
date = 2026-11-01

[[price]]
provider = "openai"
model = "gpt-4o-mini"
input = 10
output = 100.0

[[price]]
provider = "groq"
model = "*"
"""
SETTINGS = Settings(Path(), "sqlite://")


@pytest.fixture
def workspace(parts: tuple[Workspace, KnowledgeBase]) -> Workspace:
    return parts[0]


def test_the_table_knows_some_models_and_says_so_of_the_others():
    known = price_of("openai", "gpt-4o-mini", SETTINGS)
    assert (known.currency, known.date) == ("USD", date(2026, 4, 5))
    assert known.of(Usage(1_000_000, 500_000)) == Cost(0.45, "USD")
    assert known.of(Usage()) is None  # tokens that nobody told are not free
    assert price_of("openai", None, SETTINGS) == known  # the provider's default
    assert price_of("mistral", "mistral-small-latest", SETTINGS) is None
    assert price_of("extractive", None, SETTINGS) is None


def test_local_models_are_free_because_the_table_says_so():
    local = price_of("ollama", "llama3.2", SETTINGS)
    assert local.of(Usage(1000, 10)) == Cost(0.0, "USD")
    hosted = price_of("ollama", "gpt-oss:120b-cloud", SETTINGS)
    assert hosted.of(Usage(1000, 10)) is None
    assert price_of("compatible", "anything", SETTINGS) is None


def test_a_file_of_ones_own_goes_before_the_table(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(OWN)
    own = read_prices(file)
    dear = price_of("openai", "gpt-4o-mini", SETTINGS, own)
    assert dear.of(Usage(1_000_000, 10_000)) == Cost(11.0, "EUR")
    assert price_of("openai", "gpt-4o", SETTINGS, own) == price_of("openai", "gpt-4o", SETTINGS)
    unknown = price_of("groq", "llama-3.3-70b-versatile", SETTINGS, own)
    assert unknown.of(Usage(1000, 10)) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[prices", "cannot be read"),
        ("[[price]]\nprovider = 'openai'", "lack a currency or a date"),
        (OWN.replace("100.0", "-1"), "not usable"),
        (OWN.replace("output = 100.0", ""), "not usable"),
    ],
)
def test_a_file_that_is_wrong_is_told_at_the_start(tmp_path, text, said):
    file = tmp_path / "prices.toml"
    file.write_text(text)
    environment = {"TOUCHSTONE_HOME": str(tmp_path), "TOUCHSTONE_PRICES": str(file)}
    with pytest.raises(InvalidFile, match=said):
        Workspace(Settings.from_env(environment))
    with pytest.raises(InvalidInput, match="which is not a file"):
        Settings.from_env({**environment, "TOUCHSTONE_PRICES": str(tmp_path / "none")})


def test_settings_with_a_file_of_prices_go_to_another_process(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(OWN)
    told = Settings.from_env({"TOUCHSTONE_HOME": str(tmp_path), "TOUCHSTONE_PRICES": str(file)})
    assert Settings.from_json(told.as_json()) == told


def test_money_is_told_with_digits_that_count():
    assert [money(each, "USD") for each in (0.0, 12.345, 0.0123, 0.000021)] == [
        "0.00 USD",
        "12.35 USD",
        "0.0123 USD",
        "0.000021 USD",
    ]
    assert cost_text([]) == ""
    assert cost_text([None, None]) == "cost unknown"
    assert cost_text([Cost(1, "USD"), None, Cost(2, "USD")]) == "3.00 USD, not known for 1"
    assert cost_text([Cost(1, "USD"), Cost(2, "EUR")]) == "2.00 EUR and 1.00 USD"


def test_a_run_knows_what_its_answers_and_its_judge_cost(workspace, base, monkeypatch):
    with_chat(monkeypatch, Chat())
    monkeypatch.setattr("rag.evaluation.judges._grade", lambda *_: (1, "so"))
    evaluated(workspace, base, PRICED, judge="openai:gpt-4o")
    (run,) = base.runs.list_all()
    answers = base.runs.answers(run.id)
    asked = [each for each in answers.values() if each.tokens]
    assert len(asked) == ASKED
    one = (100 * 0.15 + 10 * 0.60) / 1e6
    assert [each.price for each in asked] == [Cost(pytest.approx(one), "USD")] * ASKED
    graded = (100 * 2.50 + 10 * 10.0) / 1e6
    assert [each.judge_cost for each in asked] == [pytest.approx(graded)] * ASKED
    assert {each.judge_tokens for each in asked} == {110}
    assert "0.000084 USD" in run.environment["answers"]
    assert f"judge {110 * ASKED} tokens, 0.0014 USD" in run.environment["answers"]
    base.runs.evaluate(SET, ASKING)  # without answers, and without a bill
    assert base.runs.spent(SET) == {run.id: (2 * 110 * ASKED, "0.0015 USD")}


def test_a_price_that_is_not_known_is_said(workspace, base, monkeypatch):
    with_chat(monkeypatch, Chat())
    evaluated(workspace, base, ASKING.with_fields({"answer.provider": "mistral"}))
    (run,) = base.runs.list_all()
    assert run.environment["answers"].endswith("cost unknown")
    assert base.runs.spent(SET) == {run.id: (110 * ASKED, "cost unknown")}


@pytest.mark.parametrize("budget", [Budget(tokens=110), Budget(money=0.000001)])
def test_tokens_and_money_pause_the_answers(workspace, base, monkeypatch, budget):
    monkeypatch.setattr("rag.experiments.runs.quality.model_calls.AT_ONCE", 1)
    chat = Chat()
    with_chat(monkeypatch, chat)
    said = evaluated(workspace, base, PRICED, budget=budget)
    assert chat.calls == 1
    assert said.startswith("Paused at the budget: ")
    evaluated(workspace, base, PRICED)
    assert chat.calls == ASKED


class Nonsense(Chat):
    """Answers, and gives no grade as a judge: twice 110 tokens for nothing."""

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        judging = "grade" in messages[0].content
        for delta in super().stream(messages, temperature=temperature, max_tokens=max_tokens):
            yield Delta("I would rather not.") if judging and delta.text else delta


@pytest.mark.parametrize("budget", [Budget(tokens=440), Budget(money=0.0012)])
def test_replies_that_are_no_grade_count_toward_the_budget_of_a_judge(
    workspace, base, monkeypatch, budget
):
    monkeypatch.setattr("rag.experiments.runs.quality.model_calls.AT_ONCE", 1)
    run = base.runs.evaluate(SET, ASKING).run
    chat = Nonsense()
    with_chat(monkeypatch, chat)
    job = base.runs.start_judging(run.id, "openai:gpt-4o", budget=budget)
    said = workspace.jobs.run(job).message
    assert said.startswith("Paused at the budget: 0 of ")
    assert chat.calls == 4  # two hits, each asked twice


@pytest.mark.parametrize("budget", [Budget(tokens=330), Budget(money=0.0007)])
def test_replies_that_are_no_grade_count_toward_the_budget_of_answers(
    workspace, base, monkeypatch, budget
):
    monkeypatch.setattr("rag.experiments.runs.quality.model_calls.AT_ONCE", 1)
    chat = Nonsense()
    with_chat(monkeypatch, chat)
    said = evaluated(workspace, base, PRICED, judge="openai:gpt-4o", budget=budget)
    assert said.startswith("Paused at the budget: ")
    assert chat.calls == 3  # an answer, and two tries to grade it
    evaluated(workspace, base, PRICED, judge="openai:gpt-4o")
    (run,) = base.runs.list_all()
    held = base.runs.answers(run.id).values()
    assert {each.judge_tokens for each in held if each.tokens} == {220}
    assert base.runs.spent(SET) == {run.id: (ASKED * 330, "0.0029 USD")}


def test_a_budget_of_nothing_is_refused(base):
    with pytest.raises(InvalidInput, match="greater than 0"):
        base.runs.start_answers(SET, ASKING, budget=Budget(tokens=0))
