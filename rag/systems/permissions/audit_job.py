"""Permission audits of one knowledge base, in the background and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pydantic import TypeAdapter

from rag.errors import InvalidInput, NotAllowed, NotFound
from rag.input_rules import storable
from rag.jobs import JobRow, Jobs, Reporter
from rag.operation import operation
from rag.recipe import Recipe
from rag.search.tools import refuse_tools
from rag.services import Services
from rag.storage import Connection, bases, documents
from rag.storage import questions as question_rows
from rag.systems.alignment import AlignedText
from rag.systems.endpoints import HttpSystem
from rag.systems.measuring import Locator
from rag.systems.permissions.auditing import RANK, Findings, Places, UserSearch, audit
from rag.systems.permissions.canaries import Canaries
from rag.systems.permissions.matrix import AccessMatrix, matrix_template
from rag.systems.permissions.report import Leak, PermissionReport
from rag.systems.registry import Systems, ask_once
from rag.systems.returned import Returned, ReturnedText
from rag.types import Hit, Question, Trace

JOB = "audit-permissions"
PROBES = 50
"""Restricted documents whose own words are asked as questions."""
MOST_PROBES = 1000
_PROBE = 200  # characters of such a question
_AROUND = 2000  # characters of the middle of a document that it is taken from
_PLACE = "place"  # the metadata of a result of a recipe

_STORED = TypeAdapter(PermissionReport)


class Searching(Protocol):
    """A knowledge base that is searched with a recipe."""

    def search(self, question: str, recipe: Recipe) -> Trace: ...


Opened = Callable[[int], Searching]


class PermissionAudits:
    """The permission audits of one knowledge base; the last one of each source is kept.

    ``may_name_keys`` says whether requests of users may name environment variables of the server.
    """

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._jobs = jobs
        self._base_id = base_id
        self._systems = Systems(services, base_id)
        self.may_name_keys = True

    @operation("editor", audit="evaluation")
    def start(
        self,
        matrix: AccessMatrix,
        recipe: Recipe | None = None,
        system: str = "",
        set_name: str = "",
        probes: int = PROBES,
    ) -> int:
        """Queue an audit of a recipe or of a stored system; return the job.

        Each user of the matrix asks the questions of the set (without one, of none), the words of
        each canary, and a sentence of up to ``probes`` restricted documents. Raises NotFound,
        InvalidInput where nothing is hidden from anybody or the matrix doesn't cover a document,
        NotAllowed for keys of the server.
        """
        if (recipe is None) == (not system):
            raise InvalidInput("Audit either a recipe or a system.", "Name one of them.")
        if not 0 <= probes <= MOST_PROBES:
            raise InvalidInput(f"An audit has 0 to {MOST_PROBES:,} probes.")
        with self._services.database.read() as connection:
            readers = _readers(connection, self._base_id, matrix)
            if set_name:
                question_rows.get_question_set(connection, self._base_id, set_name)
        hidden = any(len(names) < len(matrix.users) for names in readers.values())
        if not hidden and all(canary.users == "*" for canary in matrix.canaries):
            raise InvalidInput(
                "Every user may see every document, so there is nothing to audit.",
                "Hide a document from a user, or add a canary passage.",
            )
        payload: dict[str, Any] = {
            "matrix": matrix.model_dump(mode="json"),
            "set": set_name,
            "probes": probes,
        }
        if recipe is not None:
            refuse_tools(recipe.search)
            for user in matrix.users:
                matrix.recipe_of(user, recipe)
            payload["recipe"] = recipe.model_dump(mode="json")
            title = "Auditing permissions of the recipe"
        else:
            stored = self._systems.get(system)
            self._check_requests(stored.definition, matrix)
            payload["definition"] = stored.definition.model_dump(mode="json")
            payload["version"] = stored.version
            title = f"Auditing permissions of {system}"
        digest = hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()
        about = {"source": _source(system), "work": digest}
        return self._jobs.submit_once(self._base_id, JOB, title, about, payload)

    def _check_requests(self, system: HttpSystem, matrix: AccessMatrix) -> None:
        """Check what is sent for each user. Raises InvalidInput, NotAllowed."""
        for user in matrix.users:
            variables = system.as_user(matrix.fields_of(user)).variables
            added = [name for name in variables if name not in system.variables]
            if added and not self.may_name_keys:
                raise NotAllowed(
                    f"Only an administrator may send {', '.join(added)}, which is a key of the "
                    "server.",
                    "Ask one to start the audit.",
                )

    @operation("editor", models="none")
    def latest(self, system: str = "") -> JobRow | None:
        """The last audit of a system, else of a recipe, at work or over."""
        return self._jobs.latest(self._base_id, JOB, {"source": _source(system)})

    @operation("editor", models="none")
    def result(self, system: str = "") -> PermissionReport | None:
        """The result of the last finished audit of a system, else of a recipe."""
        stored = self._jobs.result(self._base_id, JOB, {"source": _source(system)})
        return None if stored is None else _STORED.validate_python(stored)

    @operation("editor", models="none")
    def result_of(self, job: int) -> PermissionReport:
        """The result of an audit. Raises NotFound if it isn't finished."""
        row = self._jobs.get(job)
        work = (
            row.payload.get("about", {}) if (row.base_id, row.kind) == (self._base_id, JOB) else {}
        )
        stored = self._jobs.result(self._base_id, JOB, work) if work else None
        if stored is None or row.status != "done":
            raise NotFound("This audit has no result.", "Wait until it is done, or start another.")
        return _STORED.validate_python(stored)

    @operation("editor", models="none")
    def is_current(self, report: PermissionReport) -> bool:
        """Whether the documents and their tags are those that an audit saw."""
        with self._services.database.read() as connection:
            return report.state == _state(connection, self._base_id)

    @operation("editor", models="none")
    def template(self) -> str:
        """An access matrix as CSV with a row for each document, to be filled in."""
        with self._services.database.read() as connection:
            names = sorted(documents.ids_by_name(connection, self._base_id))
        return matrix_template(names)


