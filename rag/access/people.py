"""People: who signs in, and what becomes of what was there before anybody did."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from rag.errors import InvalidInput, NotAllowed, NotFound
from rag.settings import fold_case
from rag.storage import Database
from rag.storage.access import audit, people
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
                _refuse_from_before(people.deletion_time(connection, subject), claims.issued)
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
        with self._database.read() as connection:
            return people.has_signed_in(connection, person.id)

    def in_use(self) -> bool:
        """Whether anybody ever signed in: from then on people are distinguished."""
        if not self._known_to_be_used:
            with self._database.read() as connection:
                self._known_to_be_used = people.any_signed_in(connection)
        return self._known_to_be_used

    def role_in(self, base_id: int, person_id: str) -> str | None:
        """Return the role of a person in a knowledge base; None if the person has no role."""
        with self._database.read() as connection:
            return people.role(connection, base_id, person_id)

    def roles(self, person_id: str) -> dict[int, str]:
        """Return the roles of a person, by knowledge base."""
        with self._database.read() as connection:
            return people.roles(connection, person_id)

    def list_all(self) -> list[Person]:
        """Everybody by address."""
        with self._database.read() as connection:
            return people.list_people(connection)

    def by_email(self, email: str) -> Person:
        """The person with an address. Raises NotFound."""
        with self._database.read() as connection:
            person = people.by_email(connection, address(email))
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


def _refuse_from_before(deleted: datetime | None, issued: datetime | None) -> None:
    """Raise NotAllowed for a sign-in that made, or used, an account that was deleted since."""
    if deleted is not None and (issued is None or issued <= deleted):
        raise NotAllowed(
            "This account was deleted.",
            "Sign out. If you still have access, you can sign in again.",
        )


def address(text: str) -> str:
    """An address as it is compared. Raises InvalidInput."""
    normalised = fold_case(text)
    name, at, host = normalised.rpartition("@")
    fits = name and at and host and len(normalised) <= _LONGEST_ADDRESS and normalised.isprintable()
    if not fits or any(sign in normalised for sign in " ,;<>\"'"):
        raise InvalidInput(f"{text!r} is not an e-mail address.")
    return normalised
