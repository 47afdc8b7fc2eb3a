"""How verbs end: each exit code that they declare."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rag import VERSION, KnowledgeBase
from rag.__main__ import main
from tests.answer_runs import Chat, with_chat
from tests.documentation import exit_codes
from tests.runs import SET, handbook
from tests.workspaces import surroundings

ROOT = Path(__file__).parents[2]
DOWN = ["--judge", "ollama:judge"]
INTERRUPTED_IMPORT = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "rag.workspace.workspace":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
sys.meta_path.insert(0, Interrupt())
sys.argv = ["rag", "runs", "sample"]
runpy.run_module("rag", run_name="__main__")
"""


@pytest.fixture
def base(home: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    """A knowledge base with a run, whose judge does not answer."""
    base = handbook(home)[1]
    assert main(["evaluate", base.name, SET, "--json"]) == 0
    with_chat(monkeypatch, Chat(fails_from=1))
    return base


@pytest.mark.parametrize("arguments", [["judge"], ["evaluate", "--answers"]])
def test_work_that_a_model_did_not_do_ends_with_1_and_a_reason(base, arguments, capsys):
    verb, *options = arguments
    capsys.readouterr()
    assert main([verb, base.name, SET, *options, *DOWN, "--json"]) == 1
    told = capsys.readouterr()
    assert re.search(r"Paused: \d of \d+ ", told.err)
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["evalaute", "handbook", SET], "'evaluate'"),
        (["evaluate", "handbook", SET, "--judge", "ollama:judge"], "--answers"),
        (["report", "RUN", "-o", "report.pdf"], ".html"),
    ],
)
def test_bad_usage_ends_with_2_and_names_what_is_meant(home, arguments, named, capsys):
    base = handbook(home)[1]
    run = base.runs.evaluate(SET, base.recipe()).run.id
    try:
        code: object = main([run if text == "RUN" else text for text in arguments])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert named in capsys.readouterr().err


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out.strip()) == (0, VERSION)


def test_ctrl_c_ends_a_verb_with_a_code_of_its_own(monkeypatch, home):
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rag.cli.inputs.workspace", stopped)
    assert main(["runs", "sample", "--home", str(home)]) == 130


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_of_mcp(tmp_path, sent):
    command = [sys.executable, "-m", "rag", "mcp", "--home", str(tmp_path)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=surroundings(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        server.stdin.write(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
            b'"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        )
        server.stdin.flush()
        assert server.stdout.readline()
        server.send_signal(sent)
        assert server.wait(30) == 130


def test_ctrl_c_while_modules_load_prints_no_traceback():
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT], cwd=ROOT, capture_output=True, check=False
    )
    assert ended.returncode == 130
    assert b"Traceback" not in ended.stderr


def test_the_table_of_exit_codes_is_that_of_the_declarations():
    page = (ROOT / "docs" / "command-line.md").read_text()
    assert exit_codes() in page
