"""What the product answers, measures and prints, recorded line by line to see what changes it.

``RECORD=1 pytest tests/golden/test_recorded.py`` records it anew, and its difference in the
repository is what a change does. Each part is a function that yields lines: one for each question,
property or value. Times, ids and dates are left out, figures have four digits, and long texts and
lists are cut, with a hash of the rest.
"""

import contextlib
import hashlib
import html
import io
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from rag import SAMPLE, Answer, Recipe
from rag.__main__ import main
from rag.settings.version import code_version
from tests.api import client
from tests.golden.answer_sets import KEPT, SETS, SetQuestion, read_set
from tests.sample import sample
from tests.workspaces import add, workspace_at

FOLDER = Path(__file__).parent
DATASETS = FOLDER.parents[2].parent / "shared" / "datasets"
QUESTIONS = {
    SAMPLE: ("What does error CV-118 mean?", "Rotor not recognised"),
    "anthropic_docs": ("How do I stream a response?", "stream"),
    "xquad_en": ("How many points did the Panthers defense surrender?", "308 points"),
}
"""A question for the verbs, and words of a passage that answers it."""
COLLECTIONS = ("anthropic_docs", "xquad_en", "cranfield", "xquad_de")
"""Those outside the project; the verbs run on those that have a question above."""
WIDEST, LONGEST = 90, 3
"""Letters of a text and items of a list that are recorded; a hash stands for the rest."""

_EVERY_COLLECTION = """
evaluate BASE BASE
"""
_WITH_QUESTION = """
search BASE QUESTION
search BASE QUESTION --set search.mode=lexical --set search.top_k=2
ask BASE QUESTION
explain BASE QUESTION --find QUOTE
explain BASE QUESTION --against search.mode=dense
evaluate BASE BASE --set search.mode=lexical
report RUN --baseline FORMER -o out.html
parity BASE RUN FORMER
decide BASE RUN --against FORMER
gate BASE BASE --min ndcg@10=0.1 --baseline RUN
sweep BASE BASE --grid grid.json --verify 1
calibrate BASE BASE
threshold BASE BASE
diagnose BASE BASE
examine BASE
"""
_SAMPLE_ALONE = """
runs BASE
export-recipe BASE --target qdrant
export-recipe BASE --target pgvector
export-recipe BASE --target elasticsearch
export-recipe BASE --target opensearch
export-recipe BASE --target langchain
export-recipe BASE --target llama_index
export-run BASE RUN -o out.txt
export-questions BASE BASE -o questions.jsonl
import-questions BASE questions.jsonl
question-versions BASE BASE
bundle RUN --with-documents -o out.zip
import-bundle out.zip --kb repeated
tag BASE DOCUMENT current
edit-passages BASE DOCUMENT
builds BASE
arena BASE summary
memory BASE list
operations BASE
sessions BASE list
systems BASE list
tools
members BASE list
people list
link BASE list
token list
audit
ingest notes note.md --set index.embedder=wordllama
read-again notes
ingest notes note.md
duplicate notes copy
rename copy renamed
check
schema
"""
_VOLATILE = re.compile(
    r"(^|_)(seconds|ms|time|times|created|changed|updated|version|versions|id|ids|at|date|day|run"
    r"|path|file|bytes|size|per_second)$"
)
_DRAWN = {"next"}
"""Hits that ``decide`` draws by the ids of runs."""
_MOMENT = re.compile(
    r"(TODAY|\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?( UTC, [\d.,]+ s)?"
)
_MARKUP = re.compile(r"<(script|style|svg)\b.*?</\1>|<[^>]+>", re.DOTALL)


def sample_answers(home: Path, *, third: bool) -> Iterator[str]:
    """Each third question of the sample, or the others: state, citations and text of its answer."""
    with sample(home) as base:
        recipe = base.recipe()
        _, questions = base.runs.questions(SAMPLE)
        for number, question in enumerate(sorted(questions, key=lambda one: one.id)):
            if (number % 3 == 0) == third:
                yield _answer_line(question.id, base.ask(question.text, recipe).answer)


def set_answers(_home: Path, names: tuple[str, ...]) -> Iterator[str]:
    """Each question of answer sets, likewise."""
    for name in names:
        for number, (_, answer) in enumerate(asked(name), start=1):
            yield _answer_line(f"{name} {number:02}", answer)


@cache
def asked(name: str) -> list[tuple[SetQuestion, Answer]]:
    """The questions of an answer set with their answers."""
    document_set = read_set(name)
    with tempfile.TemporaryDirectory() as home:
        workspace = workspace_at(Path(home))
        base = workspace.create(name, Recipe())
        assert set(add(workspace, base, document_set.files)) == {"added"}
        rows = [(one, base.ask(one.text, Recipe()).answer) for one in document_set.questions]
        workspace.close()
    return rows


def _answer_line(name: str, answer: Answer) -> str:
    state = answer.assessment.state if answer.assessment else answer.status
    cited = [
        f"{citation.hit.document} p{citation.cited_page or 0} {_hash(citation.quote)}"
        for citation in answer.citations
    ]
    return f"{name} {state} | {'; '.join(cited)} | {_shortened(answer.text)}"


