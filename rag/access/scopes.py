"""Scopes of tokens. The command line needs them before it opens anything."""

SCOPES = {
    "read": "look at knowledge bases, search them, and explain what is found",
    "ask": "let a language model answer, which may cost money",
    "label": "edit question sets and labels",
    "write": "add and delete documents, save recipes, evaluate, which may cost money too",
    "admin": "delete and duplicate knowledge bases, choose members and links",
}
"""What a token may allow, with what that is. None includes another."""
