"""Looks of the drift watch of one knowledge base, in the background and kept."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import TypeAdapter

from rag.errors import InvalidInput, ProviderError, TouchstoneError
from rag.jobs import JobRow, Jobs, Reporter
from rag.network.posting import post_json
from rag.operation import ALL, operation
from rag.recipe import Recipe
from rag.runs.evaluator import Evaluator
from rag.search.tools import refuse_tools
from rag.services import Services
from rag.storage import bases
from rag.storage import questions as question_rows
from rag.storage.quality import watch_looks
from rag.storage.quality.watch_looks import WatchLookRow
from rag.types import ProgressCallback
from rag.watch.observing import observe
from rag.watch.report import WatchReport

JOB = "watch"
SHOWN = 50
"""Look that are listed."""
REMEMBERED = 1000
"""Looks back to the reference whose tests share one alpha."""
_ALARMING = ("drifted", "incomparable")
_STORED = TypeAdapter(WatchReport)


@dataclass(frozen=True, slots=True)
class WatchLook:
    """A stored look."""

    id: str
    created: datetime
    report: WatchReport


class Watches:
    """The drift watch of one knowledge base."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._jobs = jobs
        self._base_id = base_id

    @operation("editor", audit="evaluation", audited_arguments=ALL)
    def start(self, set_name: str, recipe: Recipe, *, reset: bool = False) -> int:
        """Queue a look; return the job, also where one is queued already.

        The first look at a set is the reference of the next ones, and one with ``reset`` becomes
        it. Raises NotFound, InvalidInput for a set without labels.
        """
        refuse_tools(recipe.search)
        Evaluator(self._services, self._base_id).questions(set_name)
        payload = {
            "set": set_name,
            "recipe": recipe.model_dump(mode="json"),
            "reset": reset,
            "look": uuid.uuid4().hex[:12],
        }
        about = {"set": set_name, "recipe": recipe.hash, "reset": str(reset)}
        title = f"Looking at {set_name}"
        return self._jobs.submit_once(self._base_id, JOB, title, about, payload)

    @operation("viewer", models="none")
    def latest(self, set_name: str, recipe: Recipe) -> JobRow | None:
        """The last look with a recipe as a job, at work or over."""
        rows = [
            self._jobs.latest(
                self._base_id,
                JOB,
                {"set": set_name, "recipe": recipe.hash, "reset": str(reset)},
            )
            for reset in (False, True)
        ]
        return max((row for row in rows if row), key=lambda row: row.id, default=None)

    @operation("viewer")
    def looks(self, set_name: str, limit: int = SHOWN) -> list[WatchLook]:
        """The looks at a set, newest first. Raises NotFound."""
        with self._services.database.read() as connection:
            set_id = question_rows.get_question_set(connection, self._base_id, set_name).id
            rows = watch_looks.newest(connection, set_id, limit)
        return [_look(row) for row in rows]

    @operation("viewer")
    def look_of(self, job: int) -> WatchLook:
        """The look of a finished job. Raises NotFound, InvalidInput for another job."""
        row = self._jobs.get(job)
        if (row.base_id, row.kind) != (self._base_id, JOB):
            raise InvalidInput("This job is no look.", "Name a job of kind watch.")
        with self._services.database.read() as connection:
            stored = watch_looks.find(connection, str(row.payload["look"]))
        if stored is None:
            raise InvalidInput("This look is not finished.", "Wait until the job is done.")
        return _look(stored)


def watch(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "watch"; a look that is stored already is only reported again."""
    with services.database.read() as connection:
        stored = watch_looks.find(connection, str(job.payload["look"]))
    if stored is None:

        def on_progress(done: int, total: int) -> None:
            reporter.report(done, total, f"{done:,} of {total:,} questions")

        try:
            stored = _looked(services, job, on_progress)
        except ProviderError as error:
            error.message += _notify(services, job, "failed", error.message, ())
            raise
    report = _look(stored).report
    if report.outcome not in _ALARMING:
        return report.headline
    sentences = (*report.findings, *report.obstacles)
    return report.headline + _notify(services, job, report.outcome, report.headline, sentences)


def _looked(services: Services, job: JobRow, on_progress: ProgressCallback) -> WatchLookRow:
    """Look, and store the look."""
    payload, base_id = job.payload, job.base_id
    set_name, database = str(payload["set"]), services.database
    with database.read() as connection:
        set_id = question_rows.get_question_set(connection, base_id, set_name).id
        stored = watch_looks.reference(connection, set_id)
        reference = None if payload["reset"] else stored
        earlier = watch_looks.newest(connection, set_id, REMEMBERED) if reference else []
    observation = observe(
        services,
        base_id,
        set_name,
        Recipe.parse(payload["recipe"]),
        None if reference is None else reference.state,
        list(_since_reference(earlier)),
        on_progress,
    )
    row = WatchLookRow(
        str(payload["look"]),
        datetime.now(UTC),
        reference is None,
        _STORED.dump_python(observation.report, mode="json"),
        observation.state if reference is None else {},
    )
    with database.write() as connection:
        bases.hold(connection, base_id)
        now = question_rows.get_question_set(connection, base_id, set_name).id
        latest = watch_looks.reference(connection, set_id)
        if now != set_id or (latest and latest.id) != (stored and stored.id):
            raise InvalidInput(
                f"The question set {set_name!r} or its reference was replaced meanwhile.",
                "Look again.",
            )
        watch_looks.add(connection, set_id, row)
    return row


def _since_reference(rows: Sequence[WatchLookRow]) -> Iterator[WatchReport]:
    """Yield the reports of ``rows``, newest first, down to the reference."""
    for row in rows:
        yield _look(row).report
        if row.is_reference:
            return


def _look(row: WatchLookRow) -> WatchLook:
    return WatchLook(row.id, row.created, _STORED.validate_python(row.report))


def _notify(
    services: Services, job: JobRow, outcome: str, headline: str, sentences: Sequence[str]
) -> str:
    """Send an alarm to the webhook, if one is set; return why it was not received, else ""."""
    settings = services.settings
    if not settings.watch_webhook:
        return ""
    with services.database.read() as connection:
        name = bases.by_id(connection, job.base_id).name
    content = {
        "event": "drift-watch",
        "knowledge_base": name,
        "set": job.payload["set"],
        "look": job.payload["look"],
        "outcome": outcome,
        "headline": headline,
        "sentences": list(sentences),
    }
    try:
        post_json(settings.watch_webhook, content, allow_private=settings.allow_private_urls)
    except TouchstoneError as error:
        return f" The webhook did not receive this: {error.message}"
    return ""
