"""The states of answers on documents that their model was not fitted on.

``python -m rag bench --only answer_states`` asks questions of six collections without a language
model. Each question that has an answer is also asked of a copy from which the documents that answer
it were deleted: what is left is on the topic, and does not answer. For each collection a model that
was fitted on the others prints

- ``answerable flagged``: answerable questions that are doubtful or refused (wanted: at most 8 %),
- ``taken out flagged``: the same questions without their documents (wanted: at least 80 %),
- ``unanswerable flagged``: questions of the sample that were written without an answer (80 %),
- ``right flagged`` and ``wrong flagged``: the answerable ones by whether the first quote is right,
  which tells doubt without cause from doubt where the wrong line was chosen,
- ``answered right``: answers in the state *answered* or *conflicting* whose first quote is in a
  labelled passage (wanted: at least 92 %), and ``any quote right``: one of their quotes is,
- ``right line first``: all answerable questions whose first quote is in a labelled passage,
- ``probability 50%`` and so on: the answers without doubt by the probability of the model, in tens
  of percent from 50 to 90, and the share whose first quote is right: of all, and of those to
  questions that the documents answer.

``python -m tests.bench.answer_states FOLDER`` fits the shipped models on all of them.
"""

import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rag import (
    SAMPLE,
    Answer,
    Citation,
    KnowledgeBase,
    Question,
    Recipe,
    Settings,
    Workspace,
    half_up,
)
from rag.answering import PassageReader, Vocabulary
from rag.answering.assessing.assess import probability_of
from rag.answering.assessing.evidence import (
    AnswerModel,
    EvidenceReader,
    Observation,
    QuoteEvidence,
    answer_model,
    fitted,
    write_shipped,
)
from rag.search.corpus import StoredSources
from rag.services.services import Services
from tests.golden.answer_sets import KEPT, SETS, has_words, read_set
from tests.workspaces import add

NEAR_MISSES = "near misses"
"""The sets of short documents of ``tests/golden``, without those that are kept apart."""
NAMED_THINGS = "named things"
"""Those with several things of one kind, each in a document of its own."""
KEPT_APART = "kept apart"
"""The other sets: no model is fitted on them."""
COLLECTIONS = (
    *(SAMPLE, "xquad_en", "anthropic_docs", "xquad_de"),
    *(NEAR_MISSES, NAMED_THINGS, KEPT_APART),
)
_SETS_OF = {NEAR_MISSES: SETS[:5], NAMED_THINGS: SETS[5:], KEPT_APART: KEPT}
MULTILINGUAL = "multilingual-e5"
"""Its model has no sample, which comes with vectors of MiniLM."""
QUESTIONS = 120
"""Of a collection; of the sample all."""
COPIES = 2
"""Each lacks the documents of so many parts of the questions."""
LEAST_GRADE = 2
"""Of labels that grade; labels of whole documents have the grade 1."""
SPANS_OF_ANSWERS = ("xquad_en", "xquad_de")
"""Collections whose labels are the answers themselves, with the grade 1."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer to one question: its evidence, None where it was refused.

    ``right`` says of each quote whether it is in a labelled passage.
    """

    kind: str
    evidence: QuoteEvidence | None
    right: tuple[bool, ...] = ()


def measure(folder: Path, *, collections: Sequence[str] = COLLECTIONS) -> dict[str, float]:
    """Shares by ``"COLLECTION: WHAT"``, each by a model that was fitted without the collection."""
    with tempfile.TemporaryDirectory() as home:
        rows = answers(Path(home), folder, collections)
    return left_out(rows)


