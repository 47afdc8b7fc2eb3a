"""The command line on bad input: what it says, how it ends, and what it leaves behind."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rag import InvalidFile, KnowledgeBase, Recipe, Upload, Workspace
from rag.__main__ import main
from tests.answer_runs import with_chat
from tests.answers import asked
from tests.runs import SET, WORDS, handbook
from tests.scripted_chat import ScriptedChat
from tests.verbs import run_verb
from tests.workspaces import QUICK, add

ROOT = Path(__file__).resolve().parents[2]
FAKE = ("--set", "index.embedder=fake")
SECRET = "s3cret"


def _collection(folder: Path, corpus: str | None) -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "When?"}\n')
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\n")
    if corpus is not None:
        (folder / "corpus.jsonl").write_text(corpus)
    return folder


FINE = '{"_id": "d1", "text": "Leave lapses."}\n'


@pytest.mark.parametrize(
    ("corpus", "why"),
    [
        (None, "corpus.jsonl does not exist"),
        ("", "corpus.jsonl has no document"),
        ("[]\n", "corpus.jsonl, line 1: expected an object"),
        (FINE + "oops\n", "corpus.jsonl, line 2: expected an object"),
    ],
)
def test_a_collection_that_cannot_be_imported_leaves_nothing(
    workspace, tmp_path, capsys, corpus, why
):
    folder = _collection(tmp_path / "set", corpus)
    code, told, said = run_verb(capsys, "import-beir", "typo", str(folder), *FAKE)
    assert (code, told, workspace.bases()) == (2, None, [])
    assert why in said


def test_a_corpus_is_looked_at_before_its_job_is_queued(workspace, tmp_path):
    base = workspace.create("handbook", QUICK)
    for name, corpus in (("none", None), ("empty", ""), ("bad", "[]")):
        with pytest.raises(InvalidFile, match=r"corpus\.jsonl"):
            base.documents.import_beir(_collection(tmp_path / name, corpus), "test")
    assert workspace.jobs.recent(base.id) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("import-beir", "typo", "/nope"),
        ("ingest", "typo", "/nope"),
        ("ingest", "typo", "{home}"),  # an empty folder
        ("ingest", "typo", f"http://user:{SECRET}@host/"),
        ("ingest", "typo", "ftp://host/file"),
    ],
)
def test_a_mistyped_argument_leaves_no_knowledge_base(workspace, tmp_path, capsys, arguments):
    (tmp_path / "empty").mkdir()
    named = [each.format(home=tmp_path / "empty") for each in arguments]
    code, told, said = run_verb(capsys, *named, *FAKE)
    assert (code, told, workspace.bases()) == (2, None, [])
    assert said.startswith("Error: ")


@pytest.mark.parametrize("verb", ["ingest", "import-beir"])
def test_a_verb_that_is_killed_before_its_job_is_stored_leaves_no_knowledge_base(
    workspace, tmp_path, capsys, monkeypatch, verb
):
    def killed(*_given: object) -> int:
        raise KeyboardInterrupt

    folder = _collection(tmp_path / "set", FINE)
    monkeypatch.setattr("rag.storage.jobs.create", killed)
    assert run_verb(capsys, verb, "new", str(folder), *FAKE)[0] == 130
    assert workspace.bases() == []
    assert workspace._services.files.list_names() == set()


@pytest.mark.parametrize("verb", ["ingest", "import-beir"])
def test_a_verb_fills_a_base_that_another_process_made_meanwhile(
    workspace, tmp_path, capsys, monkeypatch, verb
):
    create = Workspace.create

    def slower(here: Workspace, name: str, recipe: Recipe) -> KnowledgeBase:
        create(here, name, QUICK)
        return create(here, name, recipe)

    monkeypatch.setattr(Workspace, "create", slower)
    folder = _collection(tmp_path / "set", FINE)
    assert run_verb(capsys, verb, "new", str(folder), *FAKE)[0] == 0
    assert [info.name for info in workspace.bases()] == ["new"]
    assert workspace.base("new").documents.documents(QUICK.index) != []


def test_a_knowledge_base_that_was_there_stays(workspace, capsys):
    workspace.create("handbook", QUICK)
    assert run_verb(capsys, "import-beir", "handbook", "/nope")[0] == 2
    assert [info.name for info in workspace.bases()] == ["handbook"]


def test_nothing_read_is_exit_code_two_and_leaves_nothing(workspace, tmp_path, capsys):
    (tmp_path / "void.md").write_text("")
    code, told, said = run_verb(capsys, "ingest", "typo", str(tmp_path / "void.md"), *FAKE)
    assert (code, workspace.bases()) == (2, [])
    assert [(row["name"], row["status"]) for row in told["documents"]] == [("void.md", "failed")]
    assert said.startswith("Error: No document could be read.\nHint: ")


def test_a_folder_lists_what_nobody_reads_but_not_what_is_hidden(workspace, tmp_path, capsys):
    folder = tmp_path / "docs"
    (folder / ".git").mkdir(parents=True)
    for name in ("leave.md", "Makefile", ".hidden.md", ".git/config.md"):
        (folder / name).write_text(f"Leave lapses: {name}.")
    (folder / "film.mov").write_bytes(bytes(40))
    code, told, _ = run_verb(capsys, "ingest", "handbook", str(folder), *FAKE)
    rows = {row["name"]: (row["status"], row["reason"]) for row in told["documents"]}
    assert code == 0
    assert rows == {
        "leave.md": ("added", ""),
        "film.mov": ("failed", "Files of type .mov are not supported."),
        "Makefile": ("added", ""),
    }
    code, told, _ = run_verb(capsys, "ingest", "handbook", str(folder / "leave.md"))
    assert (code, told["documents"][0]["status"]) == (0, "unchanged")


def test_credentials_in_an_address_are_neither_kept_nor_shown(workspace, home, tmp_path, capsys):
    base = workspace.create("handbook", QUICK)
    (tmp_path / "leave.md").write_text("Leave lapses.")
    given = (str(tmp_path / "leave.md"), f"HTTPS://user:{SECRET}@127.0.0.1:9/")
    code, told, said = run_verb(capsys, "ingest", "handbook", *given)
    assert (code, told) == (2, None)
    assert "Hint: " in said
    assert SECRET not in said
    assert workspace.jobs.recent(base.id) == []
    workspace.close()
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept


def test_a_scheme_may_be_upper_case(workspace, capsys):
    code, told, _ = run_verb(capsys, "ingest", "pages", "HTTP://127.0.0.1:9/page", *FAKE)
    (row,) = told["documents"]
    assert (code, row["status"]) == (2, "failed")
    assert "inside this computer" in row["reason"]


def test_an_answer_that_failed_says_why_and_what_to_do(workspace, capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    add(workspace, workspace.create("handbook", QUICK), {"leave.md": "Leave lapses in March."})
    asked = ("ask", "handbook", "When does leave lapse?", "--set", "answer.provider=openai")
    code, told, said = run_verb(capsys, *asked)
    assert (code, told["status"]) == (2, "failed")
    message, hint = said.splitlines()
    assert "OPENAI_API_KEY" in said
    assert told["note"] == f"{message.removeprefix('Error: ')} {hint.removeprefix('Hint: ')}"
    assert main(list(asked)) == 2
    assert told["note"] in capsys.readouterr().out


def test_an_answer_of_quotes_says_how_likely_it_is_right(workspace, capsys):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": "Leave lapses in March."})
    answer = base.ask("When does leave lapse?", QUICK).answer
    assert main(["ask", "handbook", "When does leave lapse?"]) == 0
    assert f"{answer.assessment.likely('quotes')}%" in answer.title
    assert answer.title in capsys.readouterr().out


@pytest.mark.parametrize("reply", [" ", "[1] [1]."])
def test_a_reply_without_words_is_no_answer(workspace, capsys, monkeypatch, reply):
    add(workspace, workspace.create("handbook", QUICK), {"leave.md": "Leave lapses in March."})
    with_chat(monkeypatch, ScriptedChat(reply), for_quotes=True)
    code, told, said = run_verb(capsys, "ask", "handbook", "When does leave lapse?")
    assert (code, told["status"], told["answer"]) == (2, "failed", reply)
    assert said.startswith("Error: The model sent ")


def test_a_recipe_that_is_nested_too_deep_is_bad_input(workspace, tmp_path, capsys):
    workspace.create("handbook", QUICK)
    deep = tmp_path / "recipe.json"
    deep.write_text("[" * 100_000 + "]" * 100_000)
    code, _, said = run_verb(capsys, "search", "handbook", "leave", "--recipe", str(deep))
    assert code == 2
    assert said == f"Error: {deep} is not JSON: it is nested too deep.\n"


def test_a_home_that_cannot_be_made_is_bad_input(capsys):
    code, _, said = run_verb(capsys, "runs", "handbook", "--home", "/proc/nope")
    assert code == 2
    assert said.startswith("Error: The folder /proc/nope cannot be made: ")


def test_a_reader_who_closes_the_pipe_causes_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "rag", "schema"]
    done = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_step_that_fails_is_told_by_search_and_ask(workspace, capsys):
    add(workspace, workspace.create("notes", QUICK), {"a.txt": "Leave lapses in June."})
    question = ("notes", "When does leave lapse?", "--set", "search.hyde=true")
    _, found, _ = run_verb(capsys, "search", *question)
    assert [stage["name"] for stage in found["stages"] if stage["failed"]] == ["hyde"]
    for verb in ("search", "ask"):
        assert main([verb, *question]) == 0


def test_documents_that_are_still_to_be_read_are_mentioned(workspace, capsys):
    base = workspace.create("notes", QUICK)
    add(workspace, base, {"pump.txt": "Grease the bearing."})
    arguments = ("search", "notes", "grease", *FAKE)
    code, found, said = run_verb(capsys, *arguments)
    assert (code, said) == (0, "")
    base.documents.add_files([Upload("leave.txt", io.BytesIO(b"Leave lapses in June."))])
    code, again, said = run_verb(capsys, *arguments)
    assert (code, [hit["document"] for hit in again["hits"]]) == (
        0,
        [hit["document"] for hit in found["hits"]],
    )


@pytest.mark.parametrize(
    "arguments", [("runs", "handbook"), ("sessions", "handbook"), ("memory", "handbook")]
)
def test_times_have_a_zone(home, capsys, arguments):
    """Also those of a database that stores none."""
    workspace, base = handbook(home)
    base.runs.evaluate(SET, WORDS)
    asked(base, "When does leave lapse?", WORDS)
    workspace.close()
    code, told, _ = run_verb(capsys, *arguments)
    times = re.findall(r"\d{4}-\d\d-\d\dT[\d:.]+([^\"]*)", json.dumps(told))
    assert (code, set(times)) == (0, {"+00:00"})


def test_an_empty_reply_is_no_answer(workspace, capsys, monkeypatch):
    add(workspace, workspace.create("handbook", QUICK), {"leave.md": "Leave lapses in March."})
    with_chat(monkeypatch, ScriptedChat(" "), for_quotes=True)
    code, told, said = run_verb(capsys, "ask", "handbook", "When does leave lapse?")
    assert (code, told["status"], told["answer"]) == (2, "failed", " ")
    assert said.startswith("Error: ")
