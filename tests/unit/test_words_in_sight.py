"""One word per thing: what pages, command line and reports show has none of the other words."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("pages", "rag/cli", "rag/evaluation/report")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

BANNED = {
    r"(?i)\bsimilarit": "cosine, or relevance for what the threshold is compared with",
    r"\d %(?!\{)": "the percent sign follows the number at once",
    r"(?i)\b(words|meaning) only\b": "lexical, dense",
    r"%22": "names are shown decoded",
    r"\bWhoever\b": "people who, or you",
    r"\bOther topics\b": "off-topic questions",
    r"(?i)\b(ways to cut|how it was cut|the cut of)\b": "chunking",
    r"\b(Answers too|Without users|As good as equal|Remembered)\b": "the label in plain words",
    r"(?i)\b(is told|are told|in earnest|lets go of)": "plain words",
    r"\b(stand|stands) (in|by|beside|there|among|where)\b": "is, contains, independent",
    r"(?i)\bnobody\b": "no one, or what is missing: no ratings yet",
    r"(?i)\b(bear|bears|borne) out\b": "supports",
    r"(?i)\b(speak of|speaks of|lets through|anew)\b": "covers, passes, again",
    r"(?i)\bof what (is|they|the documents)\b": "of the relevant passages, of the questions",
    r"(?i)\b(document|tour|session) (that is|of this link is) gone\b": "deleted",
    r"\bWhat was tried\b": "recipes tried",
    r"(?i)\bdoubted(?=[ ,.])|\bfalse doubts\b|\bwith(out)? doubt|\bsure answer\b": "doubtful",
    r"(?i)(?<!: )\b(probably|perhaps) not answered\b|\bin doubt\b": "doubtful",
    r"Experiment \(|Bundle \(zip": "Bundle (ZIP)",
    r"\b(Answers|sentence) holds?\b|\bfirst \d+ hold\b": "contains",
}
PLURALS = re.compile(
    r" (questions|passages|documents|labels|runs|recipes|builds|files|figures)\b(?! a second)"
)
_BEFORE_A_TOTAL = re.compile(r"\bof $|\ball $|\bthe $|\bfirst $|\binto $|\bup to $")


@cache
def shown(source: str) -> tuple[tuple[int, str], ...]:
    """Line and text of every string that is no docstring, those of f-strings piece by piece."""
    return tuple(_shown(ast.parse(source)))


def _shown(tree: ast.Module) -> Iterator[tuple[int, str]]:
    bodies = (getattr(node, "body", None) for node in ast.walk(tree))
    first = (body[0] for body in bodies if isinstance(body, list) and body)
    told = {id(each.value) for each in first if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.lineno, node.value


def bare_plurals(source: str) -> Iterator[tuple[int, str]]:
    """Figures with a plural behind them that is one for 1 as well."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for at, (value, after) in enumerate(zip(node.values, node.values[1:], strict=False)):
            if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            before = node.values[at - 1] if at else None
            words = before.value if isinstance(before, ast.Constant) else ""
            if PLURALS.match(str(after.value)) and not _BEFORE_A_TOTAL.search(str(words)):
                yield node.lineno, ast.unparse(node)


@cache
def _sources() -> list[tuple[str, str]]:
    files = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    return [(str(path.relative_to(ROOT)), path.read_text()) for path in files]


@pytest.mark.parametrize("pattern", BANNED)
def test_nothing_in_sight_uses_another_word(pattern):
    found = [
        f"{name}:{line} {text[:60]!r}: {BANNED[pattern]}"
        for name, source in _sources()
        for line, text in shown(source)
        if re.search(pattern, text) and "replace" not in source.splitlines()[line - 1]
    ]
    assert found == []


def test_one_question_is_not_one_questions():
    found = [(name, *each) for name, source in _sources() for each in bare_plurals(source)]
    assert found == []


def test_the_documentation_writes_percent_as_the_pages_do():
    found = {path.name: re.findall(r"\d %", path.read_text()) for path in DOCUMENTS}
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_every_button_has_a_name_that_is_read_aloud():
    """Of an icon alone a screen reader says "arrow_downward icon"."""
    unnamed = [
        f"{name}:{node.lineno}"
        for name, source in _sources()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("button")
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and not str(node.args[0].value).strip()
    ]
    assert unnamed == []


def test_a_figure_with_a_sign_has_a_real_minus():
    """By ``signed`` alone."""
    found = {
        str(path.relative_to(ROOT))
        for folder in ("pages", "rag")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FormattedValue)
        and node.format_spec
        and ast.unparse(node.format_spec)[2:].startswith("+")
    }
    assert found == {"rag/evaluation/intervals.py"}


def test_banned_words_are_found():
    assert shown('def f():\n    """95 % here."""\n    return "95 % there"') == ((3, "95 % there"),)
    assert list(bare_plurals('f"{n} questions"')) == [(1, "f'{n} questions'")]
    assert list(bare_plurals('f"{n} of {m} questions"')) == []