def openapi(home: Path) -> Iterator[str]:
    """Parameters, body and responses of each operation, and each property of each schema."""
    workspace = workspace_at(home)
    document = client(workspace).get("/api/v1/openapi.json").json()
    workspace.close()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield f"== {method.upper()} {path} {operation['operationId']} {operation['security']}"
            for parameter in operation.get("parameters", ()):
                yield f"{parameter['in']} {parameter['name']} {_type(parameter['schema'])}"
            for kind, media in operation.get("requestBody", {}).get("content", {}).items():
                yield f"takes {kind} {_type(media.get('schema', {}))}"
            yield " ".join(operation["responses"])
            for code, response in operation["responses"].items():
                for kind, media in response.get("content", {}).items():
                    yield f"{code} {kind} {_type(media.get('schema', {}))}"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f"== {name} {_type({**schema, 'properties': {}})}"
        for key, value in schema.get("properties", {}).items():
            yield f"{key} {_type(value)}"


def _type(schema: Any) -> str:
    text = json.dumps(_described_less(schema), ensure_ascii=False, separators=(",", ":"))
    return re.sub(r'\{"\$ref":"#/components/schemas/(\w+)"\}', r"\1", text).replace('"', "")


def _described_less(node: Any, *, names: bool = False) -> Any:
    """A schema without words for people; ``names`` says that keys are names of properties."""
    if isinstance(node, Mapping):
        return {
            key: _described_less(value, names=key == "properties")
            for key, value in node.items()
            if names or key not in ("description", "summary", "title", "example", "examples")
        }
    return [_described_less(item) for item in node] if isinstance(node, list) else node


def collection(name: str) -> Callable[[Path], Iterator[str]]:
    """The JSON of verbs, one after another on one home with a collection."""

    def lines(home: Path) -> Iterator[str]:
        if name == SAMPLE:
            with sample(home):
                pass
        else:
            _printed(home, "import-beir", name, str(DATASETS / name))
        (home / "grid.json").write_text(json.dumps({"search.mode": ["dense", "hybrid"]}))
        (home / "note.md").write_text("# Note\n\nThe red valve opens at 4 bar.\n")
        files = ("grid.json", "note.md", "out.html", "out.zip", "out.txt", "questions.jsonl")
        words = {"BASE": name, **{file: str(home / file) for file in files}}
        words["QUESTION"], words["QUOTE"] = QUESTIONS.get(name, ("", ""))
        for line in _commands(name):
            printed = _printed(home, *(words.get(word, word) for word in line.split()))
            match line.split()[0]:
                case "search":
                    words["DOCUMENT"] = printed["hits"][0]["document"]
                case "evaluate":
                    words["FORMER"], words["RUN"] = words.get("RUN", ""), printed["run"]
                case "report":
                    printed["words"] = _words(home / "out.html")
            yield f"== {line}"
            yield from _values(_anonymous(printed, home, words))

    return lines


def _commands(name: str) -> list[str]:
    lines = _EVERY_COLLECTION
    lines += _WITH_QUESTION if name in QUESTIONS else ""
    lines += _SAMPLE_ALONE if name == SAMPLE else ""
    return [line for line in lines.splitlines() if line]


def _printed(home: Path, *words: str) -> dict[str, Any]:
    """Run a verb; return the JSON that it prints, and its exit code."""
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        code = main([*words, "--home", str(home), "--json"])
    data = json.loads(printed.getvalue()) if code != 2 else {"error": errors.getvalue()}
    return {"exit": code, **data}


def _words(page: Path) -> list[str]:
    text = html.unescape(_MARKUP.sub("\n", page.read_text("utf-8")))
    return [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]


def _anonymous(printed: Any, home: Path, words: Mapping[str, str]) -> Any:
    """What a verb printed, without its folder, the ids of runs and the date."""
    now = datetime.now()
    text = json.dumps(printed).replace(str(home), "HOME").replace(code_version(), "VERSION")
    for today in (f"{now:%Y-%m-%d}", f"{now.day} {now:%B %Y}"):
        text = text.replace(today, "TODAY")
    for name in ("RUN", "FORMER"):
        text = text.replace(words.get(name) or name, name)
    return json.loads(text)


def _values(node: Any, path: str = "") -> Iterator[str]:
    """A line for each value, such as ``hits[0].rank: 1``, and for each question."""
    if path == "per_question":
        for row in sorted(node, key=lambda row: row["id"]):
            yield f"{row['id']} {_value(row['metrics'].get('ndcg@10'))}"
    elif path == "words":
        yield from map(_shortened, node)
    elif isinstance(node, Mapping) and node:
        for key, value in node.items():
            if key in _DRAWN:
                continue
            if not _VOLATILE.search(key) or isinstance(value, Mapping | list):
                yield from _values(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list) and any(isinstance(item, Mapping | list) for item in node):
        for number, item in enumerate(node[:LONGEST]):
            yield from _values(item, f"{path}[{number}]")
        if rest := [line for item in node[LONGEST:] for line in _values(item, "row")]:
            yield f"{path}[...]: {len(node) - LONGEST} more {_hash(' '.join(rest))}"
    elif isinstance(node, list):
        yield f"{path}: [{_shortened(', '.join(map(_value, node)))}]"
    else:
        yield f"{path}: {_value(node)}"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return _shortened(value) if isinstance(value, str) else json.dumps(value)


def _shortened(text: str) -> str:
    """A text on one line without moments; of a long one the beginning and a hash."""
    line = " ".join(_MOMENT.sub("MOMENT", text).split())
    return line if len(line) <= WIDEST else f"{line[:WIDEST]}... {_hash(line)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


PARTS: dict[str, Callable[[Path], Iterator[str]]] = {
    "openapi": openapi,
    "sample_answers": partial(sample_answers, third=True),
    "more_sample_answers": partial(sample_answers, third=False),
    "set_answers": partial(set_answers, names=SETS),
    "kept_answers": partial(set_answers, names=KEPT),
    **{name: collection(name) for name in (SAMPLE, *COLLECTIONS)},
}
"""Functions of an empty home by the name of the file that has their lines."""
