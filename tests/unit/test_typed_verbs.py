"""The results of the command line are types: no verb writes the fields of its JSON by hand."""

import ast
from collections.abc import Iterator
from pathlib import Path

import rag.cli

VERBS = Path(rag.cli.__file__).parent


def _dictionaries(source: str) -> Iterator[str]:
    """Dictionaries that ``source`` hands to ``Output``, and functions that return rows untyped."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Output":
            written = isinstance(node.args[0], ast.Dict | ast.DictComp | ast.BinOp)
            yield from [ast.unparse(node.args[0])] if written else []
        elif isinstance(node, ast.FunctionDef) and node.returns:
            yield from [node.name] if "dict[str, Any]" in ast.unparse(node.returns) else []


def test_no_verb_writes_its_fields_by_hand():
    written = {
        f"{path.stem}: {line}"
        for path in VERBS.rglob("*.py")
        for line in _dictionaries(path.read_text("utf-8"))
    }
    # Settings to store, and a question of another tool with its words blotted out.
    assert written == {"conversing: _settings", "sharing: _redacted_question"}


def test_a_dictionary_written_by_hand_is_seen():
    source = """
def row() -> dict[str, Any]: ...
Output({"removed": 1}, "")
Output(data | {"file": ""}, "")
Output(RemovedData(removed=1), "")
"""
    assert sorted(_dictionaries(source)) == ["data | {'file': ''}", "row", "{'removed': 1}"]
