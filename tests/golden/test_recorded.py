"""What was recorded of the product holds: see ``tests/golden/recorded``."""

import difflib
import os

import pytest

from tests.golden.answer_sets import KEPT, SETS, has_words
from tests.golden.recorded import COLLECTIONS, FOLDER, PARTS, asked

RECORD = "RECORD"
MARKS = {
    **dict.fromkeys(COLLECTIONS, (pytest.mark.datasets, pytest.mark.thorough)),
    **dict.fromkeys(("more_sample_answers", "kept_answers"), pytest.mark.thorough),
}


@pytest.mark.slow
@pytest.mark.parametrize("part", [pytest.param(part, marks=MARKS.get(part, ())) for part in PARTS])
def test_recorded(part, tmp_path, request):
    if part in COLLECTIONS:
        request.getfixturevalue("datasets")
    lines = list(PARTS[part](tmp_path / "home"))
    file = FOLDER / f"{part}.txt"
    if RECORD in os.environ:
        file.write_text("\n".join([*lines, ""]), "utf-8")
        pytest.fail(f"{file.name} is recorded anew; unset {RECORD}, and look at its difference")
    recorded = file.read_text("utf-8").split("\n")[:-1]
    assert list(difflib.unified_diff(recorded, lines, "recorded", "now", n=0, lineterm="")) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "least"),
    [
        (SETS[:5], {"right": 0.9, "answered": 0.95, "clear": 0.9, "doubted": 0.85}),
        (SETS[5:], {"right": 0.6, "answered": 0.85, "clear": 0.5, "doubted": 0.6}),
        pytest.param(
            KEPT[:5],
            {"right": 0.85, "answered": 0.92, "clear": 0.8, "doubted": 0.7},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            KEPT[5:],
            {"right": 0.55, "answered": 0.8, "clear": 0.4, "doubted": 0.55},
            marks=pytest.mark.thorough,
        ),
    ],
    ids=["near misses", "named things", "kept near misses", "kept named things"],
)
def test_what_short_documents_answer_is_answered_and_near_misses_are_doubted(names, least):
    right, answered, clear, doubted = (list[bool]() for _ in range(4))
    for question, answer in (row for name in names for row in asked(name)):
        doubtful = answer.assessment.state in ("doubtful", "refused")
        if not question.words:
            doubted.append(doubtful)
            continue
        first = bool(answer.citations) and has_words(answer.citations[0], question)
        right.append(first)
        clear.append(not doubtful)
        answered += [first] if not doubtful else []
    rows = {"right": right, "answered": answered, "clear": clear, "doubted": doubted}
    shares = {name: round(sum(row) / len(row), 3) for name, row in rows.items()}
    assert {name: share for name, share in shares.items() if share < least[name]} == {}
