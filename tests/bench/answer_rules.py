"""Each rule of answers without a model left out: what it finds, and what it keeps back.

``python -m rag bench --only answer_rules`` asks the questions of ``answer_states`` and of the
papers with all rules, and again with each of ``RULES`` left out. The weights of the evidence are
fitted anew each time, without the collection that they assess. A row counts questions:

- ``right with`` and ``right without``: the first quote is right in one of both ways only, on
  collections that no rule was made on; ``p`` is McNemar's exact test of both counts,
- ``kept back`` and ``let through``: an answer that is wrong, or to a question without one, is
  in the state *answered* only without the rule, or only with it, on the same collections,
- ``made: right`` and ``made: kept back``: the same, net, where rules were made: on the sample, and
  on the sets that are not kept apart.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from scipy.stats import binomtest

from rag import SAMPLE, Workspace
from rag.answering import PassageReader, extractive, quote_candidates
from rag.answering.assessing import assess, evidence
from rag.answering.statements import sentences
from rag.services.services import Services
from tests.bench import answer_lines, answer_states
from tests.bench.answer_states import NAMED_THINGS, NEAR_MISSES, Asked

PAPERS = "aragog"
MADE_ON = (SAMPLE, NEAR_MISSES, NAMED_THINGS)
_NEVER = re.compile(r"(?!)")
RULES: Mapping[str, Sequence[tuple[object, str, object]]] = {
    "kind of value": [(evidence, "asked_value", lambda _question: None)],
    "word beside a row": [(evidence, "beside_unknown", lambda *_: ())],
    "names in two rows": [(evidence, "apart", lambda *_: ()), (evidence, "parted", lambda *_: ())],
    "exact value": [(evidence, "_gap", lambda *_: "")],
    "restriction": [(evidence.EvidenceReader, "_unqualified", lambda *_: "")],
    "another day or range": [
        (quote_candidates, "restrictions", lambda _question: []),
        (evidence, "restrictions", lambda _question: []),
    ],
    "topic alone": [(evidence.EvidenceReader, "_unsaid", lambda *_: ())],
    "whole code": [(assess, "_lacks_code", lambda _evidence: False)],
    "name of a row": [(extractive, "NAMED_BONUS", 0.0)],
    "code bonus": [(extractive, "CODE_BONUS", 0.0)],
    "rare words": [(extractive, "CHECKED_BONUS", 0.0)],
    "edition in force": [(extractive, "SUPERSEDED", 0.0), (extractive, "OUTDATED", 0.0)],
    "questions left out": [(quote_candidates, "_ASKS", _NEVER)],
    "cut sentences": [(PassageReader, "is_cut", lambda *_: False)],
    "leaning sentence": [(sentences, "LEANS", _NEVER)],
    "abbreviations": [(sentences, "_ABBREVIATION", _NEVER)],
    "lost headings": [(sentences, "_is_title", lambda *_: False)],
}
"""By its name the attributes that a rule consists of, and what stands in their place without it."""
Outcome = tuple[bool, bool, bool]
"""Whether rules were made on the collection of a question, whether its first quote is right, and
whether a wrong answer is given without doubt."""


def measure(
    folder: Path,
    *,
    collections: Sequence[str] = (*answer_states.COLLECTIONS, PAPERS),
    rules: Sequence[str] = tuple(RULES),
) -> dict[str, float]:
    """Counts by ``"RULE | COLUMN"``."""
    figures = dict[str, float]()
    with tempfile.TemporaryDirectory() as home:
        workspace, services = answer_states.opened(Path(home))
        whole = _outcomes(workspace, services, folder, collections)
        for rule in rules:
            with ExitStack() as stack:
                for owner, attribute, stand_in in RULES[rule]:
                    stack.enter_context(patch.object(owner, attribute, stand_in))
                without = _outcomes(workspace, services, folder, collections)
            counts = _counts(list(zip(whole, without, strict=True)))
            figures |= {f"{rule} | {column}": count for column, count in counts.items()}
        workspace.close()
    return figures


def _outcomes(
    workspace: Workspace, services: Services, folder: Path, collections: Sequence[str]
) -> list[Outcome]:
    named = [name for name in collections if name != PAPERS]
    asked = answer_states.asked(workspace, services, folder, named)
    if PAPERS in collections:
        asked[PAPERS] = _papers(workspace, services, folder)
    outcomes = list[Outcome]()
    for name, rows in asked.items():
        others = {other: asked[other] for other in named if other != name}
        model = answer_states.model_of(others, cosines=True)
        for row in rows:
            right = row.kind == "answerable" and answer_states.first_is_right(row)
            doubtful = answer_states.is_flagged(row, model)
            outcomes.append((name in MADE_ON, right, not right and not doubtful))
    return outcomes


def _papers(workspace: Workspace, services: Services, folder: Path) -> list[Asked]:
    """Questions about papers; an answer is right if its first quote has the line that answers."""
    known = PAPERS in {info.name for info in workspace.bases()}
    base = workspace.base(PAPERS) if known else answer_lines.read(workspace, PAPERS, folder)
    reader, lines = answer_states.reader_of(services, base), answer_lines.lines_of(PAPERS)
    rows = list[Asked]()
    for question in answer_lines.questions(base, PAPERS, folder):
        if question.id in lines:
            answer = base.ask(question.text, base.recipe()).answer
            has_line = [
                answer_lines.is_there(one.quote, lines[question.id]) for one in answer.citations
            ]
            evidence = answer_states.evidence_of(reader, answer)
            rows.append(Asked("answerable", evidence, tuple(has_line)))
    return rows


def _counts(pairs: Sequence[tuple[Outcome, Outcome]]) -> dict[str, float]:
    def number(made: bool, column: int, *, without: bool) -> int:
        """Questions on which one way only has an outcome."""
        own, other = (1, 0) if without else (0, 1)
        return sum(
            pair[own][column] and not pair[other][column] for pair in pairs if pair[0][0] is made
        )

    found, lost = number(False, 1, without=False), number(False, 1, without=True)
    kept_back, let_through = number(False, 2, without=True), number(False, 2, without=False)
    return {
        "right with": found,
        "right without": lost,
        "p": float(binomtest(found, found + lost).pvalue) if found + lost else 1.0,
        "kept back": kept_back,
        "let through": let_through,
        "made: right": number(True, 1, without=False) - number(True, 1, without=True),
        "made: kept back": number(True, 2, without=True) - number(True, 2, without=False),
    }
