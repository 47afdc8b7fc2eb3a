"""The sentences in which a language model answers, by what it reads: quotes or passages.

``python -m rag bench --only sentences --model URL`` asks a model behind an OpenAI-compatible
server; without ``--model`` it is SmolLM2 135M. The questions are those of the answer sets that no
rule was made on, as far as the quotes of the answer without a model have the answer and its state
says so: a model is asked nothing else. Right is a text with the least value that makes it right,
which stands beside each question. Figures by evidence:

- ``right``: the model's text stands as the answer and has the value,
- ``wrong``: a text without it stands as the answer, in the state *answered* or *conflicting*,
- ``fallen back``: quotes stand in its place (quotes); it refuses or is doubtful (passages),
- ``unanswerable doubted``: the questions that the documents do not answer, and that are answered
  without a model, as far as the model says that the quote does not answer them,
- ``first word``, ``seconds``: seconds to the first word and to the end, without the search.

``quotes : passages`` compares the seconds on the questions that both were asked, in turn. Each
answer is printed to standard error as it comes.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rag import Answer, KnowledgeBase, Recipe, Settings, Workspace
from tests import model_server
from tests.golden.answer_sets import KEPT, SetQuestion, has_value, read_set
from tests.workspaces import add

EVIDENCES = ("quotes", "passages")
ASKED, COMPARED, UNANSWERABLE = 24, 6, 6
"""The most questions that are asked with quotes, those of them also with passages, and those that
the documents do not answer: a small model takes ten minutes for them on a busy machine."""
SEED = 5
SURE = ("answered", "conflicting")


@dataclass(frozen=True, slots=True)
class Sentence:
    """An answer of a model to a question of a set."""

    evidence: str
    question: SetQuestion
    answer: Answer

    @property
    def verdict(self) -> str:
        """``right``, ``wrong`` or ``fallen back``."""
        answer = self.answer
        stands = answer.status == "complete" and answer.mode != "quotes"
        if stands and has_value(answer.text, self.question):
            return "right"
        return "wrong" if stands and answer.state in SURE else "fallen back"

    @property
    def line(self) -> str:
        """The answer for people, with the value that makes it right."""
        question, answer = self.question, self.answer
        said, seconds = answer.written or answer.text, f"{answer.seconds:.1f} s"
        asked = f"{question.text} ({question.value})"
        return f"{self.evidence} {self.verdict}, {seconds}: {asked} {said!r} {answer.note}"


def measure(
    folder: Path,
    *,
    model: str = "",
    sets: Sequence[str] = KEPT,
    asked: int = ASKED,
    compared: int = COMPARED,
) -> dict[str, float]:
    """Figures by ``"EVIDENCE | FIGURE"``, and the ratio of the seconds."""
    with tempfile.TemporaryDirectory() as home, _server(model) as url:
        rows = list[Sentence]()
        for row in sentences(Path(home), url, sets, asked, compared):
            rows.append(row)
            sys.stderr.write(f"{row.line}\n")
        return figures(rows)


@contextmanager
def _server(model: str) -> Iterator[str]:
    if model:
        yield model
        return
    if model_server.model_path() is None:
        raise FileNotFoundError(2, "", "a model server (--model URL)")
    with model_server.running() as url:
        yield url


def sentences(
    home: Path, url: str, sets: Sequence[str], asked: int, compared: int
) -> Iterator[Sentence]:
    """Yield the answers of a model, with quotes and with passages in turn."""
    variables = {
        "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL": f"{url.rstrip('/').removesuffix('/v1')}/v1"
    }
    workspace = Workspace(Settings.from_env(variables, home=home))
    rows = [(base, one) for base in _bases(workspace, sets) for one in _sure(base)]
    draw = random.Random(SEED)
    answerable, others = (
        [row for row in rows if bool(row[1].words) is has] for has in (True, False)
    )
    chosen = draw.sample(answerable, min(asked, len(answerable)))
    others = draw.sample(others, min(UNANSWERABLE, len(others)))
    compared = min(compared, len(chosen))
    for at, (base, question) in enumerate([*chosen, *others]):
        for evidence in EVIDENCES if at < compared else EVIDENCES[:1]:
            recipe = base.recipe().with_fields(
                {
                    "answer.provider": "compatible",
                    "answer.model": "local",
                    "answer.evidence": evidence,
                    "answer.max_tokens": 200,
                }
            )
            yield Sentence(evidence, question, base.ask(question.text, recipe).answer)
    workspace.close()


def _bases(workspace: Workspace, sets: Sequence[str]) -> Iterator[KnowledgeBase]:
    there = {info.name for info in workspace.bases()}
    for name in sets:
        if name not in there:
            add(workspace, workspace.create(name, Recipe()), read_set(name).files)
        yield workspace.base(name)


def _sure(base: KnowledgeBase) -> Iterator[SetQuestion]:
    """Yield the questions that quotes answer without doubt: rightly, or though they have none."""
    for question in read_set(base.name).questions:
        quotes = base.ask(question.text, base.recipe()).answer
        if quotes.state in SURE and (has_value(quotes.text, question) or not question.words):
            yield question


def figures(rows: Sequence[Sentence]) -> dict[str, float]:
    """The figures of some answers."""
    results = dict[str, float]()
    for evidence in EVIDENCES:
        own = [row for row in rows if row.evidence == evidence and row.question.words]
        firsts = [row.answer.first_token for row in own if row.answer.first_token is not None]
        results |= {
            f"{evidence} | {verdict}": fmean(row.verdict == verdict for row in own)
            for verdict in ("right", "wrong", "fallen back")
        }
        results[f"{evidence} | first word"] = fmean(firsts)
        results[f"{evidence} | seconds"] = fmean(row.answer.seconds for row in own)
        results[f"{evidence} | questions"] = len(own)
    wrong = [row.answer.state not in SURE for row in rows if not row.question.words]
    results["quotes | unanswerable doubted"] = fmean(wrong)
    return results | {"quotes : passages | seconds": _ratio(rows)}


def _ratio(rows: Sequence[Sentence]) -> float:
    both = {row.question for row in rows if row.evidence == "passages"}
    quotes, passages = (
        sum(row.answer.seconds for row in rows if row.evidence == name and row.question in both)
        for name in EVIDENCES
    )
    return quotes / passages
