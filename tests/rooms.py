"""The rooms of the product and their order, written down once: ``python -m tests.rooms``.

A room is a folder or a single module. It may import rooms of the tiers above its own in ``TIERS``,
also for type checking only, and nothing of its own tier or of those below.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TIERS: tuple[tuple[str, ...], ...] = (
    # the vocabulary
    (
        "rag.types",
        "rag.errors",
        "rag.fences",
        "rag.input_rules",
        "rag.operation",
        "rag.spreadsheets",
        "rag.telemetry",
    ),
    ("rag.protocols", "rag.recipe", "rag.logistic"),
    ("rag.results",),
    # adapters, each of one technique or one part of the world outside
    ("rag.network", "rag.lexical"),
    (
        "rag.chunking",
        "rag.readers",
        "rag.providers",
        "rag.stores",
        "rag.storage",
        "rag.http_tools",
        "rag.topic",
    ),
    # logic, which is handed its adapters
    ("rag.settings", "rag.retrieval", "rag.answering"),
    ("rag.evaluation",),
    # composing rooms
    ("rag.indexing", "rag.jobs"),
    ("rag.services",),
    ("rag.access", "rag.maps", "rag.search", "rag.questions", "rag.memory"),
    ("rag.documents", "rag.runs"),
    (
        "rag.tuning",
        "rag.explanation",
        "rag.conversations",
        "rag.bundles",
        "rag.tours",
        "rag.systems",
        "rag.examination",
        "rag.exports",
    ),
    ("rag.knowledge_base", "rag.maintenance", "rag.schemas", "rag.tracing"),
    ("rag.workspace",),
    ("rag",),
    # the outside
    ("rag.cli", "rag.api", "pages.components.shell"),
    (
        "rag.cli.documents",
        "rag.cli.asking",
        "rag.cli.evaluating",
        "rag.cli.administration",
        "pages.components.recipe",
        "pages.components.source",
        "pages.components.labels",
        "pages.components.metrics",
        "pages.components.settings",
        "pages.components.tours",
    ),
    ("rag.cli.parser", "pages.components.documents", "pages.components.runs"),
    ("pages.components.inspector", "pages.components.tuning"),
    ("pages.components.chat",),
    ("pages.components.memory", "pages.components.operations"),
    ("pages",),
    ("rag.__main__", "app"),
)
TIER = {room: number for number, tier in enumerate(TIERS) for room in tier}
PRODUCT = ("rag", "pages", "app")


@dataclass(frozen=True)
class Import:
    """``name`` is the module, or module and attribute, as far as the source tells."""

    importer: str
    module: str
    name: str
    line: int


def room_of(name: str) -> str | None:
    """The room of a module, or of a name in one; None for what has no place in the order."""
    if name in ("rag", "app"):
        return name
    fits = [room for room in TIER if room != "rag" and within(name, room)]
    return max(fits, key=len, default=None)


def target_room(found: Import) -> str | None:
    """The room that an import reaches into; a public name is in the package ``rag`` itself."""
    return room_of(found.name) or ("rag" if found.module == "rag" else None)


def within(name: str, room: str) -> bool:
    """Whether a dotted name is a room, or something in it."""
    return name == room or name.startswith(f"{room}.")


def order_breach(found: Import) -> str | None:
    """The reason why an import violates the order of the rooms, or None."""
    if found.module.split(".")[0] not in PRODUCT:
        return None
    mine, theirs = room_of(found.importer), target_room(found)
    if mine is None or theirs is None:
        return f"{found.importer if mine is None else found.name} has no room: name it in TIERS"
    if mine == theirs or mine == "rag" or TIER[theirs] < TIER[mine]:
        return None
    return f"imports {found.name}: {theirs} comes after {mine}"


@cache
def imports(module: str, source: str) -> tuple[Import, ...]:
    """Every import of a module, also those for type checking only and within functions."""
    return tuple(_imports(module, source))


def _imports(module: str, source: str) -> Iterator[Import]:
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(module, node)
            for alias in node.names:
                yield Import(module, origin, f"{origin}.{alias.name}", node.lineno)


def _origin(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parent = module.split(".")[: -node.level]
    return ".".join([*parent, *([node.module] if node.module else [])])


parsed = cache(ast.parse)


def files(*folders: str) -> list[Path]:
    """All modules below some folders of the project."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    """The dotted name of a file of the project."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def product() -> dict[str, Path]:
    """Every module of the product, by its dotted name."""
    return {module_name(path): path for path in [ROOT / "app.py", *files("rag", "pages")]}


