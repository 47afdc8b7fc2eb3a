"""Differences between two runs besides their metrics: whether they searched the same documents."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from rag.evaluation.comparison import OWN_EMBEDDERS
from rag.evaluation.report.words import counted, setting
from rag.library.documents.stored import documents_hash
from rag.recipe import Recipe
from rag.recipe.parts import phrase
from rag.retrieval.filters import OF_DOCUMENTS
from rag.storage import Connection, documents, passage_edits
from rag.types.results import CONTEXT, EDITED, EDITS, GATE, PIPELINE, PROMPTS, RANKABLE, Run

DocumentChange = Literal["left out", "put back", "edited"]


@dataclass(frozen=True, slots=True)
class EditedDocument:
    """A document with edits of its passages: all of its text is ``left_out`` of search, or not."""

    name: str
    digest: str
    left_out: bool


@dataclass(frozen=True, slots=True)
class SearchedDocuments:
    """The documents of a run: the hash of their ids, and those with edits by id."""

    hash: str
    edited: Mapping[str, EditedDocument]

    @classmethod
    def of(cls, run: Run) -> SearchedDocuments | None:
        """Return the documents of a run; None for a run of an earlier version with edits."""
        if EDITS not in run.environment:
            return cls(run.documents_hash, {})
        if EDITED not in run.environment:
            return None
        stored = json.loads(run.environment[EDITED])
        edited = {key: EditedDocument(**values) for key, values in stored["edited"].items()}
        return cls(stored["hash"], edited)

    def changes(self, before: SearchedDocuments) -> Iterator[tuple[str, str, DocumentChange]]:
        """Yield the id and name of each document whose edits differ, with what was done."""
        for key in sorted({*self.edited, *before.edited}):
            now, then = self.edited.get(key), before.edited.get(key)
            shown = now or then
            if now == then or shown is None:
                continue
            is_out, was_out = (one is not None and one.left_out for one in (now, then))
            change: DocumentChange = "edited"
            if is_out != was_out:
                change = "left out" if is_out else "put back"
            yield key, shown.name, change


def edits_environment(connection: Connection, base_id: int, ids: Collection[str]) -> dict[str, str]:
    """Return what the environment of a run of these documents says about edits of passages."""
    edits = passage_edits.digest(connection, base_id)
    if not edits:
        return {}
    digests = passage_edits.digest_by_document(connection, base_id)
    names = documents.names(connection, base_id, sorted(digests))
    left_out = documents.left_out(connection, base_id)
    edited = {
        key: asdict(EditedDocument(names[key], digests[key], key in left_out))
        for key in sorted(names)
    }
    return {EDITS: edits, EDITED: json.dumps({"hash": documents_hash(ids), "edited": edited})}


QuestionTexts = Mapping[str, str]
"""The texts of a run's questions by id."""

_DISTINGUISHED = frozenset(
    {"answers", "filtered", "touchstone"}
    | {CONTEXT, EDITED, EDITS, GATE, PIPELINE, PROMPTS, RANKABLE}
)
"""Of the environment of a run: what has a sentence of its own, or is a figure."""

_OF_EMBEDDER = frozenset({"answer_relevance"})
"""The metrics that are measured with the embedder of a recipe."""

LEFT_OUT = "documents left out of search"
"""The name of documents that one of two runs left out, where nothing else of them differs."""
_CHANGED = "The documents changed between the two runs."
_DONE: Mapping[DocumentChange, str] = {
    "left out": "left out of search",
    "put back": "put back into search",
    "edited": "edited by hand",
}
_MOST_NAMED = 3  # documents in a sentence


@dataclass(frozen=True, slots=True)
class RunDifferences:
    """The differences of a run from an earlier run or its baseline.

    ``recipe`` has a phrase for each field of retrieval, or one for another system. ``data`` names
    the differing inputs of the measurement: ``questions``, ``labels``, ``documents``, ``documents
    left out of search``, ``edits of passages``, ``filtered documents``. ``sentences`` describe all
    differences except those of the recipe. ``edited`` has the ids of the documents whose passages
    people edited or left out of search between the runs, if the documents differ in nothing else.
    """

    recipe: tuple[str, ...]
    data: tuple[str, ...]
    sentences: tuple[str, ...]
    source: Literal["recipe", "system"] = "recipe"
    edited: frozenset[str] = frozenset()

    @property
    def comparable(self) -> bool:
        """Whether both were measured on the same questions, labels and documents."""
        return not self.data

    def without_edits(self) -> RunDifferences:
        """Return the differences without those of ``edited``."""
        return replace(self, data=tuple(n for n in self.data if n not in (EDITS, LEFT_OUT)))

    @property
    def obstacle(self) -> str:
        """The obstacle to a comparison: ``"the labels and the documents differ"``; else ""."""
        if not self.data:
            return ""
        named = [f"the {name}" for name in self.data]
        return f"{' and '.join(filter(None, [', '.join(named[:-1]), named[-1]]))} differ"

    @property
    def phrase(self) -> str:
        """Everything in one line, for people."""
        besides = " ".join(self.sentences)
        changed = f"{', '.join(self.recipe)}." if self.recipe else f"the same {self.source}."
        if not self.sentences and not self.recipe:
            return f"the same {self.source}, questions, labels, documents and code."
        return f"{changed} {besides}".strip()


