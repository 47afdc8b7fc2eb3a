"""Every regular expression of the package, and how its work grows with a hostile input.

``python -m tests.expressions`` prints them, the worst ones first. Work is counted in steps of a
backtracking search, not in seconds: the same on every machine.
"""

import ast
import contextlib
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from starlette.routing import Mount

from tests.backtracking import Budget, steps_of
from tests.hostile_words import hostile_inputs

ROOT = Path(__file__).parents[1]
FOLDERS = ("rag", "pages/components")
LINEAR = 2.6
"""Growth from one doubling to the next: 2 for linear work, 4 for quadratic, 8 for cubic."""
_ONE_START = {"match", "fullmatch"}
_FUNCTIONS = {*_ONE_START, *("compile", "search", "findall", "finditer", "sub", "subn", "split")}
_LENGTH = 24
_CHEAP = 12  # steps for each letter; a quadratic expression takes more at 96 letters
_MOST_STEPS = 100_000


Methods = Mapping[str, Set[str]]
"""Methods by the name of what they are called on."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, where it stands, and the methods that it is used by."""

    place: str
    pattern: str
    flags: int
    methods: frozenset[str]


@dataclass(frozen=True, slots=True)
class Growth:
    """The worst input of an expression: ``start + repeated * n + end``, and its steps.

    ``steps`` are those for inputs of 1, 2 and 4 times a length. ``ratio`` is their growth from one
    doubling to the next; infinite where they were too many to count.
    """

    ratio: float
    steps: tuple[int, ...]
    start: str
    repeated: str
    end: str


ARGUMENTS: dict[str, dict[str, object]] = {
    "rag.answering.languages:pattern": {"keys": ("months",), "ends": False},
    # Its real arguments are in values of the module, which are looked at as those.
    "rag.answering.asked_values:_address": {"asked": "which address", "form": r"\w+"},
    "rag.answering.words:names_unit": {"unit": "metre"},
    "rag.answering.checking.figures:_measured": {"unit": "days"},
    "rag.answering.checking.figures:_code_pattern": {"code": "AB-12.3"},
    "rag.answering.checking.figures:says_pair": {"numbers": (3.0, 4.0)},
    "rag.chunking.contexts:_rest": {"previous": "Two words"},
    "rag.chunking.contexts:_is_of_series": {
        "line": "Permit 12",
        "number": re.search(r"\d+", "Permit 12"),
    },
    "rag.readers.markup.cards:_parameter": {"name": "TYPE"},
    "rag.readers.characters:_fitness": {"sample": b"Gr\xfc\xdfe", "page": "cp1252"},
    "rag.api.mounting:routes": {"rest": Mount("/api", routes=[])},
    "rag.retrieval.filters:_any_of": {"globs": ["a*b", "c?d"]},
    "rag.readers.pdf.reader:title_offset": {"title": "Two words"},
    "pages.components.labels.grading:chosen": {"words": "Two words"},
    "pages.components.shell.text:lacking": {"term": "10 000"},
    "rag.evaluation.answers:has_code": {"code": "/run/secrets"},
}
"""Examples of what those functions are called with that make expressions of words."""


@cache
def expressions() -> list[Expression]:
    """All expressions of the package, by place."""
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in _modules().items()}
    methods = {name: _methods_by_name(tree) for name, tree in trees.items()}
    found = list[Expression]()
    for name, tree in trees.items():
        if "re" in _imported(tree):
            module = importlib.import_module(name)
            found += _kept(name, module, tree, methods)
            found += _inline(name, module, tree)
    return found


def growth(expression: Expression) -> Growth:
    """The growth on the worst of the hostile inputs."""
    worst = Growth(0.0, (), "", "", "")
    for start, repeated, end in hostile_inputs(expression.pattern, expression.flags):
        candidate = _grown(expression, start, repeated, end)
        worst = max(worst, candidate, key=lambda growth: growth.ratio)
        if worst.ratio == float("inf"):
            break
    return worst


