"""Checks of the documentation against the code; each returns the problems that it finds."""

import argparse
import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from rag import Recipe
from rag.__main__ import mcp
from rag.cli.options import EXITS
from rag.cli.parser import parser
from tests.rooms import ROOT, product

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FILE = re.compile(r"(?<![\w./~-])[\w./-]+\.(?:txt|py|toml|jsonl|json|csv)(?!\w)")
VARIABLE = re.compile(r"`([A-Z]+(?:_[A-Z]+)+)`")
OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)")
SHARED_OPTIONS = {"-h", "--help", "--home", "--json", "--set", "--recipe", "--new"}
PROGRAMS = ("python", "pip", "streamlit", "pytest", "ruff", "mypy")


def unknown_verbs(text: str, verbs: Iterable[str]) -> list[str]:
    """Verbs that a page names and the command line does not have."""
    return sorted(set(re.findall(r"python -m rag ([a-z][\w-]*)", text)).difference(verbs))


def option_problems(page: str, options: Mapping[str, Mapping[str, bool]]) -> list[str]:
    """Options that the section of a verb, or what stands before its group, lacks or invents.

    ``options`` says by verb which there are, and of each whether it has to be named.
    """
    sections = _verb_sections(page)
    problems = []
    for verb, known in options.items():
        if verb not in sections:
            problems.append(f"{verb} has no section")
            continue
        named = set(OPTION.findall(" ".join(re.findall(r"`([^`]*)`", sections[verb]))))
        wanted = {name for name, needed in known.items() if needed}
        problems += [f"{verb} lacks {name}" for name in sorted(wanted - named)]
        problems += [f"{verb} has no {name}" for name in sorted(named - {*known, *SHARED_OPTIONS})]
    return problems


def _verb_sections(page: str) -> dict[str, str]:
    """The prose on each verb: its section, and what its group begins with."""
    sections = {}
    for group in re.split(r"^## ", FENCED.sub("", page), flags=re.MULTILINE):
        start, *parts = re.split(r"^### ", group, flags=re.MULTILINE)
        for part in parts:
            verb, _, text = part.partition("\n")
            sections[verb.strip()] = f"{start}\n{text}"
    return sections


def broken_links(pages: Mapping[str, str]) -> list[str]:
    """Links of pages (by path below the project) to files or headings that are not there."""
    broken = []
    for name, text in pages.items():
        for link in LINK.findall(FENCED.sub("", text)):
            if link.startswith(("http://", "https://")):
                continue
            file, _, anchor = link.partition("#")
            target = (ROOT / name).parent / file if file else ROOT / name
            there = target.exists() and (not anchor or anchor in anchors(_content(target, pages)))
            if not there:
                broken.append(f"{name}: {link}")
    return broken


def _content(path: Path, pages: Mapping[str, str]) -> str:
    name = os.path.relpath(path.resolve(), ROOT)
    return pages[name] if name in pages else path.read_text()


def anchors(text: str) -> set[str]:
    """The anchors that a page of Markdown has, as GitHub names them."""
    count: Counter[str] = Counter()
    names = set()
    for title in HEADING.findall(FENCED.sub("", text)):
        plain = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        names.add(f"{plain}-{count[plain]}" if count[plain] else plain)
        count[plain] += 1
    return names


def commands(text: str) -> list[str]:
    """The lines of all blocks of shell commands."""
    return [
        line
        for kind, block in FENCED.findall(text)
        if kind == "bash"
        for line in block.splitlines()
        if line and not line.startswith("#")
    ]


def command_problem(line: str) -> str | None:
    """The reason why a documented command can't be run, or None."""
    line = re.sub(r"^\w+=\$\((.*)\)$", r"\1", line)  # RUN=$(command)
    for part in re.split(r" \| | && ", line):
        words = shlex.split(part)
        if problem := _program_problem(words):
            return f"{part}: {problem}"
    return None


