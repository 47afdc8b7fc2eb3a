"""Imported quotes that their document has in several places."""

import json

import pytest

from tests.workspaces import QUICK, add, workspace_at

TARIFF = "In a van of the town: $2.590,00.\n\nTo another cemetery: $2.590,00.\n"


@pytest.mark.parametrize(
    ("quote", "notes"),
    [
        ("To another cemetery: $2.590,00", []),
        (
            "$2.590,00",
            [
                "q1: “$2.590,00” is in 2 places of tariff.md. The label is on one of them. "
                "Add more words, or the page."
            ],
        ),
    ],
)
def test_an_import_names_quotes_in_several_places(home, quote, notes):
    workspace = workspace_at(home)
    base = workspace.create("fees", QUICK)
    add(workspace, base, {"tariff.md": TARIFF})
    label = {"document": "tariff.md", "quote": quote}
    line = json.dumps({"id": "q1", "text": "What does it cost?", "evidence": [label]})
    came = base.questions.import_file("fees", "questions.jsonl", line)
    assert list(came.repeated) == notes
