"""Arguments of the verbs for tools, tokens, people and a home."""

from __future__ import annotations

from pathlib import Path

from rag import AUDIT_KINDS, BUDGETS, ROLES, SCOPES
from rag.cli.administration import benchmarks, maintenance, people, tools
from rag.cli.options import Verb, repeatable, switch


def declare(verb: Verb) -> None:
    """The arguments of all these verbs."""
    _tool_verbs(verb)
    _token_verbs(verb)
    _people_verbs(verb)
    _home_verbs(verb)


def _tool_verbs(verb: Verb) -> None:
    """Verbs for models of this computer, and for services that are asked beside the documents."""
    verb(tools.models)
    verb(tools.tools)
    added = verb(tools.add_tool, "name")
    added.add_argument("url", help="its URL; put {question} in the path, the query or --body")
    what = "its purpose, for the language model that can call it"
    added.add_argument("--description", default="", metavar="WORDS", help=what)
    added.add_argument("--body", default="", metavar="JSON", help="sent by POST")
    repeatable(
        added,
        "--header",
        "HEADER=[Bearer ]TOUCHSTONE_TOOL_NAME",
        "a header, and the environment variable that has its value (repeatable)",
    )
    added.add_argument("--results", default="", metavar="PATH", help="JMESPath to the results")
    for name, default in (("text", "text"), ("title", ""), ("link", ""), ("score", "")):
        added.add_argument(f"--{name}", default=default, metavar="PATH", help=f"{name} of a result")
    added.add_argument(
        "--most", type=int, default=10, help="maximum number of results of a response"
    )
    added.add_argument("--seconds", type=float, default=10.0, help="longest wait")
    verb(tools.test_tool, "name", "question")
    verb(tools.remove_tool, "name")


def _token_verbs(verb: Verb) -> None:
    """The verb for who may use the API."""
    added = verb(people.token)
    added.add_argument("action", choices=("create", "list", "revoke"))
    added.add_argument("name", nargs="?", help="name of a new token, or id of an existing one")
    added.add_argument(
        "--scope",
        action="append",
        choices=tuple(SCOPES),
        help="a scope of the token (repeatable; default: read)",
    )
    added.add_argument("--days", type=int, default=90, help="how long it is valid")
    switch(added, "--forever", "it does not expire")
    for name, what in BUDGETS.items():
        help_text = f"its calls over MCP end after so many {what}"
        added.add_argument(f"--most-{name}", type=float, metavar="N", help=help_text)
    whose = "its owner, whose rights it cannot exceed (default: the local user, who has all rights)"
    added.add_argument("--owner", metavar="EMAIL", help=whose)


def _people_verbs(verb: Verb) -> None:
    """Verbs for who may do what, and who did."""
    added = verb(people.members, "kb")
    added.add_argument(
        "action", nargs="?", choices=("list", "add", "change", "remove"), default="list"
    )
    added.add_argument("email", nargs="?", help="e-mail address of the member")
    what = "role of the member (default: viewer)"
    added.add_argument("--role", choices=tuple(ROLES), default="viewer", help=what)
    added = verb(people.people)
    added.add_argument("action", nargs="?", choices=("list", "delete"), default="list")
    added.add_argument("email", nargs="?", help="with delete: e-mail address of the account")
    added = verb(people.link, "kb")
    added.add_argument("action", nargs="?", choices=("list", "create", "revoke"), default="list")
    added.add_argument("name", nargs="?", help="name of a new link, or id of an existing one")
    added.add_argument("--days", type=int, default=7, help="how long it is valid (default: 7)")
    what = "the only tour to show beside the chat, or to list links of: the number in its address"
    added.add_argument("--tour", type=int, metavar="NUMBER", help=what)
    added = verb(people.audit)
    added.add_argument(
        "--person", default="", metavar="TEXT", help="only who has this in the address"
    )
    added.add_argument("--kb", default="", metavar="KB", help="only this knowledge base")
    added.add_argument("--kind", default="", choices=tuple(AUDIT_KINDS), help="only this kind")
    added.add_argument("--days", type=float, help="only the last so many days")
    added.add_argument(
        "--limit", type=int, default=100, help="maximum number of entries (default: 100)"
    )
    added.add_argument("-o", "--output", type=Path, help="a .csv file")


def _home_verbs(verb: Verb) -> None:
    """Verbs that look after a home."""
    verb(maintenance.rename, "kb", "name")
    verb(maintenance.duplicate, "kb", "name")
    verb(maintenance.schema)
    added = verb(maintenance.completion)
    added.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    added = verb(benchmarks.bench)
    added.add_argument("--data", type=Path, help="folder with BEIR collections")
    added.add_argument("--only", help="one benchmark by name")
    added.add_argument("--model", help="sentences: an OpenAI-compatible server")
    added = verb(maintenance.check, exits={1: "a problem is left"})
    switch(added, "--repair", "delete what nothing refers to")
    switch(added, "--compact", "write the file of the database again, without unused space")
    lost = {1: "an original is missing or damaged, and the backup lacks it"}
    saved = verb(maintenance.backup, exits=lost)
    saved.add_argument("file", type=Path)
    switch(saved, "--allow-empty", "also if there is no knowledge base")
    added = verb(maintenance.restore)
    added.add_argument("file", type=Path)
    switch(added, "--force", "move the present contents of the home folder aside, and replace them")
