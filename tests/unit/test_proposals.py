"""Generated questions are stored as they are made, and count once someone accepts them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from rag import (
    MODEL_KINDS,
    OFFLINE_KINDS,
    AlreadyExists,
    InvalidInput,
    KnowledgeBase,
    Message,
    NotFound,
    ProviderUnavailable,
    Workspace,
)
from tests.answer_runs import with_chat
from tests.scripted_chat import ScriptedChat
from tests.workspaces import QUICK, add, stocked

SET = "proposed"
WITH_MODEL = QUICK.with_fields({"answer.provider": "ollama", "answer.model": "scripted"})
DOCUMENTS = {
    f"{topic}.md": f"# {topic.title()}\n\n"
    f"The {topic} of the main plant may run for {number} hours between two inspections.\n\n"
    f"Every {topic} that was repaired is tested by the {topic} supervisor before it goes back."
    for number, topic in enumerate(("rotor", "pump", "valve"), start=40)
}


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return stocked(home, DOCUMENTS, name="plant")[0]


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("plant")


def _sentence(messages: Sequence[Message]) -> str:
    """Asks about the first sentence of each passage."""
    passages = messages[1].content.split("</passage>")[:-1]
    quotes = [each.rsplit(">", 1)[1].strip().split("\n\n")[-1] for each in passages]
    words = " and ".join(quote.split()[-1] for quote in quotes)
    return json.dumps({"question": f"What of {quotes[0].split()[1]} {words}?", "quotes": quotes})


def _made(workspace: Workspace, base: KnowledgeBase, kinds: Sequence[str], number: int) -> int:
    recipe = WITH_MODEL if set(kinds) & set(MODEL_KINDS) else QUICK
    job = base.questions.request_proposals(SET, kinds, number, recipe)
    workspace.jobs.run(job)
    return job


def test_without_a_model_queries_are_cut_and_wait(workspace, base):
    job = _made(workspace, base, OFFLINE_KINDS, 3)
    assert workspace.jobs.get(job).message == "3 of 3 questions proposed"
    found = base.questions.proposals(SET)
    assert sorted(item.origin for item in found) == sorted(OFFLINE_KINDS)
    for item in found:
        assert item.state == "proposed"
        assert item.tags == (item.origin,)
        assert item.leak is not None
        assert 0 < item.leak <= 1
        (label,) = item.labels
        document = base.documents.document(str(label.document_id))
        assert document.text[label.start : label.end] == label.quote
    counted = base.questions.named(SET)
    assert (counted.questions, counted.proposed, counted.version) == (0, 3, 1)
    assert base.questions.usable(SET) == []


def test_accepted_ones_count_and_rejected_ones_are_kept(workspace, base):
    _made(workspace, base, ["cloze"], 3)
    one, two, three = [item.id for item in base.questions.proposals(SET)]
    base.questions.edit_question(SET, one, text="How long may it run?")
    base.questions.accept_proposals(SET, [one])
    base.questions.reject_proposals(SET, [two])
    assert [item.id for item in base.questions.proposals(SET)] == [three]
    assert [item.id for item in base.questions.proposals(SET, rejected=True)] == [two]
    (counting,) = base.questions.usable(SET)
    assert (counting.id, counting.text) == (one, "How long may it run?")
    assert base.questions.named(SET).version == 2  # a proposal that is edited counts nowhere
    run = base.runs.evaluate(SET, QUICK, (3,))
    assert [each.question_id for each in run.results] == [one]
    base.questions.accept_proposals(SET, [two])
    assert len(base.questions.usable(SET)) == 2
    with pytest.raises(AlreadyExists, match="accepted"):
        base.questions.reject_proposals(SET, [two])
    with pytest.raises(NotFound, match="no longer in this set"):
        base.questions.accept_proposals(SET, ["unknown"])


def test_importing_a_set_leaves_proposals_waiting(workspace, base):
    _made(workspace, base, ["cloze"], 2)
    waiting = base.questions.proposals(SET)
    rows = [{"id": "q1", "text": "Why?"}, {"id": waiting[0].id, "text": "Mine now?"}]
    base.questions.import_file(SET, "x.jsonl", "\n".join(map(json.dumps, rows)))
    assert base.questions.proposals(SET) == waiting[1:]
    assert [item.text for item in base.questions.usable(SET)] == ["Why?", "Mine now?"]
    assert len(base.questions.export_text(SET, "jsonl").splitlines()) == 2


def test_a_model_writes_every_kind(workspace, base, monkeypatch):
    chat = ScriptedChat(_sentence)
    with_chat(monkeypatch, chat)
    _made(workspace, base, ["factual", "two-passage", "unanswerable"], 6)
    found = base.questions.proposals(SET)
    assert {item.origin: len(item.labels) for item in found} == {
        "factual (scripted)": 1,  # the model that wrote it
        "two-passage (scripted)": 2,
        "unanswerable (scripted)": 0,
    }
    assert [item.answerable for item in found] == [bool(item.labels) for item in found]
    for item in found:
        for label in item.labels:
            document = base.documents.document(str(label.document_id))
            assert document.text[label.start : label.end] == label.quote


def test_what_cannot_be_made_is_noted_and_the_rest_goes_on(workspace, base, monkeypatch):
    replies = [*["nonsense"] * 3, _sentence, _sentence, _sentence]
    with_chat(monkeypatch, ScriptedChat(*replies))
    job = _made(workspace, base, ["factual"], 3)
    items = workspace.jobs.items(job)
    assert [item.status for item in items] == ["failed", "added", "added"]
    again = base.questions.request_proposals(SET, ["factual"], 3, WITH_MODEL)
    workspace.jobs.run(again)
    reasons = [item.reason for item in workspace.jobs.items(again)]
    assert [bool(reason) for reason in reasons] == [False, True, True]
    assert len(base.questions.proposals(SET)) == 3


def test_an_unreachable_model_ends_the_job_but_loses_nothing(workspace, base, monkeypatch):
    def refuse(_messages: Sequence[Message]) -> str:
        raise ProviderUnavailable("The server is away.", "Start it.")

    with_chat(monkeypatch, ScriptedChat(_sentence, refuse))
    job = _made(workspace, base, ["factual"], 3)
    row = workspace.jobs.get(job)
    assert row.status == "failed"
    assert [item.status for item in workspace.jobs.items(job)] == ["added", "waiting", "waiting"]
    assert len(base.questions.proposals(SET)) == 1


@pytest.mark.parametrize(
    ("kinds", "number", "said"),
    [
        (["factual"], 3, "language model"),
        ([], 3, "kinds"),
        (["riddle"], 3, "kinds"),
        (["cloze"], 0, "1 to 500"),
        (["cloze"], 501, "1 to 500"),
    ],
)
def test_what_cannot_be_asked_for(base, kinds, number, said):
    with pytest.raises(InvalidInput, match=said):
        base.questions.request_proposals(SET, kinds, number, QUICK)
    assert base.questions.list_all() == []
    for fewest_and_most in (1, 500):
        base.questions.request_proposals(SET, ["cloze"], fewest_and_most, QUICK)
    assert [found.name for found in base.questions.list_all()] == [SET]


def test_nothing_can_be_made_from_nothing(workspace):
    empty = workspace.create("empty", QUICK)
    with pytest.raises(InvalidInput, match="no passage"):
        empty.questions.request_proposals(SET, ["cloze"], 3, QUICK)


def test_a_passage_comes_again_only_with_another_kind(workspace, base):
    job = base.questions.request_proposals(SET, ["cloze", "keywords"], 500, QUICK)
    items = [(each.payload["kind"], each.payload["key"]) for each in workspace.jobs.items(job)]
    assert len(items) == len(set(items)) == 2 * len({key for _, key in items})


def test_a_passage_with_nothing_to_ask_for_gives_way_to_another(workspace):
    base = workspace.create("pumps", QUICK)
    pump = "The Hollin pump weighs 12 kg without its housing."
    add(workspace, base, {"short.md": "Grease it.", "pump.md": pump})
    for seed in range(6):  # some take the short one first
        job = base.questions.request_proposals(f"set {seed}", ["cloze"], 1, QUICK, seed)
        assert workspace.jobs.run(job).message == "1 of 1 questions proposed"
        (made,) = base.questions.proposals(f"set {seed}")
        assert [label.document_name for label in made.labels] == ["pump.md"]