def differences(
    run: Run, before: Run, questions: QuestionTexts, questions_before: QuestionTexts
) -> RunDifferences:
    """Return the differences of ``run`` from ``before``, given the questions of each."""
    data = dict(_data(run, before, questions, questions_before))
    besides = (*data.values(), *_surroundings(run, before))
    source: Literal["recipe", "system"] = "recipe" if run.recipe else "system"
    edited = _edited(run, before) if {EDITS, LEFT_OUT} & data.keys() else frozenset[str]()
    return RunDifferences(source_chips(before, run), tuple(data), besides, source, edited)


NO_DIRECTION = (
    "More or fewer of them make no run better: sources may disagree in the documents, too."
)
"""The obstacle to a comparison by a metric of which neither more nor less is better."""


def metric_obstacle(metric: str, run: Run, before: Run) -> str:
    """Return the reason why two runs do not compare by a metric alone; "" without one.

    Cosines of different embedders have different scales: those of one may all lie above 0.75.
    """
    if metric not in _OF_EMBEDDER or run.recipe is None or before.recipe is None:
        return ""
    same = run.recipe.index.embedder == before.recipe.index.embedder
    return "" if same else OWN_EMBEDDERS


def _data(
    run: Run, before: Run, questions: QuestionTexts, questions_before: QuestionTexts
) -> list[tuple[str, str]]:
    """Return the name of each input of the measurement that differs, with a sentence."""
    parts = []
    versions = f"version {before.set_version}, then {run.set_version}"
    if moved := len({name for name, _ in questions.items() ^ questions_before.items()}):
        parts.append(
            ("questions", f"{counted(moved, 'question')} not the same in both runs ({versions}).")
        )
    elif run.set_version != before.set_version:
        edited = f"The labels or tags of the questions changed between the two runs ({versions})."
        parts.append(("labels", edited))
    if run.documents_hash != before.documents_hash:
        parts.append(_documents_moved(run, before))
    elif _filters_moved(run, before):
        message = "The same filter selects other documents than before."
        parts.append(("filtered documents", message))
    return parts


def _documents_moved(run: Run, before: Run) -> tuple[str, str]:
    """Return the name and a sentence of what differs about the documents of two runs."""
    now, then = SearchedDocuments.of(run), SearchedDocuments.of(before)
    if now is None or then is None:
        old, new = (side.environment.get(EDITS, "none") for side in (before, run))
        if old == new:
            return "documents", _CHANGED
        return EDITS, f"Passages were edited by hand between the two runs: {old}, then {new}."
    changes = list(now.changes(then))
    if now.hash != then.hash or not changes:
        # What has no edits any more may be gone.
        left_out = list(_named([one for one in changes if one[2] == "left out"]))
        rest = "Other documents changed too." if left_out else _CHANGED
        return "documents", " ".join([*left_out, rest])
    by_hand = any(change == "edited" for _, _, change in changes)
    return EDITS if by_hand else LEFT_OUT, " ".join(_named(changes))


def _edited(run: Run, before: Run) -> frozenset[str]:
    """Return the ids of the documents whose edits differ between two runs."""
    now, then = SearchedDocuments.of(run), SearchedDocuments.of(before)
    return frozenset(key for key, _, _ in now.changes(then)) if now and then else frozenset()


def _named(changes: Sequence[tuple[str, str, DocumentChange]]) -> Iterator[str]:
    """Yield a sentence for each kind of change, with the names of the documents."""
    for kind in _DONE:
        names = [name for _, name, change in changes if change == kind]
        if names:
            more = len(names) - _MOST_NAMED
            listed = ", ".join(names[:_MOST_NAMED])
            listed += f" and {counted(more, 'more document')}" if more > 0 else ""
            verb = "was" if len(names) == 1 and kind != "edited" else "were"
            of = "Passages of " if kind == "edited" else ""
            yield f"{of}{listed} {verb} {_DONE[kind]} between the two runs."


def _surroundings(run: Run, before: Run) -> list[str]:
    """Return the differences that may change metrics although the inputs are the same."""
    sentences = []
    if run.code_version != before.code_version:
        sentences.append(
            f"The runs were made by different code: {before.code_version}, then {run.code_version}."
        )
    if run.prompts and before.prompts and run.prompts != before.prompts:
        sentences.append(
            f"The prompts of the answers differ: {before.prompts}, then {run.prompts}."
        )
    for name in dict.fromkeys([*before.environment, *run.environment]):
        old, new = (side.environment.get(name, "none") for side in (before, run))
        if old != new and name not in _DISTINGUISHED:
            sentences.append(f"Other {name}: {old}, then {new}.")
    return sentences


def source_chips(before: Run, run: Run) -> tuple[str, ...]:
    """Return the retrieval changes of a run, or one phrase if a system is among the two."""
    if before.recipe and run.recipe:
        return recipe_chips(before.recipe, run.recipe)
    if before.source_hash == run.source_hash:
        return ()
    return (f"{before.source} → {run.source}",)


def recipe_chips(before: Recipe, recipe: Recipe, *, answers: bool = False) -> tuple[str, ...]:
    """Return the changes of ``recipe``, one per field: ``"dense weight 0.6 → 0.8"``.

    Those of ``answers`` only if they are wanted. What was automatic before has no value to name.
    """
    return tuple(
        f"{phrase(name)} {'' if old == 'auto' else f'{setting(old)} → '}{setting(new)}"
        for name, (old, new) in before.differences(recipe).items()
        if answers or not name.startswith("answer.")
    )


def _filters_moved(run: Run, before: Run) -> bool:
    """Whether tags or dates changed below two runs that filter alike."""
    if run.recipe is None or before.recipe is None:
        return False
    now, then = run.recipe.search, before.recipe.search
    alike = all(getattr(now, name) == getattr(then, name) for name in OF_DOCUMENTS)
    return alike and run.filter_digest != before.filter_digest
