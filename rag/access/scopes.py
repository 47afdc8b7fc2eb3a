"""Scopes and budgets of tokens. The command line needs them before it opens anything."""

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
