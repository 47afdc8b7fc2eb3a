"""What the README and the other pages of the documentation say is there."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from PIL import Image, ImageSequence

from rag import VERSION
from tests.documentation import (
    FENCED,
    SHARED_OPTIONS,
    broken_links,
    command_problem,
    commands,
    field_problems,
    missing_names,
    missing_sources,
    option_problems,
    purpose_problems,
    room_rows,
    unknown_verbs,
    unlinked,
    variable_problems,
    verbs_by_name,
)
from tests.rooms import ROOT, TIERS, files, product, room_of
from tests.sample import sample

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {str(path.relative_to(ROOT)): path.read_text() for path in PAGES}
LONGEST = {"README.md": 110, "docs/using.md": 220, "docs/architecture.md": 160}
LARGEST_PICTURE, LARGEST_MOVING = 300_000, 3_000_000
PINNED = re.compile(r"^([\w.\[\]-]+)==[\w.]+(?:; .*platform.+)?$", re.MULTILINE)


def test_the_readme_starts_with_two_commands_and_is_short():
    start = [
        "pip install -r requirements.txt && streamlit run app.py",
        "pip install -r requirements-dev.txt && pytest",
    ]
    assert commands(TEXTS["README.md"])[:2] == start
    assert re.search("^  run pytest --no-skips", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)


def test_the_badges_are_true():
    badges = dict(re.findall(r"img\.shields\.io/badge/(\w+)-(.+?)-\w+\)", TEXTS["README.md"]))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert badges == {
        "version": VERSION,
        "python": f"{project['requires-python'].removeprefix('>=')}%2B",
        "licence": project["license"].replace("-", "--"),
    }


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    ((_, code),) = [block for block in FENCED.findall(TEXTS["README.md"]) if block[0] == "python"]
    assert len([line for line in code.splitlines() if line]) <= 10
    monkeypatch.setenv("TOUCHSTONE_HOME", str(tmp_path / "home"))
    with sample(tmp_path / "home"):
        names: dict[str, Any] = {}
        exec(compile(code, "README.md", "exec"), names)
        names["workspace"].close()
    recalls = [float(line.split()[1]) for line in capsys.readouterr().out.splitlines()[:3]]
    assert recalls == sorted(recalls, reverse=True)
    assert recalls[0] > recalls[-1]
    assert names["reply"].answer.state == "conflicting"


def test_every_verb_is_described_and_no_other():
    verbs = set(verbs_by_name())
    assert {"ingest", "search", "evaluate"} <= verbs
    unknown = {page: unknown_verbs(text, verbs) for page, text in TEXTS.items()}
    assert not any(unknown.values()), unknown
    assert option_problems(TEXTS["docs/command-line.md"], _options()) == []


def test_links_lead_somewhere():
    assert broken_links(TEXTS) == []
    assert unlinked(TEXTS) == []


@pytest.mark.parametrize(
    ("page", "line"), [(page, line) for page, text in TEXTS.items() for line in commands(text)]
)
def test_commands_can_be_run(page, line):
    assert command_problem(line) is None, page


def test_the_variables_that_the_settings_read_are_described():
    read = _read_variables() - {"TOUCHSTONE_CLUSTER"}  # which is gone
    assert {"TOUCHSTONE_HOME", "OPENAI_API_KEY"} <= read
    every = "\n".join(TEXTS.values())
    settings = _section("docs/deployment.md", "Configure Touchstone")
    assert variable_problems(settings, read, every) == []


def test_every_requirement_is_pinned():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in wanted if not PINNED.fullmatch(line)] == []


def test_every_requirement_has_a_purpose_and_every_purpose_a_requirement():
    assert "streamlit" in _pinned()
    assert (
        purpose_problems(
            _section("docs/dependencies.md", "Know what each package is for"), _pinned()
        )
        == []
    )


def test_recipe_fields_are_listed_with_their_defaults():
    assert field_problems(_section("docs/command-line.md", "Look up a recipe field")) == []


def test_the_rooms_are_listed_in_their_order():
    order = [(str(number), room) for number, tier in enumerate(TIERS) for room in tier]
    there = {room_of(module) for module in product()}
    told = room_rows(TEXTS["docs/architecture.md"])
    assert sorted(told) == sorted(row for row in order if row[1] in there)
    assert [int(tier) for tier, _ in told] == sorted(int(tier) for tier, _ in told)


def test_named_sources_are_there():
    missing = {page: missing_sources(text) for page, text in TEXTS.items()}
    assert not any(missing.values()), missing


def test_named_classes_and_constants_are_there():
    source = "\n".join(path.read_text() for path in files("rag", "tests"))
    pages = ("docs/architecture.md", "docs/extending.md", "CONTRIBUTING.md")
    assert {page: missing_names(TEXTS[page], source) for page in pages} == {p: [] for p in pages}


def test_every_benchmark_is_described():
    rows = re.findall(r"^\| `(\w+)` \|", TEXTS["docs/measurements.md"], re.MULTILINE)
    named = set(re.findall(r"--only (\w+)`", "\n".join(TEXTS.values()))) - {"NAME"}
    there = {path.stem for path in (ROOT / "tests" / "bench").glob("*.py")} - {"__init__"}
    assert set(rows) == there
    assert named <= there


def test_pictures_are_shown_and_small():
    pictures = list((ROOT / "docs" / "images").iterdir())
    shown = [path for path in pictures if any(f"images/{path.name})" in t for t in TEXTS.values())]
    assert shown == pictures
    for path in pictures:
        limit = LARGEST_MOVING if path.suffix == ".webp" else LARGEST_PICTURE
        assert path.stat().st_size < limit, path


def test_the_moving_picture_takes_ten_seconds():
    with Image.open(ROOT / "docs" / "images" / "tuning.webp") as picture:
        shown = 0
        for frame in ImageSequence.Iterator(picture):
            frame.load()
            shown += frame.info["duration"]
    assert 9_000 <= shown <= 11_000


def _options() -> dict[str, dict[str, bool]]:
    """The options of each verb; of two forms of one, the longer has to be described."""
    return {
        verb: {
            name: name == max(action.option_strings, key=len)
            for action in each._actions
            for name in action.option_strings
            if SHARED_OPTIONS.isdisjoint(action.option_strings)
        }
        for verb, each in verbs_by_name().items()
    }


def _pinned() -> list[str]:
    return [
        name for path in ROOT.glob("requirements*.txt") for name in PINNED.findall(path.read_text())
    ]


def _read_variables() -> set[str]:
    source = "".join(path.read_text() for path in (ROOT / "rag" / "settings").glob("*.py"))
    return set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', source))


def _section(page: str, heading: str) -> str:
    return TEXTS[page].split(f"## {heading}\n")[1].split("\n## ")[0]


def test_no_figure_of_a_table_is_crowned_by_hand():
    crowned = {
        page: re.findall(r"\| \*\*[+-]?\d[\d.,]*%?\*\*", text) for page, text in TEXTS.items()
    }
    assert not any(crowned.values()), crowned


def test_planted_faults_are_found():
    assert unknown_verbs("`python -m rag fly KB`", {"search"}) == ["fly"]
    page = "### search\n`search KB [--deep]`\n### ask\n`ask KB [--all]`\n"
    options = {"search": {"--all": True, "-a": False}, "ask": {"--all": True}, "tag": {}}
    assert option_problems(page, options) == [
        "search lacks --all",
        "search has no --deep",
        "tag has no section",
    ]
    assert variable_problems("`TOUCHSTONE_HOME`, `OPENAI_KEY`", {"TOUCHSTONE_HOME"}, "") == [
        "OPENAI_KEY"
    ]
    assert variable_problems("", {"TOUCHSTONE_HOME"}, "TOUCHSTONE_PORT") == [
        "TOUCHSTONE_HOME",
        "TOUCHSTONE_PORT",
    ]
    assert purpose_problems("| `numpy` |  |\n| `flask` | web |", ["numpy", "scipy"]) == [
        "flask",
        "scipy",
        "numpy",
    ]
    assert field_problems("| `search.top_k` | `6` | x |")[:2] == [
        "answer.context_tokens",
        "answer.decider",
    ]
    assert missing_names("`Grid`, `Flask`, `ROWS`", "class Grid:\nROWS = 3") == ["Flask"]
    assert missing_sources("`rag/flask.py`, `rag.flask`, `rag.recipe`") == [
        "rag.flask",
        "rag/flask.py",
    ]


def test_planted_links_are_found():
    page = (
        "# A title\n## Twice\n## Twice\n[x](gone.md) [y](#twice-1) [z](#twice-2) [w](README.md#no)"
    )
    assert broken_links({"README.md": page}) == [
        "README.md: gone.md",
        "README.md: #twice-2",
        "README.md: README.md#no",
    ]
    assert unlinked({"README.md": "[a](docs/a.md)", "docs/a.md": "", "docs/b.md": ""}) == [
        "docs/b.md"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "python -m rag fly KB",
        "python -m rag search KB",
        "python -m rag search KB Q --deep",
        "python -m rag search KB Q --set search.depth=3",
        "python -m nothing.there",
        "pip install -r requirements-none.txt",
        "streamlit run main.py",
        "pytest tests/nothing",
        "make test",
        "python -m rag demo | jq .",
    ],
)
def test_a_planted_command_is_found(line):
    assert command_problem(line) is not None
