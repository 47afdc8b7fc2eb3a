"""People: who signs in, who has which access to a knowledge base, and what becomes of older data.

A sign-out ends the sign-in of a browser for all its tabs and all processes. People with a link can
ask one knowledge base, for a while.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from rag.access.audit import AuditLog
from rag.access.roles import ROLES
from rag.errors import AlreadyExists, InvalidInput, NotAllowed, NotFound
from rag.operation import ALL, operation
from rag.settings import fold_case
from rag.storage import Database
from rag.storage.access import audit, links, people
from rag.storage.access.audit import AuditEntry
from rag.storage.access.links import LinkRow
from rag.storage.access.people import NOBODY_SIGNS_IN, Member, Person

__all__ = ["NOBODY_SIGNS_IN", "Claims", "Member", "People", "Person", "address"]

_LONGEST_ADDRESS = 254


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of an identity provider about a person: its own name, the person's id and name.

    ``verified`` is None if the provider does not state whether the address belongs to the person.
    ``issued`` is the time of the claims, which a browser can send again for weeks; None if unknown.
    """

    issuer: str
    subject: str
    email: str
    name: str = ""
    verified: bool | None = None
    issued: datetime | None = None


class People:
    """Everybody who signed in or was invited."""

    def __init__(
        self, database: Database, admins: Collection[str] = (), allowed: Collection[str] = ()
    ) -> None:
        """``admins`` are addresses, ``allowed`` addresses and domains (``@example.org``)."""
        self._database = database
        self._admins = admins
        self._allowed = allowed
        self._known_to_be_used = False

    def sign_in(self, claims: Claims) -> Person:
        """The person of a sign-in.

        The first administrator gets what was there before. Raises NotAllowed for an address that
        is not verified, not let in, or that of another account, and for a sign-in from before the
        account was deleted.
        """
        email = address(claims.email)
        if claims.verified is False:
            raise NotAllowed(f"{email} is not verified.", "Confirm it at your identity provider.")
        if self._allowed and not {email, email[email.index("@") :]} & {
            *self._allowed,
            *self._admins,
        }:
            raise NotAllowed(f"{email} is not allowed to sign in.", "Ask an administrator.")
        identity = f"{claims.issuer}\n{claims.subject}"
        subject = hashlib.sha256(identity.encode()).hexdigest()
        with self._database.write() as connection:
            people.hold(connection)
            person = people.by_subject(connection, subject)
            nobody_yet = not people.any_signed_in(connection)
            first = not any(person.administrator for person in people.list_people(connection))
            if person is None:
                # A sign-in from before its account was deleted does not make it again.
                deleted = people.deletion_time(connection, subject)
                if deleted is not None and (claims.issued is None or claims.issued <= deleted):
                    raise NotAllowed(
                        "This account was deleted.",
                        "Sign out. If you still have access, you can sign in again.",
                    )
                person = people.add(connection, email)
                if people.has_signed_in(connection, person.id):
                    raise NotAllowed(
                        f"{email} belongs to another account.",
                        "Sign in as before, or ask an administrator.",
                    )
            administrator = (
                email in self._admins if self._admins else nobody_yet or person.administrator
            )
            entered = replace(person, name=claims.name.strip(), administrator=administrator)
            if people.by_email(connection, email) is None:  # the provider has another one now
                entered = replace(entered, email=email)
            people.note_sign_in(connection, entered, subject)
            if administrator and first:
                people.claim(connection, person.id)
        return entered

    def has(self, person: Person) -> bool:
        """Whether somebody who signed in is still here, and was not deleted since."""
        return self._database.fetch(people.has_signed_in, person.id)

    def in_use(self) -> bool:
        """Whether anybody ever signed in: from then on people are distinguished."""
        if not self._known_to_be_used:
            self._known_to_be_used = self._database.fetch(people.any_signed_in)
        return self._known_to_be_used

    def role_in(self, base_id: int, person_id: str) -> str | None:
        """Return the role of a person in a knowledge base; None if the person has no role."""
        return self._database.fetch(people.role, base_id, person_id)

    def roles(self, person_id: str) -> dict[int, str]:
        """Return the roles of a person, by knowledge base."""
        return self._database.fetch(people.roles, person_id)

    def list_all(self) -> list[Person]:
        """Everybody by address."""
        return self._database.fetch(people.list_people)

    def by_email(self, email: str) -> Person:
        """The person with an address. Raises NotFound."""
        person = self._database.fetch(people.by_email, address(email))
        if person is None:
            raise NotFound(f"No account has the address {email!r}.")
        return person

    def forget(self, person: Person) -> dict[str, int]:
        """Delete a person with conversations, memory, feedback, votes and tokens.

        Labels stay: they say not whose they are. The audit log keeps the acts of an account that
        is deleted. Raises InvalidInput for the only owner of a knowledge base.
        """
        with self._database.write() as connection:
            alone = people.bases_with_sole_owner(connection, person.id)
            if alone:
                raise InvalidInput(
                    f"{person.email} is the only owner of {', '.join(alone)}.",
                    "Make another member an owner, or delete the knowledge base.",
                )
            if person.email:
                audit.forget_address(connection, person.email)
            return people.forget(connection, person.id)