def module_graph() -> dict[str, set[str]]:
    """The modules that each module of the product imports."""
    modules = product()
    return {
        name: {
            found.name if found.name in modules else found.module
            for found in imports(name, path.read_text())
            if found.module in modules
        }
        - {name}
        for name, path in modules.items()
    }


def room_graph() -> dict[str, set[str]]:
    """The rooms that each room imports; a public name counts as the package ``rag``."""
    graph: dict[str, set[str]] = {}
    for module, theirs in module_graph().items():
        mine = room_of(module)
        found = {room_of(name) for name in theirs} - {mine}
        graph.setdefault(mine or module, set()).update(room for room in found if room)
    # The public face imports what its stub names.
    stub = (ROOT / "rag" / "__init__.pyi").read_text()
    graph["rag"] = {room for each in imports("rag.stub", stub) if (room := room_of(each.module))}
    return graph


def longest_way(graph: Mapping[str, set[str]]) -> list[str]:
    """The longest way down through rooms, from the outside to the vocabulary.

    The dashboard counts as one room, and so does the command line: how deep their own rooms are
    stacked is another question.
    """
    folded: dict[str, set[str]] = {}
    for room, theirs in graph.items():
        folded.setdefault(_floor(room), set()).update({_floor(each) for each in theirs})

    @cache
    def below(room: str) -> tuple[str, ...]:
        ways = (below(each) for each in folded[room] - {room})
        return (room, *max(ways, key=len, default=()))

    return list(max((below(room) for room in folded), key=len))


def _floor(room: str) -> str:
    return next((each for each in ("pages", "rag.cli") if within(room, each)), room)


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Modules that import each other, in whatever many steps: groups of two or more."""
    reach: dict[str, set[str]] = {}
    for name in graph:
        seen, todo = set[str](), list(graph[name])
        while todo:
            each = todo.pop()
            if each not in seen:
                seen.add(each)
                todo.extend(graph.get(each, ()))
        reach[name] = seen
    groups = {
        tuple(sorted(other for other in reach[name] if name in reach.get(other, ())))
        for name in graph
        if name in reach[name]
    }
    return [list(group) for group in sorted(groups)]


def code_lines(source: str) -> int:
    """Lines of a module without blanks, comments and docstrings."""
    counted: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            counted.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(parsed(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            counted.difference_update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(counted)


_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def main() -> int:
    """Prints the rooms in their order, and what runs against it; 1 where anything does."""
    held: dict[str, list[Path]] = {}
    breaches = []
    for name, path in product().items():
        held.setdefault(room_of(name) or name, []).append(path)
        found = ((each, order_breach(each)) for each in imports(name, path.read_text()))
        breaches += [f"{name}:{each.line} {problem}" for each, problem in found if problem]
    print("tier  files  lines  code  room")
    total: Counter[str] = Counter()
    for number, tier in enumerate(TIERS):
        for room in (each for each in tier if each in held):
            sources = [path.read_text() for path in held[room]]
            lines = sum(len(source.splitlines()) for source in sources)
            code = sum(map(code_lines, sources))
            total.update(files=len(sources), lines=lines, code=code)
            print(f"{number:4}  {len(sources):5}  {lines:5}  {code:4}  {room}")
    print(f"all   {total['files']:5}  {total['lines']:5}  {total['code']}")
    way = longest_way(room_graph())
    print(f"longest way down: {len(way)} rooms: " + " > ".join(way))
    rings = cycles(module_graph())
    print(f"modules that import each other: {rings or 'none'}")
    print(f"imports against the order: {len(breaches) or 'none'}")
    print("\n".join(breaches))
    return 1 if breaches or rings else 0


if __name__ == "__main__":
    sys.exit(main())