def left_out(asked: Mapping[str, Sequence[Asked]]) -> dict[str, float]:
    """The figures of each collection by a model that was fitted on the others, and of all."""
    figures: dict[str, float] = {}
    states, by_percent = list[tuple[Asked, bool]](), defaultdict[int, list[Asked]](list)
    for name, rows in asked.items():
        model = model_of({other: asked[other] for other in asked if other != name}, cosines=True)
        own = [(row, is_flagged(row, model)) for row in rows]
        figures |= {f"{name}: {what}": share for what, share in _shares(own).items()}
        states += own if name != KEPT_APART else []
        for row, doubt in own:
            if row.evidence is not None and not doubt:
                percent = 10 * int(half_up(10 * probability_of(row.evidence, model)))
                by_percent[min(max(percent, 50), 90)].append(row)
    figures |= {f"all: {what}": share for what, share in _shares(states).items()}
    for percent, rows in sorted(by_percent.items()):
        answerable = [first_is_right(row) for row in rows if row.kind == "answerable"]
        figures |= {
            f"probability {percent}%: answers": len(rows),
            f"probability {percent}%: right": sum(answerable) / len(rows),
            f"probability {percent}%: answers that the documents have": len(answerable),
            f"probability {percent}%: right of these": float(np.mean(answerable)),
        }
    return figures


def model_of(asked: Mapping[str, Sequence[Asked]], *, cosines: bool) -> AnswerModel:
    """A model from some collections, each of which counts alike."""
    observations = [
        Observation(name, row.evidence.figures, row.kind == "answerable" and row.right[0])
        for name, rows in asked.items()
        for row in rows
        if row.evidence is not None and name != KEPT_APART
    ]
    return fitted(observations, cosines=cosines)


def is_flagged(row: Asked, model: AnswerModel) -> bool:
    return row.evidence is None or probability_of(row.evidence, model) < model.limit


def first_is_right(row: Asked) -> bool:
    return bool(row.right) and row.right[0]


def _shares(states: Sequence[tuple[Asked, bool]]) -> dict[str, float]:
    def flagged(kind: str) -> list[bool]:
        return [doubt for row, doubt in states if row.kind == kind]

    answerable = [(row, doubt) for row, doubt in states if row.kind == "answerable"]
    answered = [row for row, doubt in answerable if not doubt]
    shares = {
        "answerable flagged": flagged("answerable"),
        "right flagged": [doubt for row, doubt in answerable if first_is_right(row)],
        "wrong flagged": [doubt for row, doubt in answerable if not first_is_right(row)],
        "taken out flagged": flagged("taken out"),
        "unanswerable flagged": flagged("unanswerable"),
        "answered right": [row.right[0] for row in answered],
        "answered, any quote right": [any(row.right) for row in answered],
        "right line first": [first_is_right(row) for row, _ in answerable],
    }
    return {what: float(np.mean(values)) for what, values in shares.items() if values}


def answers(
    home: Path, folder: Path, collections: Sequence[str], recipe: Recipe | None = None
) -> dict[str, list[Asked]]:
    """Read all collections into a home, and ask their questions with and without documents."""
    workspace, services = opened(home)
    rows = asked(workspace, services, folder, collections, recipe)
    workspace.close()
    return rows


def opened(home: Path) -> tuple[Workspace, Services]:
    """A home, with services that know the vectors of sentences that were quoted once."""
    settings = Settings.from_env({}, home=home)
    return Workspace(settings), Services.start(settings)


def asked(
    workspace: Workspace,
    services: Services,
    folder: Path,
    collections: Sequence[str],
    recipe: Recipe | None = None,
) -> dict[str, list[Asked]]:
    """Read the collections that are not there yet, and ask their questions."""
    recipe = recipe or Recipe()
    return {
        name: _of_sets(workspace, services, _SETS_OF[name], recipe)
        if name in _SETS_OF
        else _asked(services, _base(workspace, name, folder, recipe), workspace)
        for name in collections
    }


def _asked(services: Services, base: KnowledgeBase, workspace: Workspace) -> list[Asked]:
    name = base.name
    _, questions = base.runs.questions(name)
    answerable = sorted((item for item in questions if item.answerable), key=lambda item: item.id)
    if name != SAMPLE:
        answerable = random.Random(0).sample(answerable, min(QUESTIONS, len(answerable)))
    others = [item for item in questions if not item.answerable]
    rows = _answers(services, base, answerable, "answerable")
    rows += _answers(services, base, others, "unanswerable")
    for number in range(COPIES):
        part = answerable[number::COPIES]
        rows += _answers(services, _without(workspace, base, part, number), part, "taken out")
    return rows


