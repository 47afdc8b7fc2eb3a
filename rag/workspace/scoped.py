"""The workspace as one person, program or guest sees it: the one place that decides who may.

Pages, REST and MCP all ask this one. What somebody may not see is not there; what may be seen and
not be done is refused. The command line works with the workspace itself: the person who
runs it has the files, and with them everything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any

from rag.access.audit import audit_actor
from rag.access.people import People, Person
from rag.access.roles import GUEST, reaches
from rag.errors import InvalidInput, NotAllowed, NotFound
from rag.operation import ADMINISTRATOR, Operation, guarded_copy
from rag.providers import LocalServer, ProviderStatus
from rag.recipe import Recipe
from rag.retrieval.caches import CacheFigures
from rag.search.federation import FurtherBase
from rag.settings import Settings
from rag.storage.access.audit import AuditEntry, AuditLine
from rag.storage.access.tokens import TokenRow
from rag.storage.conversations import LOCAL, SessionOwner
from rag.storage.registries import ModelFacts, ModelName
from rag.workspace import spending
from rag.workspace.authorization import (
    ASK,
    WHOLE_BASE,
    Authorization,
    Principal,
    Role,
    ScopedJobs,
    refusal,
)
from rag.workspace.knowledge_base import FederatedBase, KnowledgeBase, Limits
from rag.workspace.workspace import SAMPLE, BaseOverview, KnowledgeBaseData, Workspace

_OF_RUNS = frozenset(["runs"])
"""The part that reads runs, which a link to one tour does not show."""
_SEARCHES = ("search", "ask")  # the audited kinds of operations that search
_SAVES = (
    "recipes.save",
    "recipes.save_and_build",
    "save_recipe",  # this one and the next are in logs of version 1.0.0
    "save_and_build",
    "tuning.embedder_switch.switch",  # those of version 0.1.0
    "tuning.migrations.switch",
)
"""The audited operations that save a recipe."""
_LET_IN_SECONDS = 1.0  # how late it is noticed that a token was revoked


class ScopedWorkspace:
    """A view of the workspace with the permissions of a principal."""

    def __init__(
        self, workspace: Workspace, principal: Principal, visitor: SessionOwner = LOCAL
    ) -> None:
        """``visitor`` is whose conversations there are; a person has those of the person."""
        self._workspace = workspace
        self._visitor = principal.visitor(visitor)
        self._let_in = monotonic()
        self.principal = principal
        tour = None if principal.link is None else principal.link.tour_id
        self._limits = Limits(
            tour,
            principal.administrator,
            self._require_frugal,
            may_run_commands=principal.may_run_commands,
        )
        self.settings: Settings = workspace.settings
        self.jobs = ScopedJobs(workspace.jobs, self.role_in, self.note)
        self.tools = guarded_copy(workspace.tools, self._call_tools)

    def role_in(self, base_id: int) -> str | None:
        """The principal's role in a knowledge base; None for a stranger.

        Raises NotAllowed for an expired token.
        """
        principal = self.principal
        self._check_token()
        if principal.link is not None:
            is_shared = principal.link.base_id == base_id and self._workspace.access.shows(
                principal.link
            )
            return GUEST if is_shared else None
        if principal.local:
            return "owner"
        return self._workspace.access.people.role_in(base_id, principal.person.id)

    def _check_token(self) -> None:
        token = self.principal.token
        if token is None or (token.valid and monotonic() - self._let_in < _LET_IN_SECONDS):
            return
        if not self._workspace.access.tokens.still_valid(token):
            raise NotAllowed("This token has expired or was revoked.", "Use another one.")
        self._let_in = monotonic()

    def refusal(self, base_id: int, path: str) -> str:
        """Return the reason why the principal may not do ``path`` in a knowledge base, or "".

        ``path`` is that of an operation, such as ``documents.build``, or in ``WHOLE_BASE``.
        """
        role, least = self.role_in(base_id) or GUEST, self._required_role(path)
        return "" if reaches(role, least) else f"{refusal(role, least)} {ASK}"

    def note(self, kind: str, action: str, detail: str = "", base: Any = None) -> None:
        """Keep something in the audit log; ``base`` has ``id`` and ``name``."""
        principal = self.principal
        entry = AuditEntry(
            at=datetime.now(UTC),
            person_id=principal.person.id,
            via=principal.via,
            key_id=principal.key_id,
            base_id=base and base.id,
            base=base.name if base else "",
            kind=kind,
            action=action,
            detail=detail,
        )
        self._workspace.access.audit.note(entry)

    def bases(self) -> list[KnowledgeBaseData]:
        """The knowledge bases that may be seen, by name."""
        return self._workspace.bases(self._ids())

    def overview(self) -> list[BaseOverview]:
        """The same with what was measured of each."""
        return self._workspace.overview(self._ids())

    def base(self, name: str) -> KnowledgeBase:
        """A knowledge base by name, with what may be done in it. Raises NotFound."""
        try:
            return self._allowed(self._workspace.base(name, self._visitor, self._limits))
        except NotFound as error:
            if self.principal.local:
                raise
            names = ", ".join(info.name for info in self.bases()) or "none yet"
            message = f"There is no knowledge base named {name!r}."
            raise NotFound(message, f"There are: {names}.") from error

    def base_with_id(self, base_id: int) -> KnowledgeBase:
        """The same by the id that it keeps when it is renamed. Raises NotFound."""
        return self._allowed(self._workspace.base_with_id(base_id, self._visitor, self._limits))

    def _allowed(self, base: KnowledgeBase) -> KnowledgeBase:
        """A base with what the principal may do in it. Raises NotFound for a stranger's."""
        if self.role_in(base.id) is None:
            raise NotFound("The knowledge base is gone.", "Someone deleted it; choose another.")

        def note(kind: str, action: str, detail: str) -> None:
            if not self._trusted:
                self.note(kind, action, detail, base)

        role = partial(self.role_in, base.id)
        use = partial(self._check_use, role, base.recipe)
        link = self.principal.link
        hidden = _OF_RUNS if link is not None and link.tour_id is not None else ()
        guard = Authorization(base.id, role, note, use, hidden_parts=hidden)
        return guarded_copy(base, guard.call)

    @property
    def _trusted(self) -> bool:
        """Whether the principal is the only user of this machine, whose work is not audited."""
        local = self.principal.local and self.principal.token is None
        return local and not self._workspace.access.people.in_use()

    def costs(self, base: KnowledgeBase, recipe: Recipe) -> str:
        """Return the reason why a recipe may not spend money for the principal, or ""."""
        try:
            if not self.principal.may_spend:
                self._require_saved(base.recipe, recipe, answers=True)
        except NotAllowed as error:
            return f"{error.message} {error.hint}"
        return ""

    def _check_use(
        self,
        role: Role,
        saved: Callable[[], Recipe],
        recipe: Recipe,
        operation: Operation,
    ) -> None:
        """Raise NotAllowed where a recipe opens a file of the server or costs money and is not as
        it was saved, and for guests who ask too often."""
        opened = spending.opened(recipe)
        if opened and not reaches(role() or GUEST, "editor") and opened != spending.opened(saved()):
            raise NotAllowed(
                "search.rerank would open a file of the server. Only the saved recipe can do that.",
                ASK,
            )
        if self.principal.may_spend:
            return
        answers = operation.models == "answer"
        self._require_saved(saved, recipe, answers)
        link = self.principal.link
        if link is None:
            return
        searches = operation.audit in _SEARCHES and spending.costs(recipe, self.settings)
        counted = [link.id] * answers + [f"{link.id} searches"] * searches
        if seconds := max(map(self._workspace.access.guest_rates.wait, counted), default=0):
            raise NotAllowed(
                "There are too many requests through this link.", f"Try again in {ceil(seconds)} s."
            )

    def _require_saved(self, saved: Callable[[], Recipe], recipe: Recipe, answers: bool) -> None:
        """Raise NotAllowed where a recipe costs what the saved one does not."""
        field = spending.beyond(recipe, saved, self.settings, answers=answers)
        if field:
            raise NotAllowed(
                f"{field} can cost money, and the saved recipe has another value.",
                ASK if self.principal.link else "Use a token with the scope ask.",
            )

    def _require_frugal(self, recipe: Recipe) -> None:
        """Raise NotAllowed if dozens of embedded texts cost more than the principal may spend.

        Even the saved recipe embeds one text for a question.
        """
        if not self.principal.may_spend and spending.embeds_for_money(recipe, self.settings):
            raise NotAllowed(
                "This embeds dozens of texts, which can cost money.",
                ASK if self.principal.link else "Use a token with the scope ask.",
            )

    def beside(self, name: str, also: Sequence[FurtherBase]) -> list[FederatedBase]:
        """Other bases to search with the one called ``name``. Raises as ``Workspace.beside``."""
        return self._workspace.beside(name, also, self.base)

    def create(self, name: str, recipe: Recipe | None = None) -> KnowledgeBase:
        """A new knowledge base, of the principal. Raises as ``Workspace.create``."""
        self._refuse_guests()
        base = self._workspace.create(name, recipe, self.principal.person.id)
        self.note("base", "create", base=base)
        return self.base_with_id(base.id)

    def start_demo(self) -> tuple[KnowledgeBase, int]:
        """Queue the sample for the principal; return its base and the job."""
        self._refuse_guests()
        if self.principal.local:
            return self._workspace.start_demo()
        mine = next((info for info in self.bases() if info.name == SAMPLE), None)
        if mine is not None:
            self._require(mine, "documents.add_files")
            base = self._workspace.base_with_id(mine.id)
            job = self._workspace.add_demo(base)
        else:
            existing = {info.name for info in self._workspace.bases()}
            names = (SAMPLE, *(f"{SAMPLE} {number}" for number in range(2, 2 + len(existing))))
            free = next(name for name in names if name not in existing)
            base, job = self._workspace.start_demo(free, self.principal.person.id)
        self.note("documents", "start_demo", base=base)
        return self.base_with_id(base.id), job

    def duplicate(self, base: str | int, new: str) -> tuple[KnowledgeBase, int]:
        """Queue a copy that belongs to the principal alone; return it and the job.

        For owners, because the owner of the copy chooses who sees it. Raises as
        ``Workspace.duplicate``.
        """
        self._refuse_guests()
        source = self._look_up(base)
        self._require(source, "duplicate")
        copy, job = self._workspace.duplicate(source.id, new, self.principal.person.id)
        self.note("base", "duplicate", copy.name, source)
        self.note("base", "create", base=copy)
        return self.base_with_id(copy.id), job

    def _look_up(self, base: str | int) -> KnowledgeBase:
        """A knowledge base by name, or by the id that it keeps. Raises NotFound.

        What is allowed for it is done by its id: its name may be another one's by then.
        """
        return self.base(base) if isinstance(base, str) else self.base_with_id(base)

    def rename(self, base: str | int, new: str) -> None:
        """Give a knowledge base another name. Raises as ``Workspace.rename``."""
        target = self._look_up(base)
        self._require(target, "rename")
        self._workspace.rename(target.id, new)
        self.note("base", "rename", new, target)

    def delete(self, base: str | int) -> None:
        """Delete a knowledge base with all that it holds. Raises NotFound."""
        target = self._look_up(base)
        self._require(target, "delete")
        self._workspace.delete(target.id)
        self.note("base", "delete", base=target)

    def leave(self, name: str) -> None:
        """End the principal's own membership. Raises NotFound, InvalidInput for the last owner."""
        base = self.base(name)
        if self.principal.link is not None or self.principal.local:
            raise InvalidInput("You are not a member, so you cannot leave.")
        self._workspace.base_with_id(base.id).access.remove_member(self.principal.person.email)
        self.note("members", "leave", base=base)

    def bundle(self, run_id: str, target: Path) -> None:
        """Write a run as a bundle. Raises as ``Workspace.bundle``."""
        try:
            base = self._allowed(self._workspace.base_of_run(run_id, self._limits))
        except NotFound as error:  # in the same words, whether somebody else has such a run
            raise NotFound(f"There is no run {run_id!r}.") from error
        self._require(base, "bundle")
        self._workspace.bundle(run_id, target)
        self.note("export", "bundle", run_id, base)

    def create_token(
        self, name: str, scopes: Collection[str], days: int | None = 90
    ) -> tuple[str, TokenRow]:
        """A new token of the principal. Raises InvalidInput, NotAllowed."""
        self._refuse_guests()
        tokens = self._workspace.access.tokens
        secret, row = tokens.create(name, scopes, days, self.principal.person.id)
        self.note("tokens", "create", f"{row.name} ({', '.join(row.scopes)})")
        return secret, row

    def tokens(self) -> list[TokenRow]:
        """The principal's tokens, newest first; none for guests."""
        rows = [] if self.principal.link is not None else self._workspace.access.tokens.list_all()
        return [row for row in rows if row.owner == self.principal.person.id]

    def revoke_token(self, token_id: str) -> None:
        """Let nobody in by a token of the principal any more. Raises NotFound."""
        token = next((row for row in self.tokens() if row.id == token_id), None)
        if token is None:
            raise NotFound(f"There is no token {token_id!r}.")
        self._workspace.access.tokens.revoke(token_id)
        self.note("tokens", "revoke", token.name)

    def _call_tools(
        self, path: str, operation: Operation, method: Any, args: Any, kwargs: Any
    ) -> Any:
        """The guard of the tools. Raises NotAllowed."""
        if operation.role == ADMINISTRATOR:
            self._administer()
        result = method(*args, **kwargs)
        if operation.audit:
            subject = next(iter((*args, *kwargs.values())))
            self.note(operation.audit, path, getattr(subject, "name", subject))
        return result

    def embedders(self) -> list[str]:
        """The embedding models that can be used now."""
        return self._workspace.embedders()

    def statuses(self) -> list[ProviderStatus]:
        """Providers with what they offer."""
        return self._workspace.statuses()

    def local_servers(self) -> list[LocalServer]:
        """Return the model servers of this computer; none for guests."""
        return self._workspace.local_servers() if self.principal.link is None else []

    def language_models(self) -> Sequence[ModelFacts]:
        """Return what was learned of language models; nothing for guests."""
        return self._workspace.language_models() if self.principal.link is None else []

    def try_again(self, model: ModelName) -> None:
        """Drop what was learned of a language model. Raises NotAllowed."""
        self._administer()
        self._workspace.try_again(model)

    def check_provider(self, name: str) -> str:
        """Make a tiny real call. Raises ProviderError, NotAllowed."""
        self._administer()
        return self._workspace.check_provider(name)

    def caches(self) -> list[CacheFigures]:
        """Return the metrics of the query and result caches of all users. Raises NotAllowed."""
        self._administer()
        return self._workspace.caches()

    def people(self) -> People:
        """Everybody who signed in or was invited. Raises NotAllowed."""
        self._administer()
        return self._workspace.access.people

    def forget(self, person: Person) -> dict[str, int]:
        """Delete a person: oneself, or another one as administrator. Raises as
        ``People.forget``."""
        if person.id != self.principal.person.id or self.principal.link is not None:
            self._administer()
        removed = self._workspace.access.people.forget(person)
        self.note("members", "forget", ", ".join(f"{n} {what}" for what, n in removed.items()))
        return removed

    def audit(self, **filters: Any) -> list[AuditLine]:
        """The audit log of the knowledge bases that the principal owns, filtered as by
        ``AuditLog.lines``; all of it for administrators."""
        owned = None
        if not self.principal.administrator:
            roles = self._workspace.access.people.roles(self.principal.person.id)
            owned = [base_id for base_id, role in roles.items() if role == "owner"]
        return self._workspace.access.audit.lines(**filters, of_bases=owned)

    def recipe_saver(self, base_id: int) -> str:
        """Return the address of the person who last saved the recipe of a knowledge base, or "".

        It is "" without sign-in. Raises NotFound.
        """
        self.base_with_id(base_id)
        lines = self._workspace.access.audit.lines(kind="recipe", limit=20, of_bases=[base_id])
        saves = (line for line in lines if line.entry.action in _SAVES)
        return next((audit_actor(line) for line in saves if line.entry.person_id), "")

    def _ids(self) -> Collection[int] | None:
        """The ids of the knowledge bases that may be seen; None for all."""
        principal = self.principal
        if principal.local:
            return None
        if principal.link is not None:
            return [principal.link.base_id] if self._workspace.access.shows(principal.link) else []
        return list(self._workspace.access.people.roles(principal.person.id))

    def _required_role(self, path: str) -> str:
        return WHOLE_BASE.get(path) or self._workspace.operations[path].role

    def _require(self, base: KnowledgeBase | KnowledgeBaseData, path: str) -> None:
        least = self._required_role(path)
        role = self.role_in(base.id)
        if role is None or not reaches(role, least):
            raise NotAllowed(refusal(role or GUEST, least), ASK)

    def _refuse_guests(self) -> None:
        if self.principal.link is not None:
            raise NotAllowed("You may not do this with a link.", "Sign in.")

    def _administer(self) -> None:
        if not self.principal.administrator:
            raise NotAllowed("Only an administrator may do this.", "Ask one.")
