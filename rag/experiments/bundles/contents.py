"""The contents of an experiment bundle, and how it is written. Its shapes are a contract.

::

    recipe.json        the recipe
    questions.jsonl    questions with their labels, as ``export-questions`` writes them
    results.json       metrics, and per question metrics and ranking
    documents.json     names, ids (SHA-256), sizes, hashes of the extracted texts, tags and dates
    environment.json   the format of the bundle, code, packages, machine
    calibration.json   only where the threshold is a probability: how it was learned
    README.txt         how to import it
    texts/ID.json      only with documents: the extracted text
    files/ID           only with documents: the original file, where there is one
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from rag.errors import InvalidFile, InvalidInput
from rag.evaluation.formats import question_files as question_files
from rag.experiments.runs.evaluator import USERS
from rag.library.documents.stored import documents_hash
from rag.library.questions.sets import QuestionSets
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval.filters import filter_digest
from rag.search.corpus import as_fitted
from rag.services.services import Services
from rag.storage import bases, documents, passage_edits, questions, registries, runs
from rag.storage.documents import DocumentInfo
from rag.storage.passage_edits import StoredEdit
from rag.storage.registries import CalibrationRow
from rag.types import Document, Heading, Page, Receipt, Table
from rag.types.results import QuestionResult, Run

FORMAT = 1
RECIPE = "recipe.json"
QUESTIONS = "questions.jsonl"
RESULTS = "results.json"
DOCUMENTS = "documents.json"
ENVIRONMENT = "environment.json"
CALIBRATION = "calibration.json"
EDITS = "edits.json"
README = "README.txt"
PARTS = (RECIPE, QUESTIONS, RESULTS, DOCUMENTS, ENVIRONMENT, CALIBRATION, EDITS, README)

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Tag = Annotated[str, Field(pattern=r"\S")]
Day = Annotated[str, Field(pattern=r"^(\d{4}-\d\d-\d\d)?$")]
Cutoff = Annotated[int, Field(ge=1, le=1000)]


class _BundlePart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class BundledResult(_BundlePart):
    """One question of the run; ``ranking`` holds (id, score, grade), best first."""

    id: str
    question: str
    metrics: Mapping[str, float]
    ranking: tuple[tuple[str, float, int], ...]
    first_relevant: int | None
    found: int
    relevant: int

    @classmethod
    def of(cls, item: QuestionResult) -> BundledResult:
        """The part of a stored result that another machine should reproduce."""
        return cls(
            id=item.question_id,
            question=item.text,
            metrics=item.metrics,
            ranking=item.ranking,
            first_relevant=item.first_relevant,
            found=item.found,
            relevant=item.relevant,
        )


class Results(_BundlePart):
    """``results.json``."""

    run: str
    knowledge_base: str
    set: str
    set_version: int
    created: str
    note: str = ""
    tags: tuple[str, ...] = ()
    cutoffs: tuple[Cutoff, ...] = Field(min_length=1)
    metrics: Mapping[str, float]
    per_question: tuple[BundledResult, ...]


class DocumentEntry(_BundlePart):
    """A document of ``documents.json``; ``bytes`` is None where there was no file.

    Tags, ``date`` (its own, "" for none) and ``added`` are what filters look at besides the
    document itself. Bundles of before they travelled have None for both.
    """

    id: Sha256
    name: str = Field(min_length=1)
    source: str = ""
    media_type: str = "text/plain"
    bytes: int | None = None
    characters: int = Field(ge=0)
    text_sha256: Sha256
    tags: tuple[Tag, ...] = ()
    date: Day | None = None
    added: AwareDatetime | None = None


class Documents(_BundlePart):
    """``documents.json``; ``hash`` is that of the sorted ids, which a run carries too."""

    hash: Sha256
    documents: tuple[DocumentEntry, ...]


class Environment(_BundlePart):
    """``environment.json``."""

    format: int
    made_with: Mapping[str, str]


class Edits(_BundlePart):
    """``edits.json``: what people decided about passages; bundles from before have none."""

    edits: tuple[StoredEdit, ...]


def checked_calibration(row: CalibrationRow) -> CalibrationRow:
    """Return ``calibration.json``. Raises InvalidFile for what no calibration is."""
    try:
        as_fitted(row)
    except (InvalidInput, KeyError, TypeError, ValueError) as error:
        raise InvalidFile(f"{CALIBRATION} of the bundle is damaged.") from error
    return row


_Page = (
    tuple[int, int, int]
    | tuple[int, int, int, str]
    | tuple[int, int, int, str, float | None]
    | tuple[int, int, int, str, float | None, str]
)


class Text(_BundlePart):
    """``texts/ID.json``: an extracted text. Pages are (number, start, end, head,
    confidence, label).

    Tables are (start, end, labels, caption). Bundles from before have pages without the last ones.
    """

    text: str
    pages: tuple[_Page, ...] = ()
    headings: tuple[tuple[int, int, str], ...] = ()
    tables: tuple[tuple[int, int, tuple[str, ...], str], ...] = ()
    metadata: Mapping[str, str] = Field(default_factory=dict)
    reader_version: int = 0
    receipt: Receipt | None = None

    @classmethod
    def of(cls, document: Document) -> Text:
        """The text of a document with what was found in it."""
        return cls(
            text=document.text,
            pages=tuple(astuple(page) for page in document.pages),
            headings=tuple(astuple(heading) for heading in document.headings),
            tables=tuple(astuple(table) for table in document.tables),
            metadata=document.metadata,
            reader_version=document.reader_version,
            receipt=document.receipt,
        )

    def document(self, entry: DocumentEntry) -> Document:
        """The document again."""
        return Document(
            id=entry.id,
            name=entry.name,
            source=entry.source,
            media_type=entry.media_type,
            text=self.text,
            pages=tuple(Page(*page) for page in self.pages),
            headings=tuple(Heading(*heading) for heading in self.headings),
            tables=tuple(Table(*table) for table in self.tables),
            metadata=self.metadata,
            reader_version=self.reader_version,
            receipt=self.receipt,
        )

    @property
    def is_consistent(self) -> bool:
        """Whether pages, headings and tables are in order and within the text."""
        pages = [0, *(place for page in self.pages for place in page[1:3])]
        starts = [0, *(start for start, _, _ in self.headings)]
        tables = [0, *(place for table in self.tables for place in table[:2])]
        orders = (pages, starts, tables)
        return all(order == sorted(order) and order[-1] <= len(self.text) for order in orders)


def results(run: Run, base_name: str, items: list[QuestionResult]) -> Results:
    """``results.json`` of a stored run."""
    depths = {int(k) for name in run.metrics for _, at, k in [name.partition("@")] if at}
    return Results(
        run=run.id,
        knowledge_base=base_name,
        set=run.question_set,
        set_version=run.set_version,
        created=run.created.isoformat(),
        note=run.note,
        tags=run.tags,
        cutoffs=tuple(sorted(depths)),
        metrics=run.metrics,
        per_question=tuple(BundledResult.of(item) for item in items),
    )


def entry(document: Document, row: DocumentInfo, size: int | None) -> DocumentEntry:
    """Return the entry of a document; ``row`` is its row in the database."""
    return DocumentEntry(
        id=document.id,
        name=document.name,
        source=document.source,
        media_type=document.media_type,
        bytes=size,
        characters=len(document.text),
        text_sha256=text_sha256(document.text),
        tags=row.tags,
        date=document.metadata.get("date", ""),
        added=row.added,
    )


def text_sha256(text: str) -> str:
    """SHA-256 of an extracted text: tells whether another reader got the same."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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
        run = self._services.database.fetch(runs.get, self._base_id, run_id)
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
            measured = runs.results(connection, run.id)
            edits = passage_edits.list_edits(connection, self._base_id)
        labelled = QuestionSets(self._services.database, self._base_id).export(run.question_set)
        if USERS in run.environment:  # a file of questions does not say which came from users
            question_ids = {result.question_id for result in measured}
            labelled = [item for item in labelled if item.id in question_ids]
        environment = Environment(format=FORMAT, made_with=run.environment)
        folder = "" if with_documents else " --documents FOLDER"
        yield README, _README.format(name=name, folder=folder).encode()
        yield RECIPE, json.dumps(recipe.stored(), indent=2).encode()
        yield QUESTIONS, question_files.to_jsonl(labelled).encode()
        yield RESULTS, _json(results(run, base, measured))
        yield ENVIRONMENT, _json(environment)
        if edits:
            yield EDITS, _json(Edits(edits=tuple(edits)))
        if recipe.search.relevance == "probability":
            yield from self._calibration(run)
        listed: list[DocumentEntry] = []
        for row, document in self._documents():
            path = self._services.files.path(document.id)
            size = path.stat().st_size if path.exists() else None
            listed.append(entry(document, row, size))
            if with_documents:
                yield f"texts/{document.id}.json", _json(Text.of(document))
                if path.exists():
                    yield f"files/{document.id}", path.read_bytes()
        yield DOCUMENTS, _json(Documents(hash=run.documents_hash, documents=tuple(listed)))

    def _calibration(self, run: Run) -> Iterator[tuple[str, bytes]]:
        row = self._services.database.fetch(
            registries.calibration_of_build, self._base_id, run.build_hash
        )
        if row is not None:
            yield CALIBRATION, _json(row)

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


def _json(part: Results | Documents | Edits | Environment | CalibrationRow | Text) -> bytes:
    return TypeAdapter(type(part)).dump_json(part, indent=1)
