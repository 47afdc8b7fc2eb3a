"""Roles in a knowledge base, and scopes and budgets of tokens: light, for the command line."""

from __future__ import annotations

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


SCOPES = {
    "read": "view knowledge bases, search them, and explain the results",
    "ask": "get answers from a language model, which can cost money",
    "label": "edit question sets and labels",
    "experiment": "measure recipes by the tools of MCP, within the budget of the token",
    "recipe": "save recipes by the tools of MCP",
    "write": "add and delete documents, save recipes, evaluate, which can cost money too",
    "admin": "delete and duplicate knowledge bases, choose members and links",
}
"""What a token may allow, with what that is. None includes another."""
BUDGETS = {"calls": "calls", "minutes": "minutes of calls", "money": "money for answers"}
"""Limits of a token by name, each with the words for it."""
