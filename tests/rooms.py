"""The rooms of the product and their order, written down once: ``python -m tests.rooms``.

A room is a folder; the modules and folders of the vocabulary are one room. A room may import rooms
of the tiers above its own in ``TIERS``, also for type checking only, and nothing of its own tier or
of those below; ``rag``, the public names, and the two files that start a program may also import
their own tier. Within a room, folders may import each other one way only.
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

VOCABULARY = (
    "rag.errors",
    "rag.fences",
    "rag.input_rules",
    "rag.languages",
    "rag.logistic",
    "rag.network",
    "rag.operation",
    "rag.protocols",
    "rag.recipe",
    "rag.settings",
    "rag.spreadsheets",
    "rag.telemetry",
    "rag.types",
)

TIERS: tuple[tuple[str, ...], ...] = (
    ("vocabulary",),
    ("rag.chunking", "rag.lexical", "rag.storage"),
    # adapters and logic, which know nothing of each other
    ("rag.access", "rag.answering", "rag.providers", "rag.readers", "rag.retrieval", "rag.stores"),
    ("rag.evaluation", "rag.services"),
    ("rag.library", "rag.search"),
    ("rag.conversations", "rag.experiments"),
    ("rag.workspace", "rag"),
    ("rag.api", "rag.cli", "pages"),
)
ENTRY_POINTS = {"app": "pages", "rag.__main__": "rag.cli"}
"""The files that start a program, and the room that each belongs to."""
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
    if name == "rag":
        return name
    if name in ENTRY_POINTS:
        return ENTRY_POINTS[name]
    if any(within(name, word) for word in VOCABULARY):
        return "vocabulary"
    return next((room for room in TIER if room != "rag" and within(name, room)), None)


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
    starts = found.importer == "rag" or found.importer in ENTRY_POINTS
    if mine == theirs or TIER[theirs] < TIER[mine] + starts:
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


def folder_graph() -> dict[str, set[str]]:
    """The folders of a room that each of its folders imports."""
    graph: dict[str, set[str]] = {}
    for module, theirs in module_graph().items():
        mine = _folder(module)
        beside = {
            folder
            for name in theirs
            if room_of(name) == room_of(module) and (folder := _folder(name))
        }
        if mine is not None:
            graph.setdefault(mine, set()).update(beside - {mine})
    return graph


def _folder(module: str) -> str | None:
    """The folder of a room that a module is in: ``rag.library.maps``, ``pages.components.chat``."""
    parts = module.split(".")[:3]
    return ".".join(parts) if len(parts) == 3 and ROOT.joinpath(*parts).is_dir() else None


def longest_way(graph: Mapping[str, set[str]]) -> list[str]:
    """The longest way down through rooms, from the outside to the vocabulary."""

    @cache
    def below(room: str) -> tuple[str, ...]:
        return (room, *max(map(below, graph[room]), key=len, default=()))

    return list(max(map(below, graph), key=len))


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
    rings = cycles(module_graph()) + cycles(folder_graph())
    print(f"modules that import each other: {rings or 'none'}")
    print(f"imports against the order: {len(breaches) or 'none'}")
    print("\n".join(breaches))
    return 1 if breaches or rings else 0


if __name__ == "__main__":
    sys.exit(main())
