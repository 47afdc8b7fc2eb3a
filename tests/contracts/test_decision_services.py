"""Decision models over real HTTP: both wires, what a server does wrong, as judge and as a check."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from rag import ProviderUnavailable, Run, Settings, Workspace, providers
from rag.errors import ProviderMisbehaved, ProviderRejected
from rag.protocols import DecisionModel
from rag.providers import RetryPolicy
from rag.storage.quality import answers
from rag.storage.quality.answers import StoredJudgement
from tests.runs import SET, WORDS, handbook
from tests.servers import Handler, Reply, Script, http_server, scripted
from tests.verbs import output_of
from tests.workspaces import add

KEY = "dd-secret-0123456789"
SWIFT = RetryPolicy(timeout=0.3, tries=1)
DECIDED = {"decisions": WORDS.with_fields({"answer.decider": "decisions:m"})}


def predicate(probability: Any, **more: Any) -> Reply:
    answer = {"type": "predicate", "name": "asked", "probability": probability}
    return Reply(body=json.dumps({"model": "m-1", "answers": [answer], **more}))


def noul(probability: Any) -> Reply:
    answers = {"asked": {"type": "noul", "noul": probability}}
    usage = {"input_tokens": 45, "output_tokens": 0}
    return Reply(body=json.dumps({"model": "jev-1", "answers": answers, "usage": usage}))


def service(script: Script, name: str) -> DecisionModel:
    wire = name.partition(":")[0].upper()
    variables = {
        f"TOUCHSTONE_{wire}_URL": f"{script.url}/v1",
        f"TOUCHSTONE_{wire}_API_KEY": KEY,
    }
    model = providers.decision_model(name, Settings.from_env(variables), SWIFT)
    assert model is not None
    return model


def test_both_wires_are_spoken_as_their_documentation_has_them():
    with scripted(predicate(0.75, usage={"input_tokens": 9})) as script:
        stated = service(script, "decisions:m").decide("Is it?", "A text.")
    assert (stated.value, stated.model, stated.usage.tokens) == (0.75, "m-1", 9)
    assert script.paths == ["/v1/decisions"]
    assert script.headers[0]["authorization"] == f"Bearer {KEY}"
    asked = {"type": "predicate", "name": "asked", "instructions": "Is it?"}
    assert script.requests == [{"model": "m", "input": "A text.", "questions": [asked]}]
    with scripted(noul(1)) as script:
        stated = service(script, "systemone").decide("Is it?", "A text.")
    assert (stated.value, stated.model, stated.usage.tokens) == (1.0, "jev-1", 45)
    assert script.paths == ["/v1/systemone"]
    questions = {"asked": {"type": "noul", "instructions": "Is it?"}}
    assert script.requests == [{"state": "A text.", "questions": questions}]


@pytest.mark.parametrize(
    "reply",
    [
        *(predicate(value) for value in (1.01, -0.1, float("nan"), True, "0.5", None)),
        Reply(body='{"answers": [{"type": "refusal", "name": "asked"}]}'),
        *(Reply(body=body) for body in ("{}", "[]", "1", '{"answers": []}', "no JSON")),
    ],
)
def test_what_is_no_probability_is_an_error_and_never_a_number(reply):
    with scripted(reply) as script, pytest.raises(ProviderMisbehaved):
        service(script, "decisions:m").decide("Is it?", "A text.")


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(429, "slow down", {"Retry-After": "3"}), ProviderUnavailable),
        (Reply(500, "broken"), ProviderUnavailable),
        (Reply(401, f"bad key {KEY}"), ProviderRejected),
        (Reply(body="{}", delay=1.0), ProviderUnavailable),
        (Reply(body="{}", cut=True), ProviderUnavailable),
    ],
)
def test_a_failing_server_is_an_error_with_a_hint_and_without_the_key(reply, error):
    with scripted(reply) as script, pytest.raises(error) as caught:
        service(script, "decisions:m").decide("Is it?", "A text.")
    assert caught.value.hint
    assert KEY not in f"{caught.value.message} {caught.value.hint}"


@contextmanager
def deciding(
    monkeypatch: pytest.MonkeyPatch, decide: Callable[[str], Any], requests: list[str]
) -> Iterator[Workspace]:
    """A workspace with a decision service whose probability depends on the text that is sent."""

    class Decisions(Handler):
        def respond(self) -> None:
            text = json.loads(self.body())["input"]
            requests.append(text)
            value = decide(text)
            reply = value if isinstance(value, Reply) else predicate(value)
            self.answer(str(reply.body).encode(), reply.status)

    with http_server(Decisions) as url:
        monkeypatch.setenv("TOUCHSTONE_DECISIONS_URL", url)
        with closing(Workspace(Settings.from_env(os.environ))) as workspace:
            yield workspace


def graded(workspace: Workspace, run: Run) -> list[StoredJudgement]:
    with workspace._services.database.read() as connection:
        return answers.judgements_of_run(connection, run.id, "decisions:m")


def test_a_judge_that_lies_pauses_and_goes_on_where_it_was(home, monkeypatch):
    handbook(home)
    replies = iter([0.9, 0.2])
    asked = list[str]()
    with deciding(monkeypatch, lambda _: next(replies, 2.0), asked) as workspace:
        base = workspace.base("handbook")
        run = base.runs.evaluate(SET, WORDS).run
        hits = sum(len(row.ranking) for row in base.runs.results(run.id))
        paused = workspace.jobs.run(base.runs.start_judging(run.id, "decisions:m"))
        assert paused.paused
        assert "2.0" in paused.message
        first = graded(workspace, run)
        assert sorted(one.stated for one in first) == [0.2, 0.9]
        assert {one.stated: one.grade for one in first} == {0.2: 0, 0.9: 3}
        assert {(one.model, one.rubric) for one in first} == {("m-1", "decision-1")}
        replies, before = iter([0.4] * hits), len(asked)
        done = workspace.jobs.run(base.runs.start_judging(run.id, "decisions:m"))
        assert done.status == "done"
        assert not done.paused
        assert len(asked) - before == hits - 2
        assert len(graded(workspace, run)) == hits


NUMBER = 24


def test_labels_of_people_set_the_threshold_and_draw_the_reliability(home, monkeypatch, capsys):
    """The judge states .9 of what answers and .7 of the rest: only labels tell them apart."""
    texts = {f"unit{n}.txt": f"Unit {n} weighs {n + 100} kilograms." for n in range(NUMBER)}

    def decide(text: str) -> float:
        question, passage = text.split("passage:")
        number = question.split("unit ")[1].split(" ")[0]
        return 0.9 if f"Unit {number} " in passage else 0.7

    with deciding(monkeypatch, decide, []) as workspace:
        base = workspace.create("units", WORDS)
        add(workspace, base, texts)
        questions = [
            {
                "id": f"q{n}",
                "text": f"What does unit {n} weigh?",
                "evidence": [
                    {"document": name, "quote": text, "grade": int(name == f"unit{n}.txt")}
                    for name, text in texts.items()
                ],
            }
            for n in range(NUMBER)
        ]
        lines = "\n".join(map(json.dumps, questions))
        base.questions.import_file(SET, "questions.jsonl", lines)
        run = base.runs.evaluate(SET, WORDS).run
        calibration = output_of(capsys, "judge", "units", SET, "--judge", "decisions:m")[
            "calibration"
        ]
        assert calibration["fitted"]
        assert 0.7 < calibration["threshold"] < 0.9
        bins = {round(one["predicted"], 2): one for one in calibration["bins"]}
        assert {key: one["observed"] for key, one in bins.items()} == {0.7: 0.0, 0.9: 1.0}
        assert sum(one["count"] for one in bins.values()) == calibration["hits"]
        scores = calibration["quality"]
        irrelevant = calibration["hits"] - calibration["relevant"]
        expected = (0.01 * calibration["relevant"] + 0.49 * irrelevant) / calibration["hits"]
        assert scores["brier"] == pytest.approx(expected)
        grades = {(one.stated, one.grade) for one in graded(workspace, run)}
        assert grades == {(0.9, 3), (0.7, 0)}
        few = base.runs.judge_calibration(run.id, "no judge")
        assert few is None


QUESTION = "What may a hotel cost?"


def test_a_low_probability_makes_an_answer_doubtful_and_a_high_one_no_answer_sure(
    home, monkeypatch
):
    handbook(home)
    asked, stated = list[str](), [0.3]
    with deciding(monkeypatch, lambda _: stated[0], asked) as workspace:
        base = workspace.base("handbook")
        decided = DECIDED["decisions"]
        assert base.ask(QUESTION, WORDS).answer.state == "answered"
        assert asked == []
        doubted = base.ask(QUESTION, decided).answer
        assert doubted.state == "doubtful"
        assert "30%" in doubted.assessment.reason
        assert not any(citation.answers for citation in doubted.citations)
        assert "140 euros" in asked[0]
        assert QUESTION in asked[0]
        lower = decided.with_fields({"answer.sufficient": 0.3})
        assert base.ask(QUESTION, lower).answer.state == "answered"
        stated[0], before = 1.0, len(asked)
        refused = base.ask("Who won the cup in 1954?", decided).answer
        assert refused.state == "refused"
        unsure = base.ask("What may a hotel in Zanzibar cost?", WORDS).answer
        assert unsure.state == "doubtful"
        assert base.ask("What may a hotel in Zanzibar cost?", decided).answer.state == "doubtful"
        assert len(asked) == before
        stated[0] = Reply(500, "broken")
        kept = base.ask(QUESTION, decided).answer
        assert kept.state == "answered"
        assert "500" in kept.assessment.reason


def test_recipes_without_a_decision_model_keep_their_hash():
    assert WORDS.with_fields({"answer.decider": None}).hash == WORDS.hash
    assert DECIDED["decisions"].hash != WORDS.hash
