"""What the README promises is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line and not line.startswith("#")
]
PINNED = re.compile(r"^([\w.\[\]-]+)==[\w.]+$", re.MULTILINE)
FILE = re.compile(r"(?<![\w./~-])[\w./-]+\.(?:txt|py|toml|jsonl|json|csv)(?!\w)")


def test_it_starts_with_two_commands() -> None:
    assert COMMANDS[:2] == ["pip install -r requirements.txt", "streamlit run app.py"]
    assert "pytest" in COMMANDS


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith(("pip", "streamlit"))])
def test_files_named_in_setup_commands_exist(command: str) -> None:
    names = FILE.findall(command)
    assert names, command
    assert [name for name in names if not (ROOT / name).is_file()] == []


def test_linked_files_exist() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_it_names_the_verbs_that_exist() -> None:
    named = set(re.findall(r"python -m rag ([a-z][\w-]*)", README))
    verbs = _verbs()
    assert {"ingest", "search", "evaluate"} <= verbs
    assert named == verbs


def test_it_names_the_variables_that_the_settings_read() -> None:
    source = (ROOT / "rag" / "settings.py").read_text()
    read = set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', source))
    assert {"TOUCHSTONE_HOME", "OPENAI_API_KEY"} <= read
    section = README.split("## Configuration")[1].split("\n## ")[0]
    assert set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", section)) == read


def test_every_requirement_is_pinned() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in wanted if not PINNED.fullmatch(line)] == []


def test_every_requirement_has_a_purpose_and_every_purpose_a_requirement() -> None:
    table = README.split("### Dependencies")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `([^`]+)` \| *(.*?) *\|$", table, re.MULTILINE))
    required = PINNED.findall((ROOT / "requirements.txt").read_text())
    assert sorted(rows) == sorted(required)
    assert [name for name, purpose in rows.items() if not purpose] == []


def _verbs() -> set[str]:
    """The verbs of the command line, as its own help lists them."""
    command = [sys.executable, "-m", "rag", "--help"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^    ([a-z][\w-]*)(?=\s|$)", shown, re.MULTILINE))
