"""The access to a knowledge base: its members, and the people who have a link."""

from __future__ import annotations

from collections.abc import Sequence

from rag.access.links import Links
from rag.access.people import Member, address
from rag.access.roles import ROLES
from rag.errors import AlreadyExists, InvalidInput
from rag.operation import ALL, operation
from rag.storage import Database
from rag.storage.access import people
from rag.storage.access.people import Person


class Members:
    """The members of a knowledge base and their roles."""

    _database: Database
    _base_id: int

    @operation("viewer")
    def members(self) -> list[Member]:
        """Its people by address."""
        with self._database.read() as connection:
            return people.members(connection, self._base_id)

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
