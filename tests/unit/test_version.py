"""The release is written down once, and a checkout knows its commit without asking git."""

import re
import tomllib
from pathlib import Path

import pytest

from rag import VERSION
from rag.settings.version import code_version

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "1a2b3c4d5e6f" + "0" * 28


def _checkout(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def test_the_package_takes_its_version_from_the_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert "version" not in project["project"]
    attribute = project["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    assert attribute == "rag.settings.version.VERSION"


def test_the_changelog_has_an_open_section_and_then_this_release():
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## \[(.+?)\](?: - \d{4}-\d\d-\d\d)?$", text, re.MULTILINE)
    assert headings[:2] == ["Unreleased", VERSION]
    assert re.findall(r"^## ", text, re.MULTILINE) == ["## "] * len(headings)


@pytest.mark.parametrize(
    "files",
    [
        {".git/HEAD": f"{COMMIT}\n"},
        {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": f"{COMMIT}\n"},
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/packed-refs": f"# pack-refs with: peeled\n{'f' * 40} refs/heads/not-main\n"
            f"{COMMIT} refs/heads/main\n",
        },
        {
            ".git": "gitdir: store/worktrees/one\n",
            "store/worktrees/one/HEAD": "ref: refs/heads/one\n",
            "store/worktrees/one/commondir": "../..\n",
            "store/refs/heads/one": f"{COMMIT}\n",
        },
    ],
    ids=["detached", "branch", "packed", "worktree"],
)
def test_a_checkout_names_its_commit(tmp_path, files):
    assert code_version(_checkout(tmp_path, files)) == f"{VERSION}+g1a2b3c4d5e6f"


@pytest.mark.parametrize(
    "files",
    [
        {},
        {".git/HEAD": "ref: refs/heads/unborn\n"},
        {".git/HEAD": "nonsense\n"},
        {".git": "gitdir: nowhere\n"},
    ],
    ids=["installed", "unborn", "damaged", "lost"],
)
def test_elsewhere_it_is_the_release_alone(tmp_path, files):
    assert code_version(_checkout(tmp_path, files)) == VERSION
