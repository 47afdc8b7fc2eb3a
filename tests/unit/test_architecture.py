"""Who may import whom, and how long things may be. Read from the source, nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

_parsed = cache(ast.parse)
ROOT = Path(__file__).resolve().parents[2]
LONGEST_MODULE = 350
LONGEST_FUNCTION = 80
VAGUE_NAMES = {"utils", "util", "helpers", "core", "base", "manager", "misc", "common"}

# What puts the parts together, by name below ``rag``.
COMPOSING = """
    indexing ingestion caches services question_sets question_edits label_edits labelling exchange
    judging_queue build_table passage_labels proposals conversations calibrations limits evaluations
    corpora stepwise sweep_candidates sweeps gates library run_figures run_history rankings
    reporting bundles source_pages projections maps base_maps explaining comparing tuning lab scope
    tools knowledge_base workspace jobs file_names sweep_figures
"""

# Module (with everything below it) to layer; the longest name that fits counts.
LAYERS = {
    "rag.types": 0,
    "rag.protocols": 0,
    "rag.errors": 0,
    "rag.version": 0,
    "rag.recipe": 1,
    "rag.settings": 1,
    "rag.network": 1,
    "rag.chunking": 1,
    "rag.lexical": 1,
    "rag.readers": 1,
    "rag.providers": 1,
    "rag.stores": 1,
    "rag.storage": 1,
    "rag.files": 1,
    "rag.http_tools": 1,
    "rag.evaluation.metrics": 1,
    "rag.retrieval": 2,
    "rag.answering": 2,
    "rag.explanation": 2,
    "rag.conversation": 2,
    "rag.memory": 2,
    "rag.evaluation": 2,
    **{f"rag.{name}": 3 for name in COMPOSING.split()},
    "rag.api": 4,
    "rag.__main__": 4,
    "rag.cli": 4,
    "app": 4,
    "pages": 4,
}
SHARED = {"rag.recipe", "rag.network"}  # what adapters may rest on besides the lowest layer
FACE = "rag"  # rag/__init__.py, the public names

# Who mounts whom within the outside.
FITS = {("app", "rag.api"), ("app", "pages"), ("rag.__main__", "rag.cli")}

# The second layer is handed its adapters; it may name their types, not import them to run.
ADAPTERS = {
    "rag.settings",
    "rag.network",
    "rag.files",
    "rag.http_tools",
    "rag.readers",
    "rag.providers",
    "rag.stores",
    "rag.storage",
}

# Third-party package to the only places that may import it.
CONFINED = {
    "streamlit": {"app", "pages"},
    "plotly": {"pages"},
    "starlette": {"app", "rag.api"},
    "faiss": {"rag.stores"},
    "openai": {"rag.providers"},
    "ollama": {"rag.providers"},
    "onnxruntime": {"rag.providers"},
    "sqlalchemy": {"rag.storage"},
    "alembic": {"rag.storage"},
    "jmespath": {"rag.http_tools"},
    "pypdf": {"rag.readers"},
    "pypdfium2": {"rag.readers"},
    "PIL": {"rag.readers"},
    "trafilatura": {"rag.readers"},
    "docx": {"rag.readers"},
    "openpyxl": {"rag.readers"},
    "pptx": {"rag.readers"},
}
ONE_FILE_EACH = {"faiss", "openai", "ollama", "pypdf"}


@dataclass(frozen=True)
class Import:
    """``name`` is the module, or module and attribute, as far as the source tells."""

    importer: str
    module: str
    name: str
    line: int
    only_for_types: bool


def import_breaches(module: str, source: str) -> list[str]:
    """Every import in the source of a module that the rules forbid, one sentence each."""
    sentences = [
        f"{module}:{each.line} {problem}"
        for each in _imports(module, _parsed(source))
        for problem in (_layer_breach(each), _confined_breach(each))
        if problem
    ]
    if module.startswith("rag") and module != FACE and _place(module) is None:
        sentences.append(f"{module} has no layer: name it in LAYERS")
    return sentences


def environment_breaches(module: str, source: str) -> list[str]:
    """Every use of the process environment outside ``rag.settings``."""
    if module == "rag.settings" or module.startswith("rag.settings."):
        return []
    names = {"environ", "environb", "getenv", "putenv"}
    return [
        f"{module}:{node.lineno} reads the environment: only rag.settings may"
        for node in ast.walk(_parsed(source))
        if (isinstance(node, ast.Attribute) and node.attr in names and _is_os(node.value))
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and names & {alias.name for alias in node.names}
        )
    ]


def length_breaches(name: str, source: str) -> list[str]:
    """Modules and functions that are too long."""
    problems = []
    lines = len(source.splitlines())
    if lines > LONGEST_MODULE:
        problems.append(f"{name} has {lines} lines")
    for node in ast.walk(_parsed(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LONGEST_FUNCTION:
                problems.append(f"{name}:{node.lineno} {node.name} has {length} lines")
    return problems


def _layer_breach(each: Import) -> str | None:
    if each.module.split(".")[0] not in {"rag", "pages", "app"} or each.importer == FACE:
        return None
    layer = _layer(each.importer)
    if layer == 4:
        return _outside_breach(each)
    if each.only_for_types:
        return None
    theirs = _place(each.name)
    if theirs is None:
        return f"imports {each.name}: below the public face, name the module that has it"
    reach = theirs == _place(each.importer) or _within_reach(layer, theirs)
    return None if reach else f"imports {theirs}, which is out of reach"


def _within_reach(layer: int | None, theirs: str) -> bool:
    match layer:
        case 1:
            return LAYERS[theirs] == 0 or theirs in SHARED
        case 2:
            return LAYERS[theirs] <= 2 and theirs not in ADAPTERS
        case 3:
            return LAYERS[theirs] <= 3
    return False


def _outside_breach(each: Import) -> str | None:
    mine = _place(each.importer)
    own = each.module == mine or each.module.startswith(f"{mine}.")
    fits = (mine, _place(each.module)) in FITS
    public = each.module == FACE and _place(each.name) is None
    if own or fits or public:
        return None
    return f"imports {each.name}: the outside uses rag's public names only"


def _confined_breach(each: Import) -> str | None:
    package = each.module.split(".")[0]
    places = CONFINED.get(package)
    if places is None or any(_within(each.importer, place) for place in places):
        return None
    return f"imports {package}, which belongs in {', '.join(sorted(places))}"


def _imports(module: str, tree: ast.Module) -> Iterator[Import]:
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        types = id(node) in typing_only
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, alias.name, node.lineno, types)
        elif isinstance(node, ast.ImportFrom):
            source = _source(module, node)
            for alias in node.names:
                yield Import(module, source, f"{source}.{alias.name}", node.lineno, types)


def _source(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parent = module.split(".")[: -node.level]
    return ".".join([*parent, *([node.module] if node.module else [])])


def _place(name: str) -> str | None:
    fits = [place for place in LAYERS if _within(name, place)]
    return max(fits, key=len, default=None)


def _layer(name: str) -> int | None:
    place = _place(name)
    return None if place is None else LAYERS[place]


def _within(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}.")


def _is_os(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "os"


def _files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PRODUCT = [ROOT / "app.py", *_files("rag", "pages")]


@pytest.mark.parametrize("path", PRODUCT, ids=_module)
def test_imports_keep_to_the_layers(path: Path) -> None:
    assert import_breaches(_module(path), path.read_text()) == []


@pytest.mark.parametrize("path", PRODUCT, ids=_module)
def test_only_the_settings_read_the_environment(path: Path) -> None:
    assert environment_breaches(_module(path), path.read_text()) == []


@pytest.mark.parametrize("package", sorted(ONE_FILE_EACH))
def test_the_package_is_known_to_one_adapter(package: str) -> None:
    importers = {
        ".".join(_module(path).split(".")[:3])
        for path in PRODUCT
        for each in _imports(_module(path), _parsed(path.read_text()))
        if each.module.split(".")[0] == package
    }
    assert len(importers) <= 1, importers


def test_nothing_is_too_long() -> None:
    # A migration is written by the migration tool and never changed again.
    files = [
        path for path in [*PRODUCT, *_files("tests", "data")] if path.parent.name != "versions"
    ]
    names = [(str(path.relative_to(ROOT)), path.read_text()) for path in files]
    assert [problem for name, text in names for problem in length_breaches(name, text)] == []


def test_names_say_what_a_module_holds() -> None:
    assert [path for path in PRODUCT if VAGUE_NAMES & set(_module(path).split("."))] == []


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("rag.types", "from rag.recipe import Recipe", "rag.recipe"),
        ("rag.lexical", "import rag.stores.faiss", "rag.stores"),
        ("rag.stores.faiss", "from ..providers import embed", "rag.providers"),
        ("rag.providers.openai", "def f():\n    from rag.settings import Settings", "rag.settings"),
        ("rag.retrieval.search", "from rag.stores.faiss import Index", "rag.stores"),
        ("rag.answering", "from rag import workspace", "rag.workspace"),
        ("rag.chunking", "from rag import Document", "name the module"),
        ("rag.evaluation.metrics", "from rag.evaluation import runs", "rag.evaluation"),
        ("rag.workspace", "from rag.api import routes", "rag.api"),
        ("pages.chat", "from rag.retrieval import search", "public names"),
        ("pages.chat", "from rag import retrieval", "public names"),
        ("rag.__main__", "import rag.storage", "public names"),
        ("rag.workspace", "import streamlit as st", "streamlit"),
        ("rag.retrieval.dense", "import faiss", "faiss"),
        ("pages.metrics", "from sqlalchemy import select", "sqlalchemy"),
        ("rag.cleverness", "", "no layer"),
    ],
)
def test_a_planted_import_is_caught(module: str, source: str, said: str) -> None:
    (problem,) = import_breaches(module, source)
    assert said in problem


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rag.recipe", "from rag.errors import InvalidRecipe"),
        ("rag.stores.faiss", "import faiss\nfrom rag.stores.protocol import Store"),
        ("rag.readers.web", "from rag.network.requests import checked_url"),
        ("rag.retrieval.search", "from rag.evaluation.metrics import ndcg"),
        (
            "rag.retrieval.search",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rag.stores import Store",
        ),
        ("rag.workspace", "from rag.storage import Repository\nfrom rag.jobs import Jobs"),
        ("rag", "from rag.workspace import Workspace"),
        ("pages.chat", "import rag\nfrom rag import Recipe\nfrom pages.components import cards"),
        ("app", "from rag.api import routes"),
        ("app", "from pages.components import warmth"),
        ("rag.__main__", "from rag.cli.parser import parser"),
    ],
)
def test_a_rightful_import_passes(module: str, source: str) -> None:
    assert import_breaches(module, source) == []


@pytest.mark.parametrize(
    "source", ["import os\nos.environ['A']", "import os\nos.getenv('A')", "from os import environ"]
)
def test_a_planted_look_at_the_environment_is_caught(source: str) -> None:
    assert len(environment_breaches("rag.jobs", source)) == 1
    assert environment_breaches("rag.settings", source) == []


def test_planted_length_is_caught() -> None:
    body = "def long():\n" + "    x = 1\n" * LONGEST_FUNCTION
    assert length_breaches("m", body) == ["m:1 long has 81 lines"]
    assert length_breaches("m", "x = 1\n" * (LONGEST_MODULE + 1)) == ["m has 351 lines"]
    assert length_breaches("m", "x = 1\n" * LONGEST_MODULE) == []
