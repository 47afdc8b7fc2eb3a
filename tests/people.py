"""People who sign in, and what they see."""

from datetime import UTC, datetime

from rag import Claims, Person, Principal, ScopedWorkspace, Workspace


def signed_in(workspace: Workspace, name: str) -> Person:
    """Somebody who signs in."""
    issuer, email, now = "https://id.example", f"{name}@example.org", datetime.now(UTC)
    claims = Claims(issuer, name, email, name.title(), verified=True, issued=now)
    return workspace.access.people.sign_in(claims)


def view(workspace: Workspace, person: Person) -> ScopedWorkspace:
    """The workspace as a person sees it."""
    return ScopedWorkspace(workspace, Principal(person))
