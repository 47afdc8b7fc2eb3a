"""The passport of a question set, at the command line and on import."""

import json
from datetime import UTC, datetime

import pytest

from tests.runs import SET, handbook
from tests.verbs import run_verb

LEAVE = {"document": "leave.md", "quote": "carried over until 30 June"}
ROWS = [
    {"id": "one", "text": "How long may unused leave be carried over?", "evidence": [LEAVE]},
    {"id": "same", "text": "How long may  unused leave be CARRIED over?", "evidence": [LEAVE]},
    {"id": "never", "text": "how long may unused leave be carried over?", "answerable": False},
    {"id": "near", "text": "How long may unused leave be carried over now?", "evidence": [LEAVE]},
    {
        "id": "german",
        "text": "Wie lange kann nicht genommener Urlaub übertragen werden, und wohin?",
    },
    {"id": "gone", "text": "Who?", "evidence": [{"document": "away.md", "quote": "Ann"}]},
]


@pytest.fixture
def base(home, capsys):
    base = handbook(home)[1]
    capsys.readouterr()
    return base


def test_a_sound_set_passes_and_says_who_made_it(base, capsys):
    code, passport, _ = run_verb(capsys, "check-questions", "handbook", SET)
    assert (code, passport["problems"]) == (0, [])
    assert (passport["questions"], passport["unanswerable"]) == (5, 1)
    assert passport["labels_by"] == {"a file": 4}
    assert passport["first_label"][:10] == f"{datetime.now(UTC):%Y-%m-%d}"
    assert (passport["covered"], passport["uncovered"]) == (3, [])
    assert passport["languages"] == {"en": 5}
    assert passport["licence"] == ""
    _, passport, _ = run_verb(capsys, "check-questions", "handbook", SET, "--licence", "CC BY 4.0")
    assert (passport["licence"], passport["version"]) == ("CC BY 4.0", 1)


def test_what_makes_figures_wrong_is_named_on_import_and_ends_with_1(base, capsys, tmp_path):
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    _, imported, _ = run_verb(capsys, "import-questions", "handbook", str(file))
    code, passport, _ = run_verb(capsys, "check-questions", "handbook", "bad")
    assert code == 1
    assert imported["problems"] == passport["problems"]
    assert passport["duplicates"] == passport["contradictions"] == [["one", "same", "never"]]
    assert passport["near_duplicates"] == [["one", "near"]]
    assert passport["unlabelled"] == ["german"]
    assert passport["lost_labels"] == 1
    assert passport["languages"] == {"en": 5, "de": 1}
    assert passport["uncovered"] == ["pump.txt", "travel.txt"]


def test_short_questions_have_the_language_of_their_set(base, capsys):
    german = [
        "Was kostet das?",
        "Wo parke ich?",
        "Wie tief ist das Becken?",
        "Bis wann gilt der Ausweis?",
    ]
    for name, texts, languages in (
        ("german", german, {"de": 4}),
        ("both", [*german, "Where is it?", "Who pays?", "What is the fee?"], {"de": 4, "en": 3}),
    ):
        for text in texts:
            base.questions.collect(name, text)
        assert base.questions.check(name).languages == languages


def test_models_and_users_are_makers_of_their_own(base, capsys):
    question = base.questions.collect(SET, "How heavy is it?", origin="model (tuner)")
    document = base.documents.documents(base.recipe().index)[0]
    base.questions.label(SET, question, document.id, 0, 5, 1, "model (tuner)")
    base.questions.collect(SET, "Where is the key?", origin="users")
    passport = base.questions.check(SET)
    assert passport.questions_by["model (tuner)"] == 1
    assert passport.questions_by["users of the chat"] == 1
    assert passport.labels_by == {"a file": 4, "model (tuner)": 1}


def test_an_old_version_names_the_one_that_took_its_place(base, capsys):
    before = base.questions.named(SET).version
    base.questions.import_file(SET, "q.jsonl", "\n".join(map(json.dumps, ROWS[:1])))
    _, listed, _ = run_verb(capsys, "question-versions", "handbook", SET)
    (old,) = listed["versions"]
    assert (old["version"], old["superseded_by"]) == (before, listed["version"])
    base.questions.restore_version(SET, before)
    assert base.questions.check(SET).labels_by == {"a file": 4}
