"""Groups of questions: by source, by words and as told; they stay whole and count once."""

from pathlib import Path

import pytest

from rag import InvalidInput, KnowledgeBase, LabelledQuestion, Question
from rag.experiments.runs import stored as stored_runs
from rag.library.questions.groups import groups_of, split_questions
from rag.services.services import SizedCache
from rag.types import Evidence
from tests.workspaces import QUICK, add, workspace_at

WORDS = ["kiln", "glaze", "invoice", "ferry", "orchard", "violin", "quarry", "lantern", "harbour"]


def _question(number: int, document: str, start: int = 0, group: str = "") -> Question:
    text = f"{WORDS[number % 9]} {WORDS[number // 9 % 9]} number {number}?"
    return Question(f"q{number}", text, (Evidence(document, start, start + 50),), group=group)


def test_questions_of_one_document_are_a_group():
    asked = [_question(number, f"d{number // 3}", 5000 * number) for number in range(96)]
    groups = groups_of(asked)
    assert len(set(groups.values())) == 32
    assert {name for name, group in groups.items() if group == groups["q3"]} == {"q3", "q4", "q5"}
    assert groups["q4"] == "as q3"


def test_few_documents_are_taken_apart():
    # Two documents: two groups could decide nothing.
    starts = [0, 200, 400, 9000, 9100, 20_000]
    asked = [_question(number, f"d{number // 6}", starts[number % 6]) for number in range(12)]
    groups = groups_of(asked)
    assert groups == {
        "q0": "as q0",
        "q1": "as q0",
        "q3": "as q3",
        "q4": "as q3",
        "q6": "as q6",
        "q7": "as q6",
        "q9": "as q9",
        "q10": "as q9",
    }


def test_the_same_words_make_a_group_whatever_the_labels():
    asked = [
        Question("a", "How long may unused leave be carried over?"),
        Question("b", "How long may unused leave be carried over, please?"),
        Question("c", "Who pays for the ferry to the quarry?"),
    ]
    assert groups_of(asked) == {"a": "as a", "b": "as a"}


def test_what_somebody_said_counts():
    asked = [_question(number, f"d{number // 3}") for number in range(96)]
    asked[0] = _question(0, "d0", group="mine")
    asked[4] = _question(4, "d1", group="-")
    groups = groups_of(asked)
    assert (groups["q0"], groups.get("q4")) == ("mine", None)
    assert (groups["q1"], groups["q2"]) == ("as q1", "as q1")
    assert (groups["q3"], groups["q5"]) == ("as q3", "as q3")


def test_independent_questions_have_no_groups():
    assert groups_of([_question(number, f"d{number}") for number in range(40)]) == {}
    assert groups_of([]) == {}


def test_a_split_keeps_groups_whole_and_answerability_alike():
    asked = [_question(number, f"d{number // 3}") for number in range(96)]
    asked += [Question(f"u{n}", f"unheard {n}?", (), answerable=False) for n in range(30)]
    groups = groups_of(asked)
    parts = split_questions(asked, 0.5, 3)
    for group in set(groups.values()):
        assert len({name in parts.tuning for name in groups if groups[name] == group}) == 1
    assert abs(sum(name.startswith("u") for name in parts.tuning) - 15) <= 2


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    workspace = workspace_at(home)
    made = workspace.create("handbook", QUICK)
    add(workspace, made, {"leave.md": "Unused leave may be carried over for three months."})
    made.questions.create_set("checks")
    return made


def test_a_group_is_stored_edited_and_goes_out_and_in(base):
    first = base.questions.add_question("checks", "How long?")
    second = base.questions.add_question("checks", "Who pays?")
    assert base.questions.groups("checks") == {}
    before = [LabelledQuestion(first, "How long?"), LabelledQuestion(second, "Who pays?")]
    after = [LabelledQuestion(each.id, each.text, group=" leave ") for each in before]
    base.questions.save_table("checks", before, after)
    assert base.questions.groups("checks") == {first: "leave", second: "leave"}
    for form in ("jsonl", "csv"):
        content = base.questions.export_text("checks", form)
        base.questions.import_file(f"copy of {form}", f"x.{form}", content.encode())
        assert base.questions.groups(f"copy of {form}") == {first: "leave", second: "leave"}
    base.questions.edit_question("checks", first, group="-")
    assert base.questions.groups("checks") == {second: "leave"}
    with pytest.raises(InvalidInput, match="A group has a name"):
        base.questions.edit_question("checks", first, group="x" * 101)


@pytest.mark.parametrize("documents", [12, 96])
@pytest.mark.parametrize("end", [50, None])
def test_a_label_of_no_relevance_is_no_source(documents, end):
    """Whether documents are enough to be sources, or stretches of them are."""
    asked = [_question(number, f"d{number}") for number in range(documents)]
    for grade, places in ((0, (1, 2)), (1, (3, 4))):
        for place in places:
            label = Evidence(f"of grade {grade}", 0, end, grade)
            asked[place] = Question(f"q{place}", asked[place].text, (label,))
    assert groups_of(asked) == {"q3": "as q3", "q4": "as q3"}


def test_groups_are_kept_of_the_states_that_were_asked_for_last(home, monkeypatch):
    workspace = workspace_at(home)
    base = workspace.create("handbook", QUICK)
    for name in ("one", "two", "three"):
        base.questions.create_set(name)
        base.questions.add_question(name, f"What is {name}?")
    made: list[str] = []

    def noted(asked: list[Question]) -> dict[str, str]:
        made.extend(question.text for question in asked)
        return {}

    monkeypatch.setattr(stored_runs, "groups_of", noted)
    monkeypatch.setattr(stored_runs, "_groups", SizedCache(2))
    with workspace._services.database.read() as connection:
        for name in ("one", "two", "one", "three", "three", "one", "two"):
            stored_runs.groups_of_set(connection, base.id, name)
    assert made == ["What is one?", "What is two?", "What is three?", "What is two?"]
    workspace.close()


def test_the_values_that_were_asked_for_last_are_kept():
    kept, read = SizedCache[list[int]](10), list[str]()

    def ask(name: str, size: int) -> list[int]:
        def value() -> list[int]:
            read.append(name)
            return [0] * size

        return kept.get(name, value)

    first = ask("a", 4)
    assert ask("a", 4) is first
    ask("b", 4)
    ask("a", 4)
    ask("c", 3)  # ten entries with one for each value itself: room for two of three
    assert read == ["a", "b", "c"]
    ask("a", 4)
    ask("b", 4)
    assert read == ["a", "b", "c", "b"]


def test_a_value_that_is_too_large_is_kept_alone():
    kept = SizedCache[list[int]](10)
    large = kept.get("large", lambda: [0] * 50)
    assert kept.get("large", list) is large
    small = kept.get("small", list)
    assert kept.get("large", lambda: [1]) == [1]
    assert kept.get("small", lambda: [1]) is small