def _of_sets(
    workspace: Workspace, services: Services, names: Sequence[str], recipe: Recipe
) -> list[Asked]:
    """The questions of sets; an answer is right if its first quote has the words of the answer."""
    rows = list[Asked]()
    for document_set in map(read_set, names):
        new = document_set.name not in {info.name for info in workspace.bases()}
        if new:
            add(workspace, workspace.create(document_set.name, recipe), document_set.files)
        base = workspace.base(document_set.name)
        reader = reader_of(services, base)
        for question in document_set.questions:
            answer = base.ask(question.text, base.recipe()).answer
            kind = "answerable" if question.words else "unanswerable"
            right = tuple(has_words(one, question) for one in answer.citations)
            rows.append(Asked(kind, evidence_of(reader, answer), right))
    return rows


def _without(
    workspace: Workspace, base: KnowledgeBase, questions: Sequence[Question], number: int
) -> KnowledgeBase:
    """A copy of a base without the documents that answer some questions."""
    name = f"{base.name} without {number}"
    if name not in {info.name for info in workspace.bases()}:
        copy, job = workspace.duplicate(base.name, name)
        workspace.jobs.run(job)
        gone = {label.document_id for question in questions for label in question.evidence}
        copy.documents.delete_documents(sorted(gone))
    return workspace.base(name)


def _base(workspace: Workspace, name: str, folder: Path, recipe: Recipe) -> KnowledgeBase:
    if name not in {info.name for info in workspace.bases()}:
        if name == SAMPLE:
            _, job = workspace.start_demo()
        else:
            job = workspace.create(name, recipe).documents.import_beir(folder / name, "test")
        workspace.jobs.run(job)
    return workspace.base(name)


def _answers(
    services: Services, base: KnowledgeBase, questions: Sequence[Question], kind: str
) -> list[Asked]:
    recipe, reader = base.recipe(), reader_of(services, base)
    return [
        _observed(reader, base.ask(item.text, recipe).answer, item, kind, base.name)
        for item in questions
    ]


def reader_of(services: Services, base: KnowledgeBase) -> EvidenceReader:
    index = services.indexes.current(base.id, base.recipe().index)
    return EvidenceReader(
        services.remembering(base.recipe().index.embedder),
        PassageReader(StoredSources(services, base.id, base.name)),
        Vocabulary(index.lexical, len(index.passages)),
    )


def _observed(
    reader: EvidenceReader, answer: Answer, question: Question, kind: str, base: str
) -> Asked:
    least = 1 if base in SPANS_OF_ANSWERS else LEAST_GRADE
    right = tuple(_is_right(citation, question, least) for citation in answer.citations)
    return Asked(kind, evidence_of(reader, answer), right)


def evidence_of(reader: EvidenceReader, answer: Answer) -> QuoteEvidence | None:
    if not answer.citations:
        return None
    words = reader.words.for_question(answer.trace.corrected, answer.trace.corrections)
    return replace(reader, words=words).read(answer.trace, answer.citations)


def _is_right(citation: Citation, question: Question, least: int) -> bool:
    """Whether a quote is in a labelled passage, or its document is labelled as a whole."""
    chunk, quote = citation.hit.chunk, citation.quote
    start = chunk.start + max(chunk.text.find(quote), 0)
    return any(
        label.document_id == chunk.document_id
        and (
            label.end is None
            or (label.grade >= least and start < label.end and label.start < start + len(quote))
        )
        for label in question.evidence
    )


def main(folder: Path) -> None:
    """Fit the shipped models on all collections, by the beginning of an embedder's id."""
    models = dict[str, AnswerModel]()
    multilingual = Recipe().with_fields({"index.embedder": MULTILINGUAL})
    for recipe, collections in ((Recipe(), COLLECTIONS), (multilingual, COLLECTIONS[1:])):
        with tempfile.TemporaryDirectory() as home:
            rows = answers(Path(home), folder, collections, recipe)
        for what, share in left_out(rows).items():
            sys.stdout.write(f"{recipe.index.embedder} {what:60} {share:.3f}\n")
        words = answer_model(recipe.index.embedder)  # its cosines of words are not fitted
        new = replace(model_of(rows, cosines=True), far=words.far, close=words.close)
        models[recipe.index.embedder] = new
        models.setdefault("", model_of(rows, cosines=False))  # for embedders without a model
    write_shipped(models)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
