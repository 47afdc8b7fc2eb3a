"""Importing the package is quick, because what is heavy is imported where it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import rag

ROOT = Path(__file__).resolve().parents[2]
HEAVY = [
    "faiss",
    "onnxruntime",
    "openvino",
    "tokenizers",
    "openai",
    "ollama",
    "pypdf",
    "pypdfium2",
    "trafilatura",
    "docx",
    "docutils",
    "openpyxl",
    "pptx",
    "scipy",
    "pandas",
    "plotly",
    "streamlit",
    "alembic",
    "fastapi",
    "mcp",
]


def test_the_way_in_pulls_in_nothing_heavy():
    script = (
        "import sys; from rag import Workspace;"
        f"print(*(name for name in {HEAVY} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_every_public_name_is_there_and_declared_to_type_checkers():
    source = (ROOT / "rag" / "__init__.pyi").read_text()
    declared = {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == set(rag.__all__)
    assert all(getattr(rag, name) is not None for name in rag.__all__)


def test_the_package_alone_pulls_in_nothing_of_its_parts():
    script = "import sys, rag; print(*(name for name in sys.modules if name.startswith('rag.')))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_the_list_of_verbs_needs_no_database_and_no_model():
    script = (
        "import sys; from rag.__main__ import main;\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not {"numpy", "pydantic", "sqlalchemy"} & set(done.stdout.splitlines()[-1].split())