def _grown(expression: Expression, start: str, repeated: str, end: str) -> Growth:
    def steps(times: int) -> int:
        text = start + repeated * (times * max(2, _LENGTH // len(repeated))) + end
        return _steps(expression, text)

    try:
        longest = steps(4)
        if longest <= _CHEAP * 4 * _LENGTH:
            return Growth(2.0, (longest,), start, repeated, end)
        once, twice = steps(1), steps(2)
    except Budget:
        return Growth(float("inf"), (), start, repeated, end)
    ratio = (longest - twice) / max(twice - once, 1)
    return Growth(ratio, (once, twice, longest), start, repeated, end)


def _steps(expression: Expression, text: str) -> int:
    return max(
        steps_of(expression.pattern, expression.flags, method, text, _MOST_STEPS)
        for method in expression.methods
    )


def _modules() -> dict[str, Path]:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    names = (path.relative_to(ROOT).with_suffix("").parts for path in paths)
    named = (".".join(parts).removesuffix(".__init__") for parts in names)
    return dict(zip(named, paths, strict=True))


def _imported(tree: ast.Module) -> set[str]:
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }


def _kept(
    name: str, module: ModuleType, tree: ast.Module, methods: Mapping[str, Methods]
) -> Iterator[Expression]:
    """Those that a module keeps under a name, also within a table."""
    handed_on = _handed_on(tree)
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Name):
                place = f"{name}:{statement.lineno} {target.id}"
                own = [methods[name]] if target.id.startswith("_") else methods.values()
                value = getattr(module, target.id, None)
                if isinstance(value, re.Pattern):
                    called = set[str]().union(*(used.get(target.id, ()) for used in own))
                    yield _expression(place, value, called or {"finditer"})
                else:
                    for pattern in _patterns_in(value):
                        yield _expression(place, pattern, handed_on)


def _patterns_in(value: object) -> Iterator[re.Pattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _patterns_in(inner)
    elif is_dataclass(value) and not isinstance(value, type):
        for part in fields(value):
            yield from _patterns_in(getattr(value, part.name))
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _patterns_in(inner)


def _methods_by_name(tree: ast.Module) -> Methods:
    """The methods that a module calls on what has a name; "finditer" if it passes that on."""
    called, bases = defaultdict[str, set[str]](set), set[int]()
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            base = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            called[base].add(node.attr if node.attr in _FUNCTIONS else "finditer")
            bases.add(id(node.value))
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in bases:
            called[node.id].add("finditer")
    return called


def _handed_on(tree: ast.Module) -> frozenset[str]:
    """The methods that a module may call on the patterns of a table.

    These are all methods of patterns that it calls on local names, or "finditer" without any.
    """
    called = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id.islower()
        and node.value.id != "re"
        and node.attr in _FUNCTIONS
    }
    return frozenset(called or {"finditer"})


def _inline(name: str, module: ModuleType, tree: ast.Module) -> Iterator[Expression]:
    """Those that stand within a function."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in ast.walk(function):
            if _is_call_of_re(call):
                place = f"{name}:{call.lineno} {function.name}"
                method = {call.func.attr} if call.func.attr != "compile" else {"finditer"}
                yield _expression(place, _written(name, module, function, call), method)


def _is_call_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in _FUNCTIONS
    )


def _written(
    name: str, module: ModuleType, function: ast.FunctionDef, call: ast.Call
) -> re.Pattern:
    given = call.args[0]
    flags = [
        argument for argument in call.args[1:] if re.match(r"re\.[A-Z]", ast.unparse(argument))
    ]
    flags += [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    value = sum(eval(ast.unparse(flag), vars(module)) for flag in flags)  # our own source
    known = vars(module) | ARGUMENTS.get(f"{name}:{function.name}", {})
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign) and statement.lineno < call.lineno:
            with contextlib.suppress(Exception):  # it makes nothing for an expression
                exec(ast.unparse(statement), known)
    return re.compile(eval(ast.unparse(given), known), value)


def _expression(place: str, pattern: re.Pattern, methods: frozenset[str] | set[str]) -> Expression:
    written = pattern.pattern
    text = written.decode("latin-1") if isinstance(written, bytes) else written
    flags = pattern.flags & ~re.UNICODE
    return Expression(place, text, flags, frozenset(methods))


def main() -> None:
    """Prints the growth of every expression, the worst first."""
    rows = sorted(((growth(row), row) for row in expressions()), key=lambda row: -row[0].ratio)
    for grown, row in rows:
        steps = " ".join(f"{number:,}" for number in grown.steps) or "too many"
        worst = f"{grown.start!r} + {grown.repeated!r} * n + {grown.end!r}"
        print(f"{grown.ratio:5.2f}  {row.place}  [{', '.join(sorted(row.methods))}]")
        print(f"       {row.pattern[:110]!r}\n       {steps} steps: {worst[:110]}")
    over = sum(grown.ratio > LINEAR for grown, _ in rows)
    print(f"{len(rows)} expressions, {over} of them worse than linear")


if __name__ == "__main__":
    main()
