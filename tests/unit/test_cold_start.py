"""Importing the package is quick, because what is heavy is imported where it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import rag

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {
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
    "safetensors",
    "wordllama",
}


def printed(script: str) -> list[str]:
    """The lines that another interpreter prints."""
    command = [sys.executable, "-c", f"import sys\n{script}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_each_way_in_pulls_in_nothing_that_it_does_not_use():
    package, api, workspace = printed(
        "import rag; print(*(name for name in sys.modules if name.startswith('rag.')))\n"
        "from rag.api.mounting import Api; Api(lambda: None).routes()\n"
        "print(*{'fastapi', 'mcp', 'sqlalchemy', 'numpy'} & sys.modules.keys())\n"
        "from rag import Settings, Workspace, providers; settings = Settings.from_env({})\n"
        "names = 'minilm', 'wordllama', 'openai', 'ollama'\n"
        "[providers.embedder(name, settings) for name in names]\n"
        "providers.statuses(settings)\n"
        f"print(*{HEAVY} & sys.modules.keys())"
    )
    assert (package, api, workspace) == ("", "", "")


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


def test_the_list_of_verbs_needs_no_database_and_no_model():
    *_, modules = printed(
        "from rag.__main__ import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(*{name.partition('.')[0] for name in sys.modules})"
    )
    assert not {"numpy", "pydantic", "sqlalchemy"} & set(modules.split())
