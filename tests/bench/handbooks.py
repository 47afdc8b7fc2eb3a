"""Answers without a language model, on handbooks that no rule and no weight was made on.

``python -m rag bench --only handbooks`` asks 220 questions about the handbooks of five
organisations: 150 that they answer, and 70 near misses that they do not. The questions were written
from the documents, in the words of newcomers, by writers who had not seen the product. Its figures:

- ``passage found``: of the questions with an answer, a passage of the search has its words,
- ``first quote``, ``any quote``: a quote has them,
- ``beside it``: the first quote has them, or what is shown around it,
- ``answered``, ``near misses answered``: the share that is answered without doubt,
- ``answered: first quote``, ``answered: beside it``: the share of all these that is right, and
  ``answered: stated``: how likely they say on average that they are,
- ``said 50%: first quote`` and so on: the same shares by how likely they say that they are.

``python -m tests.bench.handbooks FOLDER`` fetches the documents into a folder.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rag import Answer, Recipe, Settings, Workspace, surroundings


class Handbook(NamedTuple):
    """A repository, its commit, and how the paths of its documents begin."""

    repository: str
    commit: str
    beginnings: tuple[str, ...] = ("",)


HANDBOOKS: Mapping[str, Handbook] = {
    "artsy": Handbook(
        "artsy/README",
        "61095adde845f0a48715f2be1b086cd436a99651",
        (
            *("playbooks/", "practices/", "events/", "onboarding/", "culture/", "careers/"),
            *("support/", "README", "resources/", "systems/"),
        ),
    ),
    "brew": Handbook("Homebrew/brew", "aad366ffaf6a8c94c66d35e4b990d42ac4195305", ("docs/",)),
    "cloudgov": Handbook(
        "cloud-gov/cg-site",
        "536b459f25dc541450f8b02675b32584196a05fd",
        ("_docs/", "_kbarticles/", "_pages/pages/documentation", "_assets/documents", "docs/"),
    ),
    "ropensci": Handbook("ropensci/dev_guide", "cf072089211f9cfe9c0b0e280431b6b39f16e6a4"),
    "turing": Handbook(
        "alan-turing-institute/the-turing-way",
        "318e1b3dafe626eff60d7b20ff83a2d43fad05b0",
        (
            *("book/website/project-design", "book/website/collaboration"),
            *("book/website/community-handbook", "book/website/ethical-research"),
            "book/website/communication",
        ),
    ),
}
MOST_DOCUMENTS = 90
FEWEST_BYTES = 700
_KINDS = (".md", ".Rmd", ".csv", ".txt", ".rst", ".pdf", ".docx", ".xlsx")
_TRANSLATIONS = (".es.Rmd", ".pt.Rmd", ".es.md")
_SHARE = 0.6
"""Of the words that answer, as many in a row are enough."""
_SIGNS = re.compile(r"[\W_]+")


def measure(folder: Path, *, collections: Sequence[str] = tuple(HANDBOOKS)) -> dict[str, float]:
    """Shares by ``"COLLECTION: WHAT"``."""
    path = Path(__file__).with_name("handbooks.jsonl")
    questions = list(map(json.loads, path.read_text("utf-8").splitlines()))
    rows = dict[str, list[Mapping[str, float]]]()
    with tempfile.TemporaryDirectory() as home:
        workspace = Workspace(Settings.from_env({}, home=Path(home)))
        for name in collections:
            base = workspace.create(name, Recipe())
            workspace.jobs.run(base.documents.add_paths([folder / "handbooks" / name]))
            rows[name] = [
                row_of(base.ask(one["question"], base.recipe()).answer, one["answers"])
                for one in questions
                if one["collection"] == name
            ]
        workspace.close()
    rows["all"] = [row for own in list(rows.values()) for row in own]
    return {
        f"{name}: {what}": share
        for name, own in rows.items()
        for what, share in _shares(own).items()
    }


def row_of(answer: Answer, answers: Sequence[str]) -> Mapping[str, float]:
    """Where the words that answer are; nowhere for a near miss, which has no ``answers``."""

    def has(text: str) -> bool:
        return any(says(text, words) for words in answers)

    quotes = [has(one.quote) for one in answer.citations]
    state = answer.assessment.state if answer.assessment else ""
    beside = False
    if answer.citations:
        first = answer.citations[0]
        before, after = surroundings(first.hit.chunk.text, first.quote)
        beside = quotes[0] or (state != "conflicting" and has(f"{before} {first.quote} {after}"))
    return {
        "near miss": not answers,
        "passage found": any(has(hit.chunk.text) for hit in answer.trace.hits),
        "first quote": bool(quotes) and quotes[0],
        "any quote": any(quotes),
        "beside it": beside,
        "stated": answer.assessment.likely(answer.mode) / 100 if answer.assessment else 0.0,
        "sure": state in ("answered", "conflicting"),
    }


def says(text: str, words: str) -> bool:
    """Whether a text has most of some words in a row, or is part of them; signs do not count."""
    said, wanted = (_SIGNS.sub(" ", one.casefold()).split() for one in (text, words))
    if not said or not wanted:
        return False
    flat = f" {' '.join(said)} "
    if f" {' '.join(said)} " in f" {' '.join(wanted)} " and len(said) >= 4:
        return True
    length = min(max(3, int(_SHARE * len(wanted))), len(wanted))
    runs = (wanted[at : at + length] for at in range(len(wanted) - length + 1))
    return any(f" {' '.join(run)} " in flat for run in runs)


def _shares(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    answerable = [row for row in rows if not row["near miss"]]
    sure = [row for row in rows if row["sure"]]
    shares = {
        what: [row[what] for row in answerable]
        for what in ("passage found", "first quote", "any quote", "beside it")
    } | {
        "answered": [row["sure"] for row in answerable],
        "near misses answered": [row["sure"] for row in rows if row["near miss"]],
        "answered: first quote": [row["first quote"] for row in sure],
        "answered: beside it": [row["beside it"] for row in sure],
        "answered: stated": [row["stated"] for row in sure],
    }
    for said in sorted({row["stated"] for row in sure if row["stated"]}):
        shares[f"said {said:.0%}: of these answers"] = [row["stated"] == said for row in sure]
        for what in ("first quote", "beside it"):
            shares[f"said {said:.0%}: {what}"] = [
                row[what] for row in sure if row["stated"] == said
            ]
    return {what: float(np.mean(values)) for what, values in shares.items() if values}


def main(folder: Path, host: str = "https://github.com") -> None:
    """Fetch the documents of all handbooks."""
    for name, (repository, commit, beginnings) in HANDBOOKS.items():
        with tempfile.TemporaryDirectory() as clone:
            for arguments in (
                ["init", "-q"],
                ["fetch", "-q", "--depth", "1", f"{host}/{repository}", commit],
                ["checkout", "-q", commit],
            ):
                subprocess.run(["git", *arguments], cwd=clone, check=True)
            files = (path for path in Path(clone).rglob("*") if path.is_file())
            paths = sorted(str(path.relative_to(clone)) for path in files)
            documents = [
                path
                for path in paths
                if path.startswith(beginnings)
                and path.endswith(_KINDS)
                and not path.endswith(_TRANSLATIONS)
                and (Path(clone) / path).stat().st_size >= FEWEST_BYTES
            ]
            for path in documents[:MOST_DOCUMENTS]:
                copy = folder / "handbooks" / name / path.replace(".Rmd", ".md")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes((Path(clone) / path).read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
