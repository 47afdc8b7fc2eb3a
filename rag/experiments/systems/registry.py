"""The systems of a knowledge base: stored, listed, tried and removed.

Two need no index: lines that grep finds, and documents as a whole. An agent can read the folder
itself, and these two say what that is worth on one's own documents.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pydantic import Field

from rag.answering.words import content_words
from rag.errors import NotAllowed, NotFound
from rag.experiments.runs.evaluator import deepened
from rag.experiments.systems.alignment import Method
from rag.experiments.systems.endpoints import HttpSystem, ask
from rag.experiments.systems.formats.tables import Returned, ReturnedText
from rag.experiments.systems.mcp_endpoints import ask_mcp, started
from rag.experiments.systems.measuring import Locator
from rag.operation import ALL, operation
from rag.retrieval import retrieve
from rag.search.corpus import check_question
from rag.search.snapshot import take_complete_snapshot
from rag.services.services import Services
from rag.storage import bases, documents, registries
from rag.types.results import SystemSource
from rag.types.schema import Schema, Timestamp

_AROUND = 2  # lines before and after a line, as `grep -C 2` prints them
_DEPTH = 100  # passages whose documents are returned


def local_search(services: Services, base_id: int, system: HttpSystem) -> Callable[[str], Returned]:
    """Return a function that searches a knowledge base for a question in the form of a system.

    ``grep`` looks for the words of the question, whatever their case, and ranks lines by how many
    different ones stand in them or two lines around. ``documents`` returns the documents of the
    saved recipe's passages, each as a whole.
    """
    if system.form == "documents":
        return _documents(services, base_id, system.most)
    with services.database.read() as connection:
        rows = documents.list_documents(connection, base_id)
        texts = [(row.id, row.name, documents.text(connection, base_id, row.id)) for row in rows]

    def search(question: str) -> Returned:
        words = sorted(content_words(question))
        hits = [
            (-count, place, start, ReturnedText(text, float(count), document_id, name))
            for place, (document_id, name, whole) in enumerate(texts)
            for start, count, text in _windows(whole, words)
        ]
        hits.sort(key=lambda hit: hit[:3])
        return Returned(question, tuple(hit[3] for hit in hits[: system.most]))

    return search


def _windows(text: str, words: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return (first line, number of words, text) of the lines around those with a word.

    Where they overlap, the one with the most words stays.
    """
    folded = text.casefold()
    words = [word for word in words if word in folded]
    if not words:
        return []
    lines, lower = text.splitlines(), folded.splitlines()
    present = [{word for word in words if word in line} for line in lower]
    counts = [
        (len(set[str]().union(*present[max(0, at - _AROUND) : at + _AROUND + 1])), at)
        for at in range(len(lines))
        if at < len(present) and present[at]
    ]
    taken, windows = set[int](), list[tuple[int, int, str]]()
    for count, at in sorted(counts, key=lambda item: (-item[0], item[1])):
        window = range(max(0, at - _AROUND), min(len(lines), at + _AROUND + 1))
        if taken.isdisjoint(window):
            taken.update(window)
            windows.append((at, count, "\n".join(lines[window.start : window.stop])))
    return windows


def _documents(services: Services, base_id: int, most: int) -> Callable[[str], Returned]:
    recipe = services.database.fetch(bases.by_id, base_id).recipe
    recipe = recipe.model_copy(update={"search": deepened(recipe.search, _DEPTH)})
    snapshot = take_complete_snapshot(services, base_id, recipe)
    corpus, threshold = snapshot.corpus(), snapshot.threshold_rule.threshold

    def search(question: str) -> Returned:
        hits = retrieve(question, recipe, corpus, threshold).hits
        names = dict.fromkeys((hit.chunk.document_id, hit.document) for hit in hits)
        texts = [ReturnedText("", id=key, title=name) for key, name in list(names)[:most]]
        return Returned(question, tuple(texts))

    return search


class SystemData(Schema):
    """The newest version of a system. Headers name environment variables, never their values."""

    name: str
    version: int
    hash: str = Field(description="SHA-256 of the definition")
    definition: HttpSystem
    created: Timestamp
    unset: tuple[str, ...] = Field(
        description="environment variables that it needs and that are not set"
    )

    @property
    def source(self) -> SystemSource:
        """The source that its runs name."""
        return SystemSource("http", self.name, self.hash, self.version)


class TriedResultData(Schema):
    """A result of a trial; `document` is empty and `place` null where no document contains it."""

    rank: int
    text: str
    score: float | None
    title: str
    located: Method = Field(description="how it was located in the documents")
    document: str
    page: int | None
    place: tuple[int, int] | None = Field(description="start and end in the text of the document")


class SystemTrialData(Schema):
    """The located results of one question."""

    question: str
    located: int = Field(description="results that a document contains")
    seconds: float
    results: tuple[TriedResultData, ...]