def address(text: str) -> str:
    """An address as it is compared. Raises InvalidInput."""
    normalised = fold_case(text)
    name, at, host = normalised.rpartition("@")
    fits = name and at and host and len(normalised) <= _LONGEST_ADDRESS and normalised.isprintable()
    if not fits or any(sign in normalised for sign in " ,;<>\"'"):
        raise InvalidInput(f"{text!r} is not an e-mail address.")
    return normalised


class SignIns:
    """The sign-ins of people, each by the digest of a browser's cookie."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    def begin(self, key: str, person_id: str) -> None:
        """Note that a person signed in; the same sign-in again, by another tab, changes nothing."""
        is_new = self._database.execute(people.begin_sign_in, key, person_id)
        if is_new:
            self._note(person_id, "sign_in")

    def end(self, key: str) -> None:
        """Note a sign-out: the cookie is not accepted any more."""
        person_id = self._database.execute(people.end_sign_in, key)
        if person_id is not None:
            self._note(person_id, "sign_out")

    def ended(self, keys: Collection[str]) -> set[str]:
        """Return those of some sign-ins that have ended."""
        return self._database.fetch(people.list_ended_sign_ins, keys)

    def _note(self, person_id: str, action: str) -> None:
        entry = AuditEntry(datetime.now(UTC), person_id, "page", "", None, "", "sign-in", action)
        self._audit.note(entry)


PREFIX = "share_"
_LONGEST_NAME = 80
_LONGEST_LIFE = 365  # days
_SECRET_BYTES = 32
_LARGEST_ID = 2**31 - 1  # what every database stores as an integer


class Links:
    """The links to one knowledge base. The database has the SHA-256 of each, as of tokens."""

    _database: Database
    _base_id: int

    @operation("owner", audit="sharing", audited_arguments=1)
    def create_link(
        self, name: str = "", days: int = 7, maker: str = "", tour_id: int | None = None
    ) -> tuple[str, LinkRow]:
        """Create a link; return its secret, which is stored nowhere, and its row.

        Without a name, it is called by its time, which tells it from other links.
        With ``tour_id``, the link shows the chat and this tour alone. Raises InvalidInput, and
        NotFound for an unknown tour.
        """
        now = datetime.now(UTC)
        name = name.strip() or links.name_at(now)
        if len(name) > _LONGEST_NAME or not name.isprintable():
            raise InvalidInput(f"The name of a link has up to {_LONGEST_NAME} characters.")
        if not 1 <= days <= _LONGEST_LIFE:
            raise InvalidInput(f"A link is valid for 1 to {_LONGEST_LIFE} days.")
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        row = LinkRow(
            id=secrets.token_hex(4),
            base_id=self._base_id,
            name=name,
            maker=maker,
            created=now,
            expires=now + timedelta(days=days),
            revoked=None,
            tour_id=tour_id,
        )
        with self._database.write() as connection:
            if tour_id is not None:
                # Keep a tour from being deleted until the transaction ends
                known = 0 < tour_id <= _LARGEST_ID
                if (
                    not known
                    or links.tour_by_id(connection, self._base_id, tour_id, lock=True) is None
                ):
                    raise NotFound(
                        f"There is no tour {tour_id} in this knowledge base.",
                        "The address of a tour has its number after `tour=`.",
                    )
            links.create(connection, row, _digest(secret))
        return secret, row

    @operation("owner")
    def links(self) -> list[LinkRow]:
        """All links without their secrets, newest first."""
        return self._database.fetch(links.of_base, self._base_id)

    @operation("owner", audit="sharing", audited_arguments=ALL)
    def revoke_link(self, link_id: str) -> None:
        """Let a link show nothing any more, from now on. Raises NotFound."""
        with self._database.write() as connection:
            if not links.revoke(connection, self._base_id, link_id):
                raise NotFound(f"There is no link {link_id!r}.")


def share_path(secret: str, tour_id: int | None = None) -> str:
    """Return the path of a new link on the server, which leads to its tour if it has one."""
    return f"/share/{secret}" + (f"/tour/{tour_id}" if tour_id is not None else "")


def link_of(database: Database, secret: str) -> LinkRow | None:
    """Return the link of a secret; None if it is unknown, expired or revoked."""
    row = database.fetch(links.by_digest, _digest(secret))
    return row if row is not None and row.valid else None


def still_valid(database: Database, link: LinkRow) -> bool:
    """Whether a link that was opened is neither over by now, nor revoked or deleted."""
    if not link.valid:
        return False
    row = database.fetch(links.by_id, link.id)
    return row is not None and row.valid


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


class Members:
    """The members of a knowledge base and their roles."""

    _database: Database
    _base_id: int

    @operation("viewer")
    def members(self) -> list[Member]:
        """Its people by address."""
        return self._database.fetch(people.members, self._base_id)

    @operation("owner", audit="members", audited_arguments=ALL)
    def add_member(self, email: str, role: str = "viewer") -> Person:
        """Make a person a member, also one who never signed in. Raises InvalidInput,
        AlreadyExists."""
        email = address(email)
        _check(role)
        with self._database.write() as connection:
            person = people.add(connection, email)
            if people.role(connection, self._base_id, person.id) is not None:
                raise AlreadyExists(f"{email} is a member already.", "Change the role instead.")
            people.join(connection, self._base_id, person.id, role)
        return person

    @operation("owner", audit="members", audited_arguments=ALL)
    def change_member(self, email: str, role: str) -> None:
        """Give a member another role. Raises NotFound, InvalidInput for the last owner."""
        _check(role)
        with self._database.write() as connection:
            member = people.member_called(connection, self._base_id, address(email))
            if role != "owner":
                _keep_an_owner(member, people.owners(connection, self._base_id))
            people.join(connection, self._base_id, member.id, role)

    @operation("owner", audit="members", audited_arguments=ALL)
    def remove_member(self, email: str) -> None:
        """Take a member out. Raises NotFound, InvalidInput for the last owner."""
        with self._database.write() as connection:
            member = people.member_called(connection, self._base_id, address(email))
            _keep_an_owner(member, people.owners(connection, self._base_id))
            people.leave(connection, self._base_id, member.id)


def _keep_an_owner(person: Person, owners: Sequence[str]) -> None:
    if list(owners) == [person.id]:
        raise InvalidInput(
            f"{person.email} is the last owner.", "Make another member an owner first."
        )


def _check(role: str) -> None:
    if role not in ROLES:
        raise InvalidInput(f"There is no role {role!r}.", f"There are: {', '.join(ROLES)}.")


class BaseAccess(Members, Links):
    """The members of one knowledge base, and the links to it."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id
