"""Writing of a run with everything that another machine needs to repeat it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rag.errors import InvalidInput
from rag.evaluation.formats import question_files as question_files
from rag.experiments.bundles import contents
from rag.experiments.bundles.contents import (
    DocumentEntry,
    Documents,
    Edits,
    Environment,
    Learned,
    Text,
)
from rag.experiments.runs.evaluator import USERS
from rag.experiments.runs.searched_documents import documents_hash
from rag.library.questions.sets import QuestionSets
from rag.recipe import Recipe, SearchRecipe
from rag.results import Run
from rag.retrieval.filters import filter_digest
from rag.search.threshold import as_fitted
from rag.services.services import Services
from rag.storage import bases, documents, passage_edits, questions, registries, runs
from rag.storage.documents import DocumentInfo
from rag.types import Document

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same run gives the same bytes
_README = """\
An experiment bundle of Touchstone: a recipe, labelled questions, and what they gave.

To repeat it:

    python -m rag import-bundle {name}{folder}

That makes a knowledge base, measures the recipe again, and compares every figure.
"""


class Packer:
    """Bundles runs of one knowledge base."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id

    def pack(self, run_id: str, target: Path, *, with_documents: bool) -> None:
        """Write the bundle of a run, whole or not at all.

        Raises NotFound, InvalidInput where documents or questions changed since the run, where it
        measured a system, or where the file cannot be written.
        """
        with self._services.database.read() as connection:
            run = runs.get(connection, self._base_id, run_id)
        if run.recipe is None:
            raise InvalidInput(
                f"Run {run.id} measured a system, which a bundle cannot repeat.",
                "Export its rankings with `export-run`.",
            )
        self._check(run, run.recipe.search)
        draft = target.with_name(f".{target.name}.part")
        try:
            with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, content in self._parts(run, run.recipe, target.name, with_documents):
                    archive.writestr(_member(name), content)
            draft.replace(target)
        except OSError as error:
            raise InvalidInput(f"{target} cannot be written: {error.strerror}.") from error
        finally:
            draft.unlink(missing_ok=True)

    def _check(self, run: Run, search: SearchRecipe) -> None:
        with self._services.database.read() as connection:
            version = questions.get_question_set(
                connection, self._base_id, run.question_set
            ).version
            ids = documents.ids_by_name(connection, self._base_id).values()
            edits = passage_edits.digest(connection, self._base_id)
            same = documents_hash(ids, edits) == run.documents_hash
            learned = registries.calibration_of_build(connection, self._base_id, run.build_hash)
            traits = partial(documents.traits, connection, self._base_id)
            passing = filter_digest(search, traits)
        changed = "documents" if not same else "questions" if version != run.set_version else ""
        if passing != run.filter_digest:
            changed = changed or "tags or dates that its recipe filters by"
        if search.relevance == "probability":
            digest = as_fitted(learned).digest if learned else ""
            changed = changed or (
                "calibration" if digest != run.environment.get("calibration") else ""
            )
        if changed:
            raise InvalidInput(
                f"The {changed} changed since run {run.id}; it can no longer be repeated.",
                "Evaluate again, and bundle the new run.",
            )

    def _parts(
        self, run: Run, recipe: Recipe, name: str, with_documents: bool
    ) -> Iterator[tuple[str, bytes]]:
        with self._services.database.read() as connection:
            base = bases.by_id(connection, self._base_id).name
            results = runs.results(connection, run.id)
            edits = passage_edits.list_edits(connection, self._base_id)
        labelled = QuestionSets(self._services.database, self._base_id).export(run.question_set)
        if USERS in run.environment:  # a file of questions does not say which came from users
            question_ids = {result.question_id for result in results}
            labelled = [item for item in labelled if item.id in question_ids]
        environment = Environment(format=contents.FORMAT, made_with=run.environment)
        folder = "" if with_documents else " --documents FOLDER"
        yield contents.README, _README.format(name=name, folder=folder).encode()
        yield contents.RECIPE, json.dumps(recipe.stored(), indent=2).encode()
        yield contents.QUESTIONS, question_files.to_jsonl(labelled).encode()
        yield contents.RESULTS, _json(contents.results(run, base, results))
        yield contents.ENVIRONMENT, _json(environment)
        if edits:
            yield contents.EDITS, _json(Edits(edits=tuple(edits)))
        if recipe.search.relevance == "probability":
            yield from self._calibration(run)
        listed: list[DocumentEntry] = []
        for row, document in self._documents():
            path = self._services.files.path(document.id)
            size = path.stat().st_size if path.exists() else None
            listed.append(contents.entry(document, row, size))
            if with_documents:
                yield f"texts/{document.id}.json", _json(Text.of(document))
                if path.exists():
                    yield f"files/{document.id}", path.read_bytes()
        yield contents.DOCUMENTS, _json(Documents(hash=run.documents_hash, documents=tuple(listed)))

    def _calibration(self, run: Run) -> Iterator[tuple[str, bytes]]:
        with self._services.database.read() as connection:
            row = registries.calibration_of_build(connection, self._base_id, run.build_hash)
        if row is not None:
            yield contents.CALIBRATION, _json(Learned.of(row))

    def _documents(self) -> Iterator[tuple[DocumentInfo, Document]]:
        with self._services.database.read() as connection:
            rows = documents.list_documents(connection, self._base_id)
            for row in rows:
                yield row, documents.get(connection, self._base_id, row.id)


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member


def _json(part: contents.Results | Documents | Edits | Environment | Learned | Text) -> bytes:
    return part.model_dump_json(indent=1).encode()
