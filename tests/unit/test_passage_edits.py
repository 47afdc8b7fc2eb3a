"""Hands on passages: they hold, survive new cuts and versions, and count as another state."""

import json
from pathlib import Path

import pytest

from rag import InvalidInput, KnowledgeBase, NotFound, Workspace
from rag.__main__ import main
from tests.verbs import output_of
from tests.workspaces import QUICK, add, found, stocked

LEAVE = "Unused leave may be carried over until 30 June. It lapses after that day."
OLD = "Until last year it was carried over until 31 March."
TRAVEL = "Trains are booked in second class. A hotel may cost 120 a night."
TEXT = f"{LEAVE}\n\n{OLD}\n\n{TRAVEL}\n"
WORDS = QUICK.with_fields({"search.mode": "lexical", "search.top_k": 5, "search.synonyms": False})


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return stocked(tmp_path / "home", {"rules.txt": TEXT}, WORDS, "rules")[0]


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("rules")


def texts(base: KnowledgeBase) -> list[str]:
    """Passages of the build that answers, in order."""
    (info,) = base.documents.documents(base.recipe().index)
    return [each.text for each in base.documents.chunks(info.id, base.recipe().index)]


def edit(base: KnowledgeBase, kind: str, quote: str, words: str = "") -> int:
    span = base.documents.find_quote("rules.txt", quote)
    return base.documents.edit_passages("rules.txt", kind, span, words)  # type: ignore[arg-type]


def test_excluded_text_is_not_found_and_comes_back(base):
    assert "March" in found(base, "March", WORDS)[0]
    number = edit(base, "exclude", OLD)
    assert found(base, "March", WORDS) == []
    assert not any("March" in each for each in texts(base))
    assert "30 June" in found(base, "leave", WORDS)[0]
    base.documents.remove_edit(number)
    assert "March" in found(base, "March", WORDS)[0]


def test_a_document_is_left_out_once_all_of_its_words_are(base):
    def left_out() -> bool:
        (info,) = base.documents.documents(base.recipe().index)
        return info.left_out

    edit(base, "words", OLD, "March")
    seen = [left_out()]
    numbers = []
    for part in (LEAVE, TRAVEL, OLD):  # white space stays between them
        numbers.append(edit(base, "exclude", part))
        seen.append(left_out())
    base.documents.remove_edit(numbers[0])
    assert [*seen, left_out()] == [False, False, False, True, False]


def test_another_cut_and_another_build_keep_the_edits(base):
    edit(base, "exclude", OLD)
    whole = WORDS.with_fields({"index.chunker": "whole"})
    job = base.documents.build(whole.index)
    base.documents._jobs.run(job)
    assert found(base, "March", whole) == []
    assert len(found(base, "leave", whole)) == 1


def test_a_boundary_that_is_set_parts_and_one_taken_away_joins(base):
    edit(base, "split", "It lapses")
    assert any(each.startswith("It lapses") for each in texts(base))
    edit(base, "join", f"{OLD}\n\n{TRAVEL}")
    assert texts(base)[-1].endswith(f"{OLD}\n\n{TRAVEL}")


def test_added_words_find_a_passage_and_are_not_shown(base):
    assert found(base, "vacation PN-4711", WORDS) == []
    number = edit(base, "words", LEAVE, "vacation PN-4711")
    (text,) = found(base, "PN-4711", WORDS)
    assert "30 June" in text
    assert "4711" not in text
    assert found(base, "vacation", WORDS) == [text]
    base.documents.remove_edit(number)
    assert found(base, "vacation PN-4711", WORDS) == []


def test_a_new_version_keeps_edits_at_their_words_and_lists_the_lost(workspace, base):
    edit(base, "exclude", OLD)
    edit(base, "words", TRAVEL, "railway")
    shorter = f"A new preface.\n\n{LEAVE}\n\n{OLD}\n"
    assert add(workspace, base, {"rules.txt": shorter}) == ["replaced"]
    assert found(base, "March", WORDS) == []
    assert [(each.kind, each.quote) for each in base.documents.lost_edits()] == [("words", TRAVEL)]
    assert [each.kind for each in base.documents.passage_edits("rules.txt")] == ["exclude"]
    assert add(workspace, base, {"rules.txt": f"{TRAVEL}\n\n{OLD}"}) == ["replaced"]
    assert base.documents.lost_edits() == []
    assert found(base, "railway", WORDS) == [TRAVEL]
    assert found(base, "March", WORDS) == []


def test_edits_count_as_another_state_of_the_documents(base):
    label = {"document": "rules.txt", "quote": "carried over until 30 June"}
    row = {"id": "q", "text": "How long may leave be carried over?", "evidence": [label]}
    base.questions.import_file("s", "s.jsonl", json.dumps(row))
    first = base.runs.evaluate("s", WORDS, (3,)).run
    before = base.documents.hash()
    assert first.documents_hash == before
    number = edit(base, "exclude", OLD)
    assert base.documents.hash() != before
    second = base.runs.evaluate("s", WORDS, (3,)).run
    assert second.documents_hash == base.documents.hash()
    between = base.runs.differences(second.id, first.id)
    assert between.data == ("edits of passages",)
    base.documents.remove_edit(number)
    assert base.documents.hash() == before


def test_what_cannot_be_is_refused_and_changes_nothing(base):
    before = texts(base)
    with pytest.raises(InvalidInput, match="does not have these words"):
        edit(base, "exclude", "not in there")
    with pytest.raises(InvalidInput, match="they need some"):
        edit(base, "words", LEAVE)
    with pytest.raises(InvalidInput, match="no text from 9999"):
        base.documents.edit_passages("rules.txt", "exclude", (9999, 10000))
    with pytest.raises(NotFound):
        base.documents.edit_passages("gone.txt", "exclude", (0, 3))
    with pytest.raises(NotFound):
        base.documents.remove_edit(7)
    edit(base, "exclude", OLD)
    with pytest.raises(InvalidInput, match="exists already"):
        edit(base, "exclude", OLD)
    base.documents.remove_edit(base.documents.passage_edits("rules.txt")[0].id)
    assert texts(base) == before


def test_the_command_line_edits_lists_and_takes_back(base, tmp_path, capsys):
    at = ["--home", str(tmp_path / "home")]
    verb = ["edit-passages", "rules", "rules.txt"]
    assert main([*verb, "--exclude", OLD, "--split", "It lapses", *at]) == 0
    told = capsys.readouterr().out
    assert f"left out: “{OLD}”" in told
    held = output_of(capsys, *verb, *at)["edits"]
    assert [each["kind"] for each in held] == ["split", "exclude"]
    assert main([*verb, "--remove", str(held[0]["id"]), "--remove", str(held[1]["id"]), *at]) == 0
    assert main([*verb, "--exclude", "not there", *at]) == 2


def test_a_bundle_brings_the_edits(workspace, base, tmp_path):
    edit(base, "exclude", OLD)
    label = {"document": "rules.txt", "quote": "carried over until 30 June"}
    row = {"id": "q", "text": "How long may leave be carried over?", "evidence": [label]}
    base.questions.import_file("s", "s.jsonl", json.dumps(row))
    run = base.runs.evaluate("s", WORDS, (3,)).run
    workspace.bundle(run.id, tmp_path / "run.zip", with_documents=True)
    again = workspace.import_bundle(tmp_path / "run.zip", "copy", None, lambda *_: None)
    assert again.deviations == ()
    copy = workspace.base("copy")
    assert [each.quote for each in copy.documents.passage_edits("rules.txt")] == [OLD]
    assert found(copy, "March", WORDS) == []
    assert copy.documents.hash() == run.documents_hash
