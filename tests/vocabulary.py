"""Counts of words that readers have to guess: ``python -m tests.vocabulary [ROOT]``.

A private word is one that stands for something with a usual name, such as ``held`` for rows. For
each, the table has the number of identifiers in ``rag`` and ``pages`` that bind it. The next row
counts docstrings whose first sentence is neither a noun phrase nor an imperative. The last rows
count phrases in prose: strings and docstrings of both folders, and the pages of the documentation.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("rag", "pages")
NAMES = {
    "each": "the thing: passage, row, question",
    "found": "the thing: rankings, rows, match",
    "held": "the thing: rows, cached",
    "said": "message, sentence",
    "told": "message, value, reported",
    "asked": "question, request",
    "known": "cached, rows",
    "every": "list_...",
    "Moment": "BuildSnapshot",
    "Bout": "ArenaComparison",
    "Apart": "SubprocessLauncher",
    "Paces": "Throughput",
    "Forecast": "RemainingTime",
    "Effort": "WeightedProgress",
    "Look": "Trial",
    "Ledger": "TrialLog",
    "Care": "RequestLimiter",
    "Patience": "RetryPolicy",
    "Asker": "Principal",
    "Visitor": "SessionOwner",
    "Guarded": "Authorization",
    "OwnJobs": "ScopedJobs",
    "Preferring": "PairwiseComparisons",
    "ServedVectors": "RemoteVectorIndex",
    "ServedWords": "LexicalIndex",
    "Turns": "RenderQueue",
    "LEAST": "operation(role)",
    "TOLD": "operation(audit, audited_arguments)",
    "tell": "on_progress",
    "let_through": "filter_digest, authorize",
    "once": "cached_per_run",
    "remembered": "cache_data",
}
"""The usual name by private word."""
OPENINGS = frozenset(
    ("What", "Who", "Whoever", "Whose", "That", "Where", "How", "Which", "Why", "When", "Whatever")
)


PHRASES = {
    "whoever": "people who, anyone who",
    "nobody": "no one; or the passive voice",
    "(?:is|are|was|were) told": "receives, shows",
    "lets? go of": "releases",
    "draws? on": "uses",
    "as a recipe has it": "as in the recipe",
    "speaks? of": "covers, on topic",
    "held against": "compared with",
    "lets? through|let through": "passes the filter",
    "ways to cut|cuttings": "chunking",
    "words alone": "lexical search only",
    "bears? out|borne out": "supported",
    "gone": "deleted, no longer exists",
    "anew": "again",
}
"""The usual wording by pattern."""


def prose(root: Path) -> Iterator[tuple[str, str]]:
    """Yield strings and docstrings by folder, and the documentation as ``docs``."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield folder, node.value
    for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        yield "docs", path.read_text("utf-8")


def count_phrases(root: Path) -> Counter[tuple[str, str]]:
    """Count each pattern of ``PHRASES`` by folder."""
    counts = Counter[tuple[str, str]]()
    for folder, text in prose(root):
        for pattern in PHRASES:
            counts[pattern, folder] += len(re.findall(rf"\b(?:{pattern})\b", text, re.IGNORECASE))
    return counts


def bindings(tree: ast.AST) -> Iterator[str]:
    """The names that a module binds: functions, classes, parameters, variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def openings(tree: ast.AST) -> Iterator[str]:
    """The first word of each docstring of a module."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield text.split()[0].strip(",.:;")


def count(root: Path) -> tuple[Counter[str], Counter[str]]:
    """Bindings by private word, and docstrings by opening, in ``FOLDERS`` of a checkout."""
    names, opened = Counter[str](), Counter[str]()
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            names.update(name for name in bindings(tree) if name in NAMES)
            opened.update(openings(tree))
    return names, opened


def main() -> None:
    """Print the tables."""
    root = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parents[1]
    names, opened = count(root)
    for word, usual in NAMES.items():
        sys.stdout.write(f"{names[word]:5}  {word:14} {usual}\n")
    poor = sum(number for word, number in opened.items() if word in OPENINGS)
    sys.stdout.write(f"{poor:5}  of {opened.total():,} docstrings open with What, Who, How ...\n")
    folders = (*FOLDERS, "docs")
    counts = count_phrases(root)
    sys.stdout.write("".join(f"{folder:>7}" for folder in folders) + "  in prose\n")
    for pattern, usual in PHRASES.items():
        row = "".join(f"{counts[pattern, folder]:7}" for folder in folders)
        sys.stdout.write(f"{row}  {pattern:30} {usual}\n")


if __name__ == "__main__":
    main()
