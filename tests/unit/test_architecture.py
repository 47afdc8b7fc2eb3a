"""Who may import whom, and how long things may be. Read from the source, nothing is run."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from itertools import pairwise

import pytest

from tests.rooms import (
    PRODUCT,
    ROOT,
    TIER,
    TIERS,
    Import,
    cycles,
    files,
    folder_graph,
    imports,
    longest_way,
    module_graph,
    order_breach,
    parsed,
    product,
    room_graph,
    room_of,
    target_room,
    within,
)
from tests.vocabulary import NAMES, OPENINGS, count

VAGUE_NAMES = {"utils", "util", "helpers", "core", "base", "manager", "misc", "common"}

MOST_AT_THE_TOP = 12  # modules directly in ``rag``
MOST_ROOMS = 20  # beside ``rag``, which is their public names
MOST_TIERS = 8
LONGEST_WAY = 10  # rooms on the way down from the outside to the vocabulary

# Logic is handed its adapters, and not even names their types; chunking and words are logic too.
LOGIC = ("rag.retrieval", "rag.answering", "rag.evaluation")
ADAPTERS = (
    "rag.settings",
    "rag.network",
    "rag.readers",
    "rag.providers",
    "rag.stores",
    "rag.storage",
)

# Third-party package to the only places that may import it.
CONFINED = {
    "streamlit": {"app", "pages"},
    "plotly": {"pages"},
    "starlette": {"app", "rag.api"},
    "fastapi": {"rag.api"},
    "mcp": {"rag.api"},
    "prometheus_client": {"rag.api"},
    "opentelemetry": {"rag.workspace.tracing"},
    "faiss": {"rag.stores"},
    "qdrant_client": {"rag.stores"},
    "openai": {"rag.providers"},
    "ollama": {"rag.providers"},
    "onnxruntime": {"rag.providers"},
    "openvino": {"rag.providers"},
    "sqlalchemy": {"rag.storage", "rag.stores"},  # pgvector is in the database
    "alembic": {"rag.storage"},
    "jmespath": {"rag.providers.http_tools"},
    "pypdf": {"rag.readers"},
    "pypdfium2": {"rag.readers"},
    "PIL": {"rag.readers"},
    "trafilatura": {"rag.readers"},
    "htmldate": {"rag.readers"},
    "docx": {"rag.readers"},
    "docutils": {"rag.readers"},
    "openpyxl": {"rag.readers"},
    "pptx": {"rag.readers"},
}
MOUNTED = {"rag.cli", "rag.api"}  # by what starts the program
ONE_FILE_EACH = {
    "faiss",
    "opentelemetry",
    "qdrant_client",
    "openai",
    "ollama",
    "openvino",
    "pypdf",
}


def import_breaches(module: str, source: str) -> list[str]:
    """Every import in the source of a module that the rules forbid, one sentence each."""
    return [
        f"{module}:{found.line} {problem}"
        for found in imports(module, source)
        for problem in (order_breach(found), _shared_breach(found), _confined_breach(found))
        if problem
    ]


def environment_breaches(module: str, source: str) -> list[str]:
    """Every use of the process environment outside ``rag.settings``."""
    if module == "rag.settings" or module.startswith("rag.settings."):
        return []
    names = {"environ", "environb", "getenv", "putenv"}
    return [
        f"{module}:{node.lineno} reads the environment: only rag.settings may"
        for node in ast.walk(parsed(source))
        if (isinstance(node, ast.Attribute) and node.attr in names and _is_os(node.value))
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and names & {alias.name for alias in node.names}
        )
    ]


def _shared_breach(found: Import) -> str | None:
    """What the order alone does not say: logic without adapters, the outside without insides."""
    if found.module.split(".")[0] not in PRODUCT:
        return None
    if any(within(found.importer, room) for room in LOGIC):
        adapter = next((room for room in ADAPTERS if within(found.name, room)), None)
        return f"imports {adapter}: logic is handed its adapters" if adapter else None
    outside = found.importer.startswith(("pages", "app", "rag.cli", "rag.api", "rag.__main__"))
    theirs = target_room(found) or ""
    mounted = any(within(theirs, room) for room in MOUNTED)
    if outside and theirs != "rag" and not within(theirs, "pages") and not mounted:
        return f"imports {found.name}: the outside uses rag's public names only"
    return None


def _confined_breach(each: Import) -> str | None:
    package = each.module.split(".")[0]
    places = CONFINED.get(package)
    if places is None or any(within(each.importer, place) for place in places):
        return None
    return f"imports {package}, which belongs in {', '.join(sorted(places))}"


def _is_os(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "os"


MODULES = product()


def test_imports_keep_to_the_order_of_the_rooms():
    breaches = (import_breaches(name, path.read_text()) for name, path in MODULES.items())
    assert [breach for found in breaches for breach in found] == []


def test_every_room_of_the_order_is_there():
    there = {room_of(module) for module in MODULES}
    assert {room for room in TIER if room not in there} == set()


def test_no_modules_or_folders_import_each_other():
    assert cycles(module_graph()) == []
    assert cycles(folder_graph()) == []


def test_the_rooms_are_few_and_the_way_down_is_short():
    assert len(TIER) - len({"rag"}) <= MOST_ROOMS
    assert len(TIERS) <= MOST_TIERS
    assert len(longest_way(room_graph())) <= LONGEST_WAY


def test_few_modules_stand_beside_the_rooms():
    assert len(list((ROOT / "rag").glob("*.py"))) <= MOST_AT_THE_TOP


def test_only_the_settings_read_the_environment():
    breaches = (environment_breaches(name, path.read_text()) for name, path in MODULES.items())
    assert [breach for found in breaches for breach in found] == []


def test_a_package_is_known_to_one_adapter():
    importers: dict[str, set[str]] = {package: set() for package in ONE_FILE_EACH}
    for module, path in MODULES.items():
        for found in imports(module, path.read_text()):
            if (package := found.module.split(".")[0]) in importers:
                importers[package].add(".".join(module.split(".")[:3]))
    assert {package: found for package, found in importers.items() if len(found) > 1} == {}


def test_no_string_stands_behind_the_return_that_it_was_part_of():
    pairs = (
        (module, after.lineno)
        for module, path in MODULES.items()
        for node in ast.walk(parsed(path.read_text()))
        for body in (getattr(node, "body", None), getattr(node, "orelse", None))
        if isinstance(body, list)
        for before, after in pairwise(body)
        if isinstance(before, ast.Return | ast.Raise) and isinstance(after, ast.Expr)
    )
    assert list(pairs) == []


def test_names_say_what_a_module_holds():
    assert [module for module in MODULES if VAGUE_NAMES & set(module.split("."))] == []


def test_no_words_of_the_package_point_at_the_dashboard():
    """Errors, hints and reasons are read in a terminal and by programs, too."""
    pages = re.compile(r"\b(?:on the|Documents|Metrics|Tuning|Inspector|Runs|settings) page\b")
    pointing = []
    for module, path in MODULES.items():
        nodes = list(ast.walk(parsed(path.read_text()))) if module.startswith("rag") else []
        prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        words = [
            node.value
            for node in nodes
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in prose
        ]
        pointing += [(module, text) for text in words if pages.search(text)]
    assert pointing == []


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("rag.types", "from rag.lexical import Postings", "rag.lexical"),
        ("rag.stores.faiss", "from ..providers import embed", "rag.providers"),
        ("rag.evaluation.search", "from rag.stores.faiss import Index", "rag.stores"),
        ("rag.answering", "from rag import workspace", "rag.workspace"),
        (
            "rag.services.jobs.runner",
            "from rag.library.documents.library import Library",
            "comes after",
        ),
        (
            "rag.search.federation",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import rag.workspace.scoped",
            "comes after",
        ),
        ("pages.chat", "from rag.retrieval import search", "public names"),
        ("rag.workspace", "import streamlit as st", "streamlit"),
        ("rag.api.routes", "from rag.cli.evaluating import tuning", "comes after"),
        ("pages.chat", "from rag.api.mounting import Api", "comes after"),
        ("rag.cleverness", "import rag.types", "no room"),
    ],
)
def test_a_planted_import_is_caught(module, source, said):
    (problem,) = import_breaches(module, source)
    assert said in problem


def test_nothing_strays_at_the_top():
    pages = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"}
    known = pages | {"app.py", "pyproject.toml", "compose.yaml", "Dockerfile", "requirements.lock"}
    files = {path.name for path in ROOT.iterdir() if path.is_file()}
    strays = {
        name
        for name in files - known
        if not name.startswith(".") and not fnmatchcase(name, "requirements*.txt")
    }
    assert strays == set()


def test_docstrings_open_with_a_noun_phrase_or_an_imperative():
    """And names that stand for something with a usual name do not come back."""
    names, opened = count(ROOT)
    assert {word: opened[word] for word in OPENINGS if opened[word]} == {}
    renamed = [word for word in NAMES if word[0].isupper() and word != "LEAST"]
    assert {word: names[word] for word in renamed if names[word]} == {}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rag.recipe", "from rag.errors import InvalidRecipe"),
        ("rag.stores.faiss", "import faiss\nfrom rag.stores.protocol import Store"),
        ("rag.readers.web", "from rag.network import checked_url"),
        ("rag.evaluation.search", "from rag.retrieval import Candidates"),
        ("rag.workspace", "from rag.storage import Repository\nfrom rag.services.jobs import Jobs"),
        ("rag", "from rag.workspace import Workspace"),
        (
            "pages.chat",
            "from rag import Recipe\nfrom pages.components.shell import text",
        ),
        ("app", "from rag.api import routes"),
        ("app", "from pages.components.shell import warm_up"),
        ("rag.__main__", "from rag.cli.parser import parser"),
    ],
)
def test_a_rightful_import_passes(module, source):
    assert import_breaches(module, source) == []


@pytest.mark.parametrize(
    "source", ["import os\nos.environ['A']", "import os\nos.getenv('A')", "from os import environ"]
)
def test_a_planted_look_at_the_environment_is_caught(source):
    assert len(environment_breaches("rag.services.jobs", source)) == 1
    assert environment_breaches("rag.settings", source) == []


def _transactions(method: ast.FunctionDef, methods: dict[str, ast.FunctionDef]) -> int:
    """Count the places at which a method and those of its class that it calls begin to write."""
    count = 0
    for call in ast.walk(method):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        owner, name = ast.unparse(call.func.value), call.func.attr
        if (owner.endswith("database") and name == "write") or name in ("submit", "submit_once"):
            count += 1
        elif owner == "self" and name in methods and name != method.name:
            count += _transactions(methods[name], methods)
    return count


def test_an_operation_writes_in_one_place():
    counts: dict[str, int] = {}
    for path in files("rag"):
        for node in ast.walk(parsed(path.read_text())):
            if isinstance(node, ast.ClassDef):
                methods = {
                    item.name: item for item in node.body if isinstance(item, ast.FunctionDef)
                }
                for name, method in methods.items():
                    if "operation(" in " ".join(map(ast.unparse, method.decorator_list)):
                        counts[f"{node.name}.{name}"] = _transactions(method, methods)
    assert counts["Recipes.save_and_build"] == counts["Proposals.request_proposals"] == 1
    assert len(counts) > 200
    assert [name for name, count in counts.items() if count > 1] == []
