"""The table of formats in the documentation, as the readers name what they leave out."""

import ast
from pathlib import Path

from rag.readers import SUPPORTED, format_of
from tests.sample_files import in_words, named_omissions

ROOT = Path(__file__).parents[2]


def test_the_page_has_a_row_for_each_format():
    rows = map(format_of, map("x.{}".format, (*SUPPORTED, "py")))
    assert set(named_omissions()) == {extension for row in rows for extension in row.extensions}


def test_readers_name_what_the_page_lists_and_nothing_else():
    """By the literals of their code; tests of each reader hold its receipts to its own row."""
    listed = set[str]().union(*named_omissions().values())
    named, texts = set[str](), set[str]()
    for path in (ROOT / "rag/readers").rglob("*.py"):
        if path.name == "formats.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            if isinstance(node, ast.Call) and node.args:
                function = getattr(node.func, "attr", getattr(node.func, "id", ""))
                kind = node.args[0]
                if function in ("leave_out", "Omission") and isinstance(kind, ast.Constant):
                    named.add(kind.value)
    assert set(map(in_words, named)) <= listed
    assert listed <= set(map(in_words, texts))
