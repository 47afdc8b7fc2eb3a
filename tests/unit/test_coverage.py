"""What questions reach: documents, passages that answer everything, and questions of chats."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rag import EVERYBODY, Answer, Chunk, KnowledgeBase, SessionOwner, Trace, Workspace
from rag.library.examination import RunReach, hubs, unanswered, unreached
from rag.storage.conversations.feedback import ChatQuestion
from rag.storage.documents import DocumentInfo
from rag.types import AnswerStatus
from tests.runs import SET, WORDS, handbook
from tests.workspaces import QUICK, add

MEASURED = datetime(2026, 3, 1, tzinfo=UTC)
IDS = [f"{number:064x}" for number in range(20)]
ANN = SessionOwner("ann", ("ann",))


def _rows(added: datetime = MEASURED) -> list[DocumentInfo]:
    return [
        DocumentInfo(key, f"{number}.md", "", "text/markdown", 100, 0, added, (), "", None)
        for number, key in enumerate(IDS)
    ]


def _reach(rankings: Sequence[Sequence[int]], grade: int = 0) -> RunReach:
    """A run over documents with ten passages each; rankings are the numbers of documents."""
    stored = {f"{n:016x}": Chunk(n, IDS[n], 0, 9, f"Passage {n}", 0) for n in range(len(IDS))}
    by_question = [[(f"{n:016x}", grade) for n in ranking] for ranking in rankings]
    questions = [f"Question {number}?" for number in range(len(by_question))]
    counts = dict.fromkeys(IDS, 10)
    return RunReach(MEASURED, questions, by_question, stored, counts, len(IDS))


def test_documents_that_no_ranking_and_no_label_has_are_unreached():
    run = _reach([range(9), range(9, 18)] * 5)
    (finding,) = unreached(_rows(), [run], {IDS[18]})
    assert [place.document for place in finding.places] == ["19.md"]
    assert finding.confidence == 1.0  # by chance .55 ** 10


def test_a_document_that_is_left_out_brings_no_other_finding():
    run = _reach([range(5)] * 10)
    assert list(unreached(_rows(), [run], ())) == []  # by chance .75 ** 10, above .05
    passages = {name: chunk for name, chunk in run.passages.items() if chunk.document_id != IDS[0]}
    without = replace(run, passages=passages, in_documents=dict.fromkeys(IDS[1:], 10))
    assert list(unreached(_rows(), [without], ())) == []


def test_few_questions_and_older_rankings_leave_nothing_unreached():
    run = _reach([range(9), range(9, 18)] * 5)
    assert list(unreached(_rows(), [_reach([range(9)])], ())) == []  # by chance .55
    assert list(unreached(_rows(MEASURED + timedelta(days=1)), [run], ())) == []
    assert list(unreached(_rows(), [replace(run, in_documents={IDS[0]: 1})], ())) == []


def test_rankings_of_documents_reach_them():
    run = replace(_reach([[]] * 9), rankings=[[(key, 0) for key in IDS[:10]]] * 9)
    assert len(list(unreached(_rows(), [run], ()))) == 10


def test_a_question_of_two_sets_counts_once():
    run = _reach([range(9), range(9, 18)] * 5)
    same = replace(run, questions=[text.upper() for text in run.questions])
    (finding,) = unreached(_rows(), [run, same], {IDS[18]})
    assert "results of none of 10 questions" in finding.summary
    few = _reach([range(9)] * 3)  # by chance .17, of two sets .03
    assert list(unreached(_rows(), [few, few], ())) == []


def test_a_hub_is_among_the_first_results_of_many_questions():
    run = _reach([[0, 1 + number % 19] for number in range(120)])
    (finding,) = hubs(run, {IDS[0]: "cover.md"})
    assert finding.places[0].text == "Passage 0"
    assert "120 of 120 questions (100%)" in finding.summary
    assert finding.confidence == 0.99


@pytest.mark.parametrize(
    "run",
    [
        _reach([[0]] * 120, grade=1),  # the labels say that it answers them
        _reach([[0]] * 99),  # few questions
        replace(_reach([[0]] * 120), in_documents={IDS[0]: 2}),  # by chance in half of them
        _reach([[0]] * 3 + [[]] * 117),
    ],
)
def test_what_is_relevant_rare_or_expected_is_no_hub(run):
    assert list(hubs(run, {IDS[0]: "cover.md"})) == []


def test_the_newest_answer_decides_whether_a_question_has_none():
    asked = [
        ChatQuestion("Who pays lunch?", "complete", flagged=False),
        ChatQuestion("May I  bring a dog?", "complete", flagged=True),
        ChatQuestion("may I bring a dog?", "refused", flagged=True),
        ChatQuestion("Who pays lunch?", "refused", flagged=True),
    ]
    (finding,) = unanswered(asked)
    assert finding.summary == (
        "“May I  bring a dog?” got a doubtful answer in the chat. "
        "2 of 2 answers were refused or doubtful."
    )


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return handbook(home)[0]


def _asked(base: KnowledgeBase, question: str, status: AnswerStatus = "refused") -> int:
    turn = base.conversations.ask(base.conversations.open(None), question, QUICK)
    trace = Trace(question, QUICK.hash, 3, None, (), (), 0.5)
    base.conversations.conclude(turn, Answer("", (), trace, "quotes", status))
    return turn


def test_unanswered_questions_are_those_of_the_visitor(workspace):
    base, hers = workspace.base("handbook"), workspace.base("handbook", ANN)
    _asked(base, "Who pays lunch?")
    _asked(base, "Who pays dinner?", "complete")
    turn = _asked(hers, "May I bring a dog?")
    for visitor, expected in ((base, ["Who pays lunch?"]), (hers, ["May I bring a dog?"])):
        assert [each.question for each in visitor.documents.examinations.examine().open] == expected
    everything = workspace.base("handbook", EVERYBODY).documents.examinations
    assert len(everything.examine().open) == 2
    hers.conversations.dismiss_review(turn)
    assert hers.documents.examinations.examine().open == ()
    (finding,) = base.documents.examinations.examine().open
    base.documents.examinations.settle(finding.id, "ignore")
    assert base.documents.examinations.examine().open == ()


def test_a_question_recorded_as_unanswerable_is_rightly_unanswered(workspace):
    base = workspace.base("handbook")
    _asked(base, "Who pays lunch?")
    _asked(base, "Who pays dinner?")
    line = json.dumps({"text": "who pays  lunch?", "answerable": False})
    base.questions.import_file("expected", "x.jsonl", line)
    assert [one.question for one in base.documents.examinations.examine().open] == [
        "Who pays dinner?"
    ]


def test_the_newest_run_says_what_is_reached(workspace):
    base = workspace.base("handbook")
    add(workspace, base, {"zebra.txt": "Zebras graze at dawn near the northern river."})
    assert base.documents.examinations.examine().open == ()  # nothing is measured
    quote = [{"document": "pump.txt", "quote": "when its bearing is dry"}]
    questions = "\n".join(
        json.dumps({"id": f"p{number}", "text": f"Why noise {number}?", "evidence": quote})
        for number in range(20)
    )
    base.questions.import_file("noises", "noises.jsonl", questions)
    base.runs.evaluate("noises", WORDS, (1,))
    findings = base.documents.examinations.examine().open
    assert [(each.kind, each.places[0].document) for each in findings if each.places] == [
        ("unreached", "zebra.txt")
    ]
    assert base.runs.evaluate(SET, WORDS, (1,)).run.id == base.runs.list_all()[0].id
    assert len(base.documents.examinations.examine().open) == 1