def _program_problem(words: list[str]) -> str | None:
    match words:
        case ["python", "-m", "rag", *rest]:
            return _usage_problem(rest)
        case ["python", "-m", module, *_]:
            return None if _is_module(module) else f"no module {module}"
        case ["python", "-c", *_]:
            return None
        case [program, *rest] if program in PROGRAMS:
            missing = [name for name in FILE.findall(" ".join(rest)) if not (ROOT / name).is_file()]
            missing += [name for name in rest if "/" in name and not (ROOT / name).exists()]
            folders = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            if missing:
                return f"no {', '.join(missing)}"
            return None if shutil.which(program, path=folders) else "no such program"
        case [script, *_]:
            return None if (ROOT / script).is_file() else "no such program"
    return "no command"


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _usage_problem(arguments: list[str]) -> str | None:
    try:
        given = parser(mcp).parse_args(arguments)
    except SystemExit:
        return "bad usage"
    fields = [text.partition("=")[0] for text in getattr(given, "set", [])]
    unknown = [field for field in fields if field not in Recipe().fields()]
    return f"no recipe fields {unknown}" if unknown else None


def variable_problems(table: str, read: set[str], text: str) -> list[str]:
    """Variables that the table of settings lacks or invents, or that any page invents."""
    named = set(VARIABLE.findall(table))
    elsewhere = set(re.findall(r"\bTOUCHSTONE_(?!TOOL_)[A-Z_]+", text))
    return sorted(named ^ read) + sorted(elsewhere - read)


def purpose_problems(page: str, required: Iterable[str]) -> list[str]:
    """Requirements without a purpose, and purposes without a requirement."""
    rows = dict(re.findall(r"^\| `([^`]+)` \| *(.*?) *\|$", page, re.MULTILINE))
    wanted = set(required)
    return sorted(set(rows) ^ wanted) + sorted(
        name for name, purpose in rows.items() if not purpose
    )


def unlinked(pages: Mapping[str, str], start: str = "README.md") -> list[str]:
    """Pages that no way of links leads to from the first one."""
    seen, todo = set[str](), [start]
    while todo:
        name = todo.pop()
        if name in pages and name not in seen:
            seen.add(name)
            files = (link.partition("#")[0] for link in LINK.findall(pages[name]))
            folder = (ROOT / name).parent
            todo += [os.path.relpath((folder / file).resolve(), ROOT) for file in files if file]
    return sorted(set(pages) - seen)


def field_problems(page: str) -> list[str]:
    """Fields of the recipe whose name or default the table has otherwise."""
    rows = re.findall(r"^\| `((?:index|search|answer)\.\w+)` \| `([^`]*)` \|", page, re.MULTILINE)
    real = [(name, json.dumps(value)) for name, value in Recipe().fields().items()]
    return [name for name, _ in sorted(set(rows) ^ set(real))]


def room_rows(page: str) -> list[tuple[str, str]]:
    """Tier and room of each row of the table of rooms."""
    return re.findall(r"^\| (\d+) \| `([\w.]+)` \|", page, re.MULTILINE)


def missing_names(text: str, source: str) -> list[str]:
    """Constants and classes that a text names and no source has."""
    names = set(re.findall(r"`([A-Z][A-Za-z_]{2,})`", text))
    return sorted(names.difference(re.findall(r"\b[A-Z]\w+", source)))


def missing_sources(text: str) -> list[str]:
    """Files and modules of the project that a text names and that are not there."""
    files = re.findall(r"`((?:rag|pages|tests|data|docs)/[\w./-]+\.\w+)`", text)
    modules = re.findall(r"`(rag(?:\.\w+)+)`", text)
    known = {*product(), "rag.__main__"}
    return sorted(
        [name for name in files if not (ROOT / name).exists() and "NAME" not in name]
        + [name for name in modules if name not in known]
    )


def verbs_by_name() -> dict[str, argparse.ArgumentParser]:
    """The parsers of the command line, by verb."""
    root = parser(mcp).parse_args(["completion", "bash"]).complete()
    return next(
        dict(action.choices or {})
        for action in root._actions
        if isinstance(action, argparse._SubParsersAction)
    )


def exit_codes() -> str:
    """The table of exit codes, of the declarations of the verbs.

    A meaning that several verbs share is one row.
    """
    verbs: dict[tuple[int, str], list[str]] = {(code, text): [] for code, text in EXITS.items()}
    for verb, added in verbs_by_name().items():
        for code, text in added.get_default("exits").items():
            if code not in EXITS:
                verbs.setdefault((code, text), []).append(f"`{verb}`")
    rows = [
        f"| {code} | {', '.join(names) or 'all'} | {text} |"
        for (code, text), names in sorted(verbs.items(), key=lambda row: row[0][0])
    ]
    return "\n".join(["| exit code | verbs | meaning |", "|---|---|---|", *rows])
