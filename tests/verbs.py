"""Verbs of the command line, run in the process of a test."""

import json
from typing import Any

import pytest

from rag.__main__ import main


def run_verb(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any, str]:
    """Run a verb; return its exit code, the JSON object if there is one, and standard error."""
    code = main([*map(str, arguments), "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else None, printed.err


def output_of(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> Any:
    """Run a verb that ends with ``code``; return the JSON object."""
    ended, output, error = run_verb(capsys, *arguments)
    assert ended == code, error
    return output
