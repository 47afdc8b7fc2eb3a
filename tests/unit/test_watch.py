"""The drift watch: looks against a reference, alarms, exit codes and the webhook."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag import (
    Answer,
    InvalidInput,
    KnowledgeBase,
    ProviderUnavailable,
    TouchstoneError,
    Trace,
    WatchReport,
    Workspace,
)
from rag.__main__ import main
from rag.errors import BlockedAddress
from rag.evaluation.inference.two_samples import energy_test
from rag.network.posting import post_json
from rag.providers.hashing import HashingEmbedder
from rag.services import Models
from rag.types import Vectors
from rag.watch import observing, watches
from rag.watch.observing import Observation
from tests.servers import Reply, scripted
from tests.workspaces import QUICK, add, fill_home, workspace_at

SET = "watched"
_WORDS = (
    *("leave", "pump", "hotel", "train", "valve", "salary", "fire", "parking", "canteen"),
    *("laptop", "visitor", "badge", "printer", "garden", "library"),
)
_FILES: dict[str, str | bytes] = {
    f"{word}.md": f"The {word} is described in rule {number}." for number, word in enumerate(_WORDS)
}


def _prepare(home: Path) -> None:
    workspace = workspace_at(home)
    base = workspace.create("rules", QUICK)
    add(workspace, base, _FILES)
    rows = [
        {
            "id": word,
            "text": f"What does the rule say about the {word}?",
            "evidence": [{"document": f"{word}.md", "quote": f"The {word} is described"}],
            "tags": ["canary"] if word in ("pump", "hotel") else [],
        }
        for word in _WORDS
    ]
    base.exchange.import_file(SET, "watched.jsonl", "\n".join(map(json.dumps, rows)))
    workspace.close()


@pytest.fixture
def workspace(home: Path) -> Workspace:
    fill_home(home, _prepare)
    return workspace_at(home)


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("rules")


def _look(workspace: Workspace, *, reset: bool = False) -> WatchReport:
    base = workspace.base("rules")
    job = base.watches.start(SET, QUICK, reset=reset)
    done = workspace.jobs.run(job)
    assert done.status == "done", done.message
    return base.watches.look_of(job).report


def test_the_first_look_is_the_reference_and_the_same_again_passes(workspace: Workspace) -> None:
    first = _look(workspace)
    assert (first.outcome, first.canaries, first.metrics) == ("reference", 2, None)
    again = _look(workspace)
    assert (again.outcome, again.headline) == (
        "passed",
        "No drift beyond chance since the reference.",
    )
    assert again.metrics is not None
    assert (again.metrics.verdict, again.metrics.number, again.metrics.p) == ("same", 0, 1.0)
    assert again.vectors.lowest == 1.0
    assert (again.vectors.sampled, again.vectors.foreign) == (10, 0)
    assert [look.report.outcome for look in workspace.base("rules").watches.looks(SET)] == [
        "passed",
        "reference",
    ]


class _OtherModel:
    """The embedder after its provider changed the model."""

    def __init__(self, before: HashingEmbedder) -> None:
        self._before = before
        self.id, self.dimension, self.tokenizer = before.id, before.dimension, before.tokenizer

    def embed(self, texts: Sequence[str], input_type: str) -> Vectors:
        turned = np.roll(self._before.embed(texts, "document"), 7, axis=1)
        return np.asarray(turned, np.float32)


def test_a_changed_model_is_seen_by_vectors_of_sentences_and_of_the_index(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    _look(workspace)
    embedder = Models.embedder
    changed = _OtherModel(embedder(workspace._services.models, "fake"))  # type: ignore[arg-type]
    monkeypatch.setattr(Models, "embedder", lambda _models, _name: changed)
    report = _look(workspace)
    assert report.outcome == "drifted"
    assert len(report.vectors.moved) == 10
    assert report.vectors.lowest < 0.5
    assert report.vectors.foreign == report.vectors.sampled == 10
    assert "The provider changed the model." in report.findings[0]
    assert "Embed the documents again." in report.findings[1]


def test_lost_documents_are_drift_of_metrics_and_canaries(
    workspace: Workspace, base: KnowledgeBase
) -> None:
    _look(workspace)
    kept = {"leave.md", "train.md"}
    rows = base.documents.documents(QUICK.index)
    base.documents.delete_documents([row.id for row in rows if row.name not in kept])
    report = _look(workspace)
    assert report.metrics is not None
    assert (report.metrics.verdict, report.metrics.number, report.metrics.lost) == ("worse", 1, 13)
    assert report.metrics.level == 0.02
    assert report.metrics.p <= 0.02
    assert [change.question for change in report.changed] == [
        "What does the rule say about the pump?",
        "What does the rule say about the hotel?",
    ]
    assert report.changed[0].before.startswith("expected passage found")
    assert report.changed[0].now.startswith("expected passage not found")
    assert "The documents changed since the reference." in report.notes
    again = _look(workspace)
    assert again.metrics == report.metrics  # the same figures are no new test
    assert _look(workspace, reset=True).outcome == "reference"
    assert _look(workspace).outcome == "passed"


def test_another_set_or_recipe_is_incomparable(workspace: Workspace, base: KnowledgeBase) -> None:
    _look(workspace)
    recipe = QUICK.with_fields({"search.top_k": 3})
    job = base.watches.start(SET, recipe)
    workspace.jobs.run(job)
    report = base.watches.look_of(job).report
    assert (report.outcome, report.metrics, report.changed) == ("incomparable", None, ())
    assert report.obstacles == (
        f"The recipe is {recipe.hash}, that of the reference was {QUICK.hash}.",
    )
    base.question_edits.add_question(SET, "Who pays lunch?", answerable=False)
    assert _look(workspace).obstacles == (
        "Questions or labels of the set changed since the reference.",
    )


def test_a_look_that_cannot_be_compared_spends_nothing_of_the_alpha(
    workspace: Workspace, base: KnowledgeBase
) -> None:
    _look(workspace)
    rows = {row.name: row.id for row in base.documents.documents(QUICK.index)}
    base.documents.delete_documents([rows["pump.md"]])
    first = _look(workspace).metrics
    workspace.jobs.run(base.watches.start(SET, QUICK.with_fields({"search.top_k": 3})))
    base.documents.delete_documents([rows["hotel.md"]])
    second = _look(workspace).metrics
    assert first is not None
    assert second is not None
    assert [(drift.number, drift.level) for drift in (first, second)] == [(1, 0.02), (2, 0.015)]


def test_a_set_that_is_deleted_during_a_look_is_named(
    workspace: Workspace, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def observe(*arguments: Any) -> Observation:
        observation = observing.observe(*arguments)
        base.question_edits.delete_set(SET)
        return observation

    monkeypatch.setattr(watches, "observe", observe)
    done = workspace.jobs.run(base.watches.start(SET, QUICK))
    assert done.status == "failed"
    assert done.message.startswith(f"There is no question set named '{SET}'")


def test_of_two_first_looks_at_once_one_is_the_reference(
    workspace: Workspace, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = watches.observe

    def observe(*arguments: Any) -> Observation:
        observation = other(*arguments)
        monkeypatch.setattr(watches, "observe", other)
        _look(workspace)
        return observation

    monkeypatch.setattr(watches, "observe", observe)
    recipe = QUICK.with_fields({"search.top_k": 3})
    done = workspace.jobs.run(base.watches.start(SET, recipe))
    assert done.status == "failed"
    assert done.message.startswith(f"The question set '{SET}' or its reference was replaced")
    assert [look.report.outcome for look in base.watches.looks(SET)] == ["reference"]


def _ask(base: KnowledgeBase, questions: Sequence[str]) -> None:
    for question in questions:
        turn = base.conversations.ask(base.conversations.open(None), question, QUICK)
        trace = Trace(question, QUICK.hash, 3, None, (), (), 0.5)
        base.conversations.conclude(turn, Answer("", (), trace, "quotes", "complete"))


def test_questions_that_move_away_are_told_with_figure_and_p(
    workspace: Workspace, base: KnowledgeBase
) -> None:
    _look(workspace)
    _ask(base, [f"Weather in city number {number} tomorrow at noon" for number in range(49)])
    assert _look(workspace).questions is None
    _ask(base, ["Weather in Paris tomorrow at noon"])
    report = _look(workspace)
    assert report.questions is not None
    assert (report.questions.asked, report.questions.labelled) == (50, 15)
    assert report.questions.distance > 0.1
    assert report.questions.p == 1 / 5000
    assert report.outcome == "drifted"
    again = _look(workspace)  # until there are 50 new ones, the result is told once
    assert again.questions == replace(report.questions, is_new=False)
    assert again.outcome == "passed"


def test_the_energy_test_has_uniform_p_values_without_a_difference() -> None:
    rng = np.random.default_rng(5)
    p_values = []
    for seed in range(100):
        vectors = rng.normal(size=(60, 8)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        p_values.append(energy_test(vectors[:25], vectors[25:], 99, seed).p)
    assert 0.4 < np.mean(p_values) < 0.6
    assert sum(p <= 0.1 for p in p_values) <= 18
    assert energy_test(vectors[:0], vectors) == (0.0, 1.0)


def _reporting(workspace: Workspace, url: str) -> Workspace:
    """The same home with a webhook."""
    settings = replace(workspace.settings, watch_webhook=url, allow_private_urls=True)
    workspace.close()
    return Workspace(settings)


def test_alarms_go_to_the_webhook_and_a_look_is_kept_if_it_is_down(workspace: Workspace) -> None:
    with scripted(Reply(), Reply(status=500)) as server:
        reporting = _reporting(workspace, f"{server.url}/hook")
        _look(reporting)
        assert server.requests == []
        base = reporting.base("rules")
        base.question_edits.add_question(SET, "Who pays lunch?", answerable=False)
        report = _look(reporting)
        (sent,) = server.requests
        assert (sent["event"], sent["outcome"], sent["set"]) == ("drift-watch", "incomparable", SET)
        assert sent["headline"] == report.headline
        message = reporting.jobs.run(base.watches.start(SET, QUICK)).message
        assert "The webhook did not receive this: 127.0.0.1 answers 500." in message
        assert len(base.watches.looks(SET)) == 3
        reporting.close()


def test_an_embedder_that_is_down_is_told_and_stores_no_look(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def embed(_self: HashingEmbedder, _texts: Sequence[str], _input_type: str) -> Vectors:
        raise ProviderUnavailable("The provider is down.")

    with scripted(Reply(status=500)) as server:
        reporting = _reporting(workspace, server.url)
        _look(reporting)
        monkeypatch.setattr(HashingEmbedder, "embed", embed)
        base = reporting.base("rules")
        done = reporting.jobs.run(base.watches.start(SET, QUICK))
        assert (done.status, server.requests[0]["outcome"]) == ("failed", "failed")
        assert "The provider is down. The webhook did not receive this: 127" in done.message
        assert len(base.watches.looks(SET)) == 1
        reporting.close()


def test_a_webhook_in_the_private_network_is_refused() -> None:
    with pytest.raises(BlockedAddress):
        post_json("http://127.0.0.1:9/hook", {}, allow_private=False)
    with pytest.raises(TouchstoneError) as caught:
        post_json("http://127.0.0.1:9/secret", {}, allow_private=True)
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "url", ["hooks.example.com/secret", "slack:secret", "https:///secret", "https://[::secret"]
)
def test_a_webhook_that_is_no_address_is_not_shown(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        post_json(url, {}, allow_private=False)
    assert "secret" not in caught.value.message + caught.value.hint


def test_the_verb_ends_as_the_gate_does(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    base = workspace.base("rules")
    assert main(["watch", "rules", SET, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "reference"
    assert main(["watch", "rules", SET]) == 0
    assert "the same on all questions" in capsys.readouterr().out
    assert main(["watch", "rules", SET, "--set", "search.top_k=3"]) == 4
    rows = base.documents.documents(QUICK.index)
    base.documents.delete_documents([row.id for row in rows if row.name > "i"])
    assert main(["watch", "rules", SET]) == 1
    capsys.readouterr()
    assert main(["watch", "rules", SET, "--looks", "--json"]) == 0
    looks = json.loads(capsys.readouterr().out)["looks"]
    assert [look["outcome"] for look in looks] == [
        "drifted",
        "incomparable",
        "passed",
        "reference",
    ]
    assert main(["watch", "rules", "nothing"]) == 2
