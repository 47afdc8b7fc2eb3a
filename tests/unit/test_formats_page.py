"""The table of formats in the documentation, as the readers declare them."""

import ast
from pathlib import Path

from rag import Omission
from rag.readers import SUPPORTED, format_of

ROOT = Path(__file__).parents[2]
ROWS = {id(row): row for row in map(format_of, map("x.{}".format, (*SUPPORTED, "py")))}.values()


def test_the_page_lists_what_each_reader_can_name():
    lines = (ROOT / "docs/formats.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    listed = {(row[1], row[3]) for row in cells[2:]}
    assert listed == {
        (
            " ".join(f"`.{extension}`" for extension in row.extensions),
            ", ".join(Omission(kind, 2).words.removeprefix("2 ") for kind in row.leaves_out) or "–",
        )
        for row in ROWS
    }


def test_readers_name_what_they_declare_and_nothing_else():
    """By the literals of their code; tests of each reader hold its receipts to its own kinds."""
    declared = {kind for row in ROWS for kind in row.leaves_out}
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
    assert named <= declared
    assert declared <= texts
