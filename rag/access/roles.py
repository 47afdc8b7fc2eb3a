"""Roles of people in a knowledge base. The command line needs them before it opens anything."""

ROLES = {
    "viewer": "view, search and ask questions",
    "labeller": "also edit question sets and labels",
    "editor": "also add and delete documents, save recipes, evaluate",
    "owner": "also manage members, share by link, duplicate and delete the knowledge base",
}
"""Roles with what each may do. Each includes those before it."""

GUEST = "guest"
"""The role of people with a link: may ask, and read reports, in one knowledge base."""

_RANKS = {role: rank for rank, role in enumerate((GUEST, *ROLES))}


def reaches(role: str, least: str) -> bool:
    """Whether a role may do what takes at least another one."""
    return _RANKS[role] >= _RANKS[least]
