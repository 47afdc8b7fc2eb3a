"""What was recorded of the product holds: see ``tests/golden/recorded``."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

from tests.golden.recorded import COLLECTIONS, FOLDER, PARTS

RECORD = "RECORD"
OUTSIDE = (pytest.mark.datasets, pytest.mark.thorough)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=OUTSIDE if part in COLLECTIONS else ()) for part in PARTS]
)
def test_recorded(part: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if part in COLLECTIONS:
        request.getfixturevalue("datasets")
    lines = list(PARTS[part](tmp_path / "home"))
    file = FOLDER / f"{part}.txt"
    if RECORD in os.environ:
        file.write_text("\n".join([*lines, ""]), "utf-8")
        pytest.fail(f"{file.name} is recorded anew; unset {RECORD}, and look at its difference")
    recorded = file.read_text("utf-8").split("\n")[:-1]
    assert list(difflib.unified_diff(recorded, lines, "recorded", "now", n=0, lineterm="")) == []