class Systems:
    """The systems of one knowledge base.

    ``may_name_keys`` says whether definitions may name environment variables of the server: a
    definition decides where their values go. ``may_run_commands`` says whether systems may run that
    are commands of the server.
    """

    def __init__(
        self,
        services: Services,
        base_id: int,
        *,
        may_name_keys: bool = True,
        may_run_commands: bool = True,
    ) -> None:
        self._services = services
        self._base_id = base_id
        self._may_name_keys = may_name_keys
        self._may_run_commands = may_run_commands

    @operation("viewer")
    def list_all(self) -> list[SystemData]:
        """The newest version of each system, by name."""
        rows = self._services.database.fetch(registries.newest_systems, self._base_id)
        systems = []
        for row in rows:
            definition = HttpSystem.parse(row.definition)
            variables = self._services.settings.tool_variables
            unset = tuple(name for name in definition.variables if name not in variables)
            systems.append(SystemData.of(row, definition=definition, unset=unset))
        return systems

    @operation("viewer")
    def get(self, name: str) -> SystemData:
        """Return a system. Raises NotFound, with the names of the others."""
        by_name = {item.name: item for item in self.list_all()}
        if name not in by_name:
            names = ", ".join(by_name) or "none yet"
            raise NotFound(f"There is no system named {name!r}.", f"There are: {names}.")
        return by_name[name]

    @operation("editor", audit="tools")
    def add(self, system: HttpSystem) -> SystemData:
        """Store a system; another definition of a stored one becomes its next version.

        Raises NotAllowed for keys of the server that may not be named.
        """
        self._check_keys(system)
        definition = system.model_dump(mode="json")
        hashed = {k: v for k, v in definition.items() if k not in _LATER or v != _LATER[k]}
        self._services.database.execute(
            registries.add_system,
            self._base_id,
            system.name,
            hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest(),
            definition,
        )
        return self.get(system.name)

    @operation("editor", audit="tools", audited_arguments=ALL)
    def remove(self, name: str) -> None:
        """Delete a system with its versions; its runs stay. Raises NotFound."""
        self.get(name)
        self._services.database.execute(registries.remove_system, self._base_id, name)

    @operation("editor", audit="tools")
    def test(self, name: str, question: str) -> SystemTrialData:
        """Ask a stored system one question, and locate its results.

        Raises NotFound, BlockedAddress, ProviderError, InvalidInput for no question.
        """
        return self._tried(self.runnable(name).definition, question)

    @operation("editor", audit="tools")
    def test_definition(self, system: HttpSystem, question: str) -> SystemTrialData:
        """Ask a system that is not stored one question. Raises as ``test``, and NotAllowed."""
        self._check_keys(system)
        return self._tried(system, question)

    @operation("viewer")
    def runnable(self, name: str) -> SystemData:
        """Return a system that may be asked. Raises NotFound, NotAllowed."""
        stored = self.get(name)
        self._check_command(stored.definition)
        return stored

    def _check_command(self, system: HttpSystem) -> None:
        if system.command and not self._may_run_commands:
            raise NotAllowed(
                f"{system.name} is a command of the server, which only an administrator may run.",
                "Ask one, use the command line, or a token of an administrator with the scope "
                "admin.",
            )

    def _check_keys(self, system: HttpSystem) -> None:
        self._check_command(system)
        if system.variables and not self._may_name_keys:
            raise NotAllowed(
                f"Only an administrator may send {', '.join(system.variables)}, which is a key of "
                "the server.",
                "Ask one to add the system.",
            )

    def _tried(self, system: HttpSystem, question: str) -> SystemTrialData:
        question, started = check_question(question), time.perf_counter()
        with asking(self._services, self._base_id, system) as ask_system:
            returned = ask_system(question)
        seconds = time.perf_counter() - started
        locator = Locator(self._services, self._base_id)
        # Before the connection: the locator opens its own.
        places = [locator.locate(text) for text in returned.texts]
        results = []
        with self._services.database.read() as connection:
            for rank, (text, place) in enumerate(zip(returned.texts, places, strict=True), start=1):
                outline = (
                    documents.outline(connection, self._base_id, place.document_id)
                    if place.document_id
                    else None
                )
                results.append(
                    TriedResultData(
                        rank=rank,
                        text=text.text,
                        score=text.score,
                        title=text.title,
                        located=place.method,
                        document=outline.name if outline else "",
                        page=outline.page_at(place.start) if outline else None,
                        place=(place.start, place.end) if outline else None,
                    )
                )
        return SystemTrialData(
            question=question,
            located=sum(result.place is not None for result in results),
            seconds=seconds,
            results=tuple(results),
        )


@contextmanager
def asking(
    services: Services, base_id: int, system: HttpSystem
) -> Iterator[Callable[[str], Returned]]:
    """Yield a function that asks a system one question; a command runs meanwhile.

    It raises BlockedAddress, ProviderError.
    """
    settings = services.settings
    if system.protocol == "local":
        yield local_search(services, base_id, system)
        return
    if system.command:
        with started(system, settings.tool_variables, settings.command_variables) as session:
            yield session.ask
        return
    call = ask_mcp if system.protocol == "mcp" else ask

    def asked(question: str) -> Returned:
        return call(
            system, question, settings.tool_variables, allow_private=settings.allow_private_urls
        )

    yield asked


_LATER: Mapping[str, object] = {
    "protocol": "http",
    "command": "",
    "env": {},
    "tool": "search",
    "fetch": "fetch",
    "fetch_argument": "id",
    "recognised": False,
}
"""Fields that came later, with what they were before: the hash of a definition omits these."""