def audit_permissions(services: Services, opened: Opened, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "audit-permissions"; taken up again, it starts over."""
    payload, base_id = job.payload, job.base_id
    matrix = AccessMatrix.parse(payload["matrix"])
    canaries = Canaries(matrix.canaries)
    with services.database.read() as connection:
        readers = _readers(connection, base_id, matrix)
        state = _state(connection, base_id)
        restricted = {name for name, users in readers.items() if len(users) < len(matrix.users)}
        set_name = str(payload["set"])
        questions = list(_questions(connection, base_id, set_name, matrix))
        chosen = _spread(sorted(restricted), int(payload["probes"]))
        questions += [_probe(connection, base_id, name) for name in chosen]
    questions = [item for item in questions if item.text.strip()]
    if not questions:
        raise InvalidInput(
            "There is no question to ask.", "Name a question set, or probe documents."
        )

    def on_progress(done: int, total: int) -> None:
        reporter.report(done, total, f"{done:,} of {total:,} questions asked")

    places: Places
    if "recipe" in payload:
        recipe = Recipe.parse(payload["recipe"])
        # An index that lacks documents has too few leaks.
        services.indexes.complete(base_id, recipe.index)
        source = f"recipe {recipe.hash}"
        searches, places = _of_recipe(opened(base_id), matrix, recipe), _own_places
    else:
        system = HttpSystem.parse(payload["definition"])
        source = f"system {system.name}, version {payload['version']}"
        searches, places = _of_system(services, matrix, system), Locator(services, base_id).places
    findings = audit(searches, questions, readers, canaries, places, on_progress)
    with services.database.read() as connection:
        listed = tuple(_with_place(connection, base_id, findings))
    report = PermissionReport(
        source=source,
        question_set=set_name,
        questions=len(questions),
        documents=len(readers),
        restricted=len(restricted),
        reached=len(findings.reached & restricted),
        canaries=len(canaries),
        canaries_reached=len(findings.canaries),
        results=findings.results,
        unlocated=findings.unlocated,
        leaks=findings.leak_count,
        listed=listed,
        users=tuple(findings.tallies[user] for user in matrix.users),
        state=state,
    )
    reporter.result = _STORED.dump_python(report, mode="json")
    return report.headline


def _source(system: str) -> str:
    return f"system {system}" if system else "recipe"


def _readers(
    connection: Connection, base_id: int, matrix: AccessMatrix
) -> dict[str, frozenset[str]]:
    rows = [
        {
            "id": row.id,
            "name": row.name,
            "type": row.media_type,
            "tags": list(row.tags),
            "day": row.day,
        }
        for row in documents.traits(connection, base_id)
    ]
    if not rows:
        raise InvalidInput("This knowledge base has no documents.", "Add documents first.")
    return matrix.readers(rows)


def _state(connection: Connection, base_id: int) -> str:
    """Name the documents with their tags."""
    rows = sorted((row.id, row.tags) for row in documents.traits(connection, base_id))
    text = repr((bases.version(connection, base_id), rows))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _questions(
    connection: Connection, base_id: int, set_name: str, matrix: AccessMatrix
) -> Iterator[Question]:
    if set_name:
        set_id = question_rows.get_question_set(connection, base_id, set_name).id
        for item in question_rows.list_labelled_questions(connection, set_id):
            if item.state == "accepted":
                yield Question(f"question {item.id}", item.text)
    for number, canary in enumerate(matrix.canaries):
        yield Question(f"canary {number}", canary.text)


def _spread(names: Sequence[str], most: int) -> list[str]:
    """Return at most so many names, evenly from all of them."""
    count = min(most, len(names))
    return [names[place * len(names) // count] for place in range(count)]


def _probe(connection: Connection, base_id: int, document_id: str) -> Question:
    """A question with the longest line in the middle of a document."""
    middle = max(documents.characters(connection, base_id, document_id) // 2 - _AROUND // 2, 0)
    words = documents.stretch(connection, base_id, document_id, middle, middle + _AROUND)
    longest = max(words.splitlines(), key=len, default="").strip(" #*|-\t")
    text = longest[:_PROBE].rpartition(" ")[0] if len(longest) > _PROBE else longest
    return Question(f"document {document_id}", storable(text or longest[:_PROBE]))


def _of_recipe(base: Searching, matrix: AccessMatrix, recipe: Recipe) -> list[UserSearch]:
    by_hash = dict[str, tuple[Recipe, list[str]]]()
    for user in matrix.users:
        own = matrix.recipe_of(user, recipe)
        by_hash.setdefault(own.hash, (own, []))[1].append(user)

    def search(own: Recipe) -> Callable[[str], Returned]:
        return lambda question: Returned(question, tuple(_results(base.search(question, own))))

    return [UserSearch(tuple(names), search(own)) for own, names in by_hash.values()]


def _results(trace: Trace) -> Iterator[ReturnedText]:
    """The passages of a trace, and what the prompt has in their place where that is wider."""
    shown = {(hit.chunk.start, hit.chunk.text) for hit in trace.hits}
    wider = [hit for hit in trace.context if (hit.chunk.start, hit.chunk.text) not in shown]
    return map(_result, (*trace.hits, *wider))


def _result(hit: Hit) -> ReturnedText:
    chunk = hit.chunk
    place = AlignedText(chunk.document_id, chunk.start, chunk.end, "exact", 1.0)
    text = chunk.indexed_text
    return ReturnedText(text, hit.score, chunk.id, hit.document, {_PLACE: place, RANK: hit.rank})


def _own_places(text: ReturnedText) -> list[AlignedText]:
    return [text.metadata[_PLACE]]


def _of_system(services: Services, matrix: AccessMatrix, system: HttpSystem) -> list[UserSearch]:
    by_request = dict[str, tuple[HttpSystem, list[str]]]()
    for user in matrix.users:
        own = system.as_user(matrix.fields_of(user))
        by_request.setdefault(own.model_dump_json(), (own, []))[1].append(user)

    def search(own: HttpSystem) -> Callable[[str], Returned]:
        return lambda question: ask_once(services, own, question)

    return [UserSearch(tuple(names), search(own)) for own, names in by_request.values()]


def _with_place(connection: Connection, base_id: int, findings: Findings) -> Iterator[Leak]:
    outlines = dict[str, Any]()
    for leak, place in findings.leaks:
        if place is None:
            yield leak
            continue
        if place.document_id not in outlines:
            exists = documents.exists(connection, base_id, place.document_id) is not None
            outlines[place.document_id] = (
                documents.outline(connection, base_id, place.document_id) if exists else None
            )
        outline = outlines[place.document_id]
        if outline is None:  # deleted meanwhile
            yield leak
        else:
            yield replace(leak, document=outline.name, page=outline.page_at(place.start))
