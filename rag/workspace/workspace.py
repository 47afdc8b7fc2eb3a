"""The composition root: what the dashboard, the command line and the API start from."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

from rag import providers, telemetry
from rag.access import Access
from rag.conversations.turn_metrics import write_log
from rag.errors import AlreadyExists, DatabaseBusy, InvalidInput, NotFound
from rag.experiments.bundles import Packer, Reproduction, Restorer, opened
from rag.library.documents.bulk_jobs import Duplicate, ImportBeir
from rag.library.documents.library import (
    Questions,
    Upload,
    brought_in,
    paths_brought_in,
)
from rag.library.maps import Maps
from rag.operation import Operation, operations
from rag.recipe import Recipe
from rag.retrieval.caches import CacheFigures
from rag.search.federation import FurtherBase
from rag.search.tools import Tools
from rag.services.indexing.servers import Servers
from rag.services.jobs import Handler, Jobs, runner
from rag.services.services import Services, import_vectors
from rag.settings import PROJECT, Settings
from rag.storage import Connection, bases, builds, documents, patient, runs
from rag.storage.access import people
from rag.storage.bases import Base
from rag.storage.conversations import LOCAL, SessionOwner
from rag.storage.registries import ModelFacts, ModelName
from rag.types.schema import Schema, Timestamp
from rag.workspace import maintenance, spending, tracing
from rag.workspace.handlers import SubprocessLauncher, share
from rag.workspace.knowledge_base import UNLIMITED, FederatedBase, KnowledgeBase, Limits
from rag.workspace.maintenance import Backup, Problem, back_up, finish_restore

log = logging.getLogger(__name__)

SAMPLE = "sample"
SAMPLE_FOLDER = PROJECT / "data" / "sample"
SAMPLE_QUESTIONS = "questions.jsonl"
SAMPLE_VECTORS = PROJECT / "data" / "sample-vectors.npz"


class KnowledgeBaseData(Schema):
    """A knowledge base, with the numbers of its documents and passages."""

    id: int
    name: str
    documents: int
    passages: int
    created: Timestamp


class BaseOverview(KnowledgeBaseData):
    """The same with its accepted questions, and when it was evaluated last."""

    questions: int
    last_run: datetime | None


class Workspace:
    """All knowledge bases of one home, and the jobs that work on them."""

    def __init__(self, settings: Settings, servers: Servers | None = None) -> None:
        """``servers`` keep the indexes; by default those that the settings name, if any."""
        self.settings = settings
        if settings.turn_log:
            write_log()
        tracing.start(settings)
        finish_restore(settings.home)
        self._services = Services.start(settings, servers)
        self._maps = Maps(self._services)
        self._services.on_forgotten.append(self._maps.files.forget)
        tidy = partial(maintenance.sweep, self._services)
        worker = partial(Jobs, self._services.database, self._handler, tidy)
        apart = SubprocessLauncher(self._services)  # which could not be handed servers
        self.jobs = worker(apart.large, apart.shared) if servers is None else worker()
        self.tools = Tools(self._services)
        self.access = Access(self._services.database, settings)

    @classmethod
    def from_env(cls) -> Workspace:
        """The workspace that the environment names. Raises InvalidInput or StorageError."""
        return cls(Settings.from_env())

    def _handler(self, kind: str) -> Handler | None:
        """Return the handler of a kind of jobs; most processes do no job of most kinds."""
        from rag.workspace.handlers import handlers

        return handlers(self._services, self.base_with_id, self._maps.files).get(kind)

    @cached_property
    def operations(self) -> Mapping[str, Operation]:
        """The declared operations of knowledge bases, by path."""
        none = Base(0, "", Recipe(), 0, datetime.now(UTC))
        return operations(self._knowledge_base(none))

    def bases(self, ids: Collection[int] | None = None) -> list[KnowledgeBaseData]:
        """Knowledge bases by name, all or some, with the size of their saved recipe's build."""
        with self._services.database.read() as connection:
            document_counts, passages = (
                documents.counts(connection),
                builds.passages_by_cut(connection),
            )
            return [
                KnowledgeBaseData.of(
                    base,
                    documents=document_counts.get(base.id, 0),
                    passages=passages.get((base.id, base.recipe.index.cut), 0),
                )
                for base in bases.list_bases(connection, ids)
            ]

    def overview(self, ids: Collection[int] | None = None) -> list[BaseOverview]:
        """Knowledge bases by name, all or some, with what was measured of each."""
        measured = self._services.database.fetch(bases.measurement_summaries)
        return [
            BaseOverview.of(info, questions=questions, last_run=last_run)
            for info in self.bases(ids)
            for questions, last_run in [measured.get(info.name, (0, None))]
        ]

    def embedders(self) -> list[str]:
        """The embedding models that can be used now, but for the one that is for trials alone."""
        ready = (status for status in self.statuses() if status.ready and not status.for_trials)
        return [status.name for status in ready if status.embedding_model]

    def caches(self) -> list[CacheFigures]:
        """Return the metrics of the query and result caches."""
        return [self._services.queries.figures(), self._services.results.figures()]

    def base(
        self, name: str, visitor: SessionOwner = LOCAL, limits: Limits = UNLIMITED
    ) -> KnowledgeBase:
        """A knowledge base by name, with the conversations of a visitor. Raises NotFound."""
        return self._knowledge_base(
            self._services.database.fetch(bases.get_base, name), visitor, limits
        )

    def base_with_id(
        self, base_id: int, visitor: SessionOwner = LOCAL, limits: Limits = UNLIMITED
    ) -> KnowledgeBase:
        """A knowledge base by the id that it keeps when it is renamed. Raises NotFound."""
        return self._knowledge_base(
            self._services.database.fetch(bases.by_id, base_id), visitor, limits
        )

    def base_of_run(self, run_id: str, limits: Limits = UNLIMITED) -> KnowledgeBase:
        """The knowledge base that a run belongs to. Raises NotFound."""
        with self._services.database.read() as connection:
            base = bases.by_id(connection, runs.owner(connection, run_id))
        return self._knowledge_base(base, limits=limits)

    def beside(
        self,
        name: str,
        also: Sequence[FurtherBase],
        base_called: Callable[[str], KnowledgeBase] | None = None,
    ) -> list[FederatedBase]:
        """Other bases to search together with the one called ``name``, each once.

        ``base_called`` looks them up, by default as ``base`` does. Raises NotFound, InvalidInput
        for that base itself, InvalidRecipe for a bad value.
        """
        look_up = base_called or self.base
        if any(further.name == name for further in also):
            raise InvalidInput(f"{name!r} is searched already.", "Name other knowledge bases.")
        looked_up = (
            (look_up(further.name), further) for further in {a.name: a for a in also}.values()
        )
        return [
            FederatedBase(base, further.recipe(base.recipe()), further.weight)
            for base, further in looked_up
        ]

    def _knowledge_base(
        self, base: Base, visitor: SessionOwner = LOCAL, limits: Limits = UNLIMITED
    ) -> KnowledgeBase:
        return KnowledgeBase(self._services, self.jobs, self._maps, base, visitor, limits)

    def create(self, name: str, recipe: Recipe | None = None, owner: str = "") -> KnowledgeBase:
        """A new knowledge base, of the person with the id ``owner``. Raises InvalidInput,
        AlreadyExists, or ProviderRejected without the key that the embedder of its recipe needs."""
        name, recipe = _checked(name), recipe or Recipe()
        self._services.models.require(recipe.index)
        with self._services.database.write() as connection:
            return self._knowledge_base(_create(connection, name, recipe, owner))

    def duplicate(self, base: str | int, new: str, owner: str = "") -> tuple[KnowledgeBase, int]:
        """Queue a copy of a knowledge base, by name or id: documents, recipes, prompts, question
        sets, labels; no runs, members or conversations. Returns the copy and the job, of which
        there are both or none. Raises as ``create``."""
        source = self._look_up(base)
        queue = partial(Duplicate(source=source.id).queue, title=f"Copying {source.name}")
        return self._create_with_job(new, source.recipe(), queue, owner)

    def create_from_paths(
        self,
        name: str,
        paths: Sequence[Path],
        urls: Sequence[str],
        recipe: Recipe,
        encoding: str = "",
    ) -> tuple[KnowledgeBase, int]:
        """A new knowledge base and the job that reads files and pages into it: both, or none.

        Raises as ``create`` and ``Library.add_paths``.
        """
        with paths_brought_in(self._services.files, paths, urls, encoding) as reading:
            return self._create_with_job(name, recipe, reading.queue)

    def create_from_beir(
        self, name: str, folder: Path, split: str, recipe: Recipe
    ) -> tuple[KnowledgeBase, int]:
        """A new knowledge base and the job that imports a BEIR folder: both, or none.

        Raises as ``create`` and ``Library.import_beir``.
        """
        request = ImportBeir.checked(folder, split)
        return self._create_with_job(name, recipe, partial(request.queue, title=request.title))

    def _create_with_job(
        self,
        name: str,
        recipe: Recipe,
        queue: Callable[[Connection, int], int],
        owner: str = "",
    ) -> tuple[KnowledgeBase, int]:
        """A new base and its first job, which ``queue`` stores for its id, in one transaction."""
        name = _checked(name)
        self._services.models.require(recipe.index)
        with self._services.database.write() as connection:
            info = _create(connection, name, recipe, owner)
            job = queue(connection, info.id)
        self.jobs.wake()
        return self._knowledge_base(info), job

    def _look_up(self, base: str | int) -> KnowledgeBase:
        """A knowledge base by name, or by the id that it keeps. Raises NotFound."""
        return self.base(base) if isinstance(base, str) else self.base_with_id(base)

    def rename(self, base: str | int, new: str) -> None:
        """Give a knowledge base, by name or id, another name. Raises NotFound, InvalidInput,
        AlreadyExists."""
        info, new = self._look_up(base), _checked(new)
        self._services.database.execute(bases.rename, info.id, new)

    def delete(self, base: str | int) -> None:
        """Delete a knowledge base, by name or id, with documents, labels, runs and conversations.

        It is gone at once. The rows and files of a large one are deleted in portions after this
        returns; if the process is killed meanwhile, the next start continues.
        """
        info = self._look_up(base)
        self._services.database.execute(bases.remove, info.id)
        self._services.forget_build(info.id)
        self._services.deletion.start()

    def check(self, *, repair: bool = False) -> list[Problem]:
        """Compare the database with the files, indexes and maps of this home.

        ``repair`` removes what nothing refers to; safe while others work on the same home.
        """
        return maintenance.check(self._services, repair=repair)

    def compact(self) -> int:
        """Write the file of the database anew, and return the bytes that this freed.

        Raises InvalidInput for the database of a server, StorageError.
        """
        return self._services.database.compact()

    def not_ready(self) -> list[str]:
        """Return the reasons why this process cannot serve requests now; empty if it can."""
        return list(maintenance.obstacles(self._services))

    def back_up(self, target: Path, *, allow_empty: bool = False) -> Backup:
        """Write all of this home into one file, while it is in use.

        Raises StorageError, and InvalidInput for a home without a knowledge base, unless
        ``allow_empty``.
        """
        return back_up(self._services, target, allow_empty=allow_empty)

    def bundle(self, run_id: str, target: Path, *, with_documents: bool = False) -> None:
        """Write a run with its recipe, questions and results as a zip that can be repeated.

        Raises NotFound, InvalidInput where documents or questions changed since the run.
        """
        base = self.base_of_run(run_id)
        Packer(self._services, base.id).pack(run_id, target, with_documents=with_documents)

    def import_bundle(
        self,
        path: Path,
        name: str | None = None,
        documents: Path | None = None,
        on_progress: Callable[[int, int, str], None] = lambda _done, _total, _message: None,
    ) -> Reproduction:
        """Make a knowledge base from a bundle, measure again, and compare every figure.

        ``documents`` is a folder to look for documents that the bundle does not hold. When it
        fails, no knowledge base is left behind; it has its name only when all is in it, so that one
        whose import was killed is not taken for a whole one. Raises InvalidFile, InvalidInput,
        AlreadyExists, UnreadableDocument, ProviderError.
        """
        with opened(path) as bundle:
            final_name = _checked(name or bundle.results.knowledge_base)
            base = self.create(self._name_until_done(final_name), bundle.recipe)
            try:
                reproduction = Restorer(self._services, base.id, base.name, on_progress).restore(
                    bundle, documents
                )
                self.rename(base.id, final_name)
            except BaseException:
                self.delete(base.id)
                raise
        return replace(reproduction, base=final_name)

    def _name_until_done(self, wanted: str) -> str:
        """Return a temporary name for a base during its import. Raises AlreadyExists."""
        existing = {info.name for info in self.bases()}
        if wanted in existing:
            raise AlreadyExists(
                f"A knowledge base named {wanted!r} exists already.", "Choose another name."
            )
        names = (
            f"{wanted[:50]} (import not finished{f' {number}' if number > 1 else ''})"
            for number in itertools.count(1)
        )
        return next(name for name in names if name not in existing)

    def warm_up(self) -> None:
        """Searches once, so that the first visitor does not wait for a model and an index.

        Nothing that may cost money is asked: not the steps of the saved recipe, and no embedder
        that is paid, not even for the length of its vectors.
        """
        for info in self.bases():
            base = self.base_with_id(info.id)
            recipe = Recipe(index=base.recipe().index)
            if info.passages and not spending.costs(recipe, self.settings):
                base.search("warm-up", recipe)
                return

    def start_demo(self, name: str = SAMPLE, owner: str = "") -> tuple[KnowledgeBase, int]:
        """Queue the sample knowledge base with its questions; return it and the job.

        What is there already stays: the same file again is unchanged. With an ``owner`` it is a
        new one. Raises AlreadyExists.
        """
        if owner:
            return self._create_demo(name, owner)
        try:
            base = self.base(name)
        except NotFound:
            with suppress(AlreadyExists):  # another process was quicker
                return self._create_demo(name)
            base = self.base(name)
        return base, self.add_demo(base)

    def _create_demo(self, name: str, owner: str = "") -> tuple[KnowledgeBase, int]:
        """A new base and the job that fills it: both, or none. Raises as ``create``."""
        with (
            self._sample() as (uploads, questions),
            brought_in(self._services.files, uploads, questions) as reading,
        ):
            return self._create_with_job(name, Recipe(), reading.queue, owner)

    def add_demo(self, base: KnowledgeBase) -> int:
        """Queue the sample's documents and questions for a knowledge base; return the job."""
        with self._sample() as (uploads, questions):
            return base.documents.add_files(uploads, questions)

    @contextmanager
    def _sample(self) -> Iterator[tuple[list[Upload], Questions]]:
        """The sample's documents and questions, open. Its vectors are stored already, so that it
        answers soon."""
        if SAMPLE_VECTORS.exists():
            import_vectors(self._services.database, SAMPLE_VECTORS)
        with ExitStack() as stack:
            uploads = [
                Upload(path.name, stack.enter_context(path.open("rb")))
                for path in sorted(SAMPLE_FOLDER.iterdir())
                if path.is_file() and path.name != SAMPLE_QUESTIONS
            ]
            questions = stack.enter_context((SAMPLE_FOLDER / SAMPLE_QUESTIONS).open("rb"))
            yield uploads, (SAMPLE, SAMPLE_QUESTIONS, questions)

    def welcome(self) -> None:
        """Queue the sample at the first start, so that there is something to ask at once."""
        if not self.bases():
            self.start_demo()

    def statuses(self) -> list[providers.ProviderStatus]:
        """Providers with what they offer, and which keys were found."""
        return providers.statuses(self.settings)

    def local_servers(self) -> list[providers.LocalServer]:
        """Return the model servers of this computer; none where TOUCHSTONE_FIND_MODELS is off."""
        return self._services.models.local_servers()

    def language_models(self) -> Sequence[ModelFacts]:
        """Return what was learned of language models by asking them."""
        return self._services.models.learned()

    def try_again(self, model: ModelName) -> None:
        """Drop what was learned of a language model: the next answer tries it anew."""
        self._services.models.forget(model)

    def check_provider(self, name: str) -> str:
        """Make a tiny real call; return what was seen. Raises ProviderError."""
        return providers.check(name, self.settings)

    def index_bytes(self) -> int:
        """About how much memory the search indexes of this process take."""
        return self._services.indexes.bytes

    def close(self) -> None:
        """Stop the worker; its job resumes at the next start."""
        self.jobs.close()
        self._services.deletion.stop()
        self.access.tokens.store_uses()
        self._services.models.close()
        self._services.database.close()


def do_job() -> None:
    """Do the job that the process which started this one has claimed, or share in it."""
    telemetry.write_log_lines("rag")
    request = runner.read_task(sys.stdin.buffer)
    try:
        with patient():
            workspace = Workspace(Settings.from_json(request["settings"]))
            if "share" in request:
                share(workspace._services, request["share"], request["owner"])
            else:
                workspace.jobs.work_for(request["owner"], request["do"])
            workspace.close()
    except DatabaseBusy as error:
        log.warning("The process of a job ends: %s %s", error.message, error.hint)
        sys.exit(runner.BUSY)


def _checked(name: str) -> str:
    name = name.strip()
    if not name or len(name) > 80 or not name.isprintable():
        raise InvalidInput("A knowledge base needs a name of 1 to 80 characters.")
    return name


def _create(connection: Connection, name: str, recipe: Recipe, owner: str) -> Base:
    """A new base with the build of its recipe, of the person with the id ``owner``, if any. Raises
    AlreadyExists."""
    base = bases.create(connection, name, recipe)
    builds.ensure(connection, base.id, recipe.index)
    if owner:
        people.join(connection, base.id, owner, "owner")
    return base
