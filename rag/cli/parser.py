"""The verbs of the command line and what each takes. A contract: scripts depend on it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path

from rag import SCOPES, VERSION
from rag.cli.options import EXITS, Call, Parser, repeatable, switch

VERBS: Mapping[str, tuple[str, str]] = {
    "demo": ("documents", "load the sample knowledge base and its questions"),
    "ingest": ("documents", "add files, folders and web addresses"),
    "read-again": ("documents", "read documents again whose reader has become better"),
    "import-beir": ("documents", "import a BEIR folder as documents and a question set"),
    "import-store": (
        "documents",
        "import texts and vectors of an existing store, which is only read",
    ),
    "import-questions": ("documents", "import a question set, or judgements of one"),
    "question-versions": (
        "documents",
        "list the replaced versions of a question set, or bring one back",
    ),
    "check-questions": ("documents", "check a question set: its makers, coverage and problems"),
    "export-questions": ("documents", "write a question set"),
    "tag": ("documents", "set the tags of a document, which searches can be restricted to"),
    "examine": (
        "documents",
        "find what is there twice, is not readable, or is not reached by questions",
    ),
    "edit-passages": (
        "documents",
        "leave text of a document out of search, set or remove boundaries, or add words",
    ),
    "search": ("asking", "find passages"),
    "ask": ("asking", "answer with citations"),
    "chat": ("asking", "ask one question after another, and read the answers as they come"),
    "memory": ("asking", "list, search, show, correct or delete past interactions"),
    "operations": (
        "asking",
        "say how a knowledge base does in use: questions, refusals, times, tokens, thumbs",
    ),
    "sessions": ("asking", "list conversations, show, rename, delete or export one"),
    "feedback": ("asking", "write thumbs, reasons and corrections of all visitors"),
    "arena": (
        "asking",
        "let two recipes answer a question, list such pairs, vote on them, and sum the votes up",
    ),
    "explain": ("asking", "explain why a passage is found or not, and what would change it"),
    "models": (
        "administration",
        "list the language models and embedding models that run on this computer",
    ),
    "tools": ("administration", "list the HTTP tools that recipes may name in search.tools"),
    "add-tool": ("administration", "add or change an HTTP tool"),
    "test-tool": (
        "administration",
        "ask an HTTP tool, and print its results as they are understood",
    ),
    "remove-tool": ("administration", "delete an HTTP tool"),
    "token": ("administration", "make, list or revoke tokens of the API"),
    "members": ("administration", "list, add, change or remove the members of a knowledge base"),
    "people": (
        "administration",
        "list who signed in or was invited, or delete somebody with what is theirs",
    ),
    "link": (
        "administration",
        "make, list or revoke links that show one knowledge base to people who have them",
    ),
    "audit": ("administration", "list who changed or read what, newest first"),
    "rename": ("administration", "give a knowledge base another name"),
    "duplicate": (
        "administration",
        "copy a knowledge base with documents, recipes, prompts, question sets and labels",
    ),
    "builds": ("documents", "list the index builds of a knowledge base"),
    "remove-build": ("documents", "delete an index build; documents, labels and runs stay"),
    "evaluate": ("evaluating", "measure a recipe on a question set and keep the run"),
    "judge": (
        "evaluating",
        "let a language model grade the hits of a run, or prefer the answers of one of two runs",
    ),
    "sweep": ("evaluating", "measure every recipe of a grid; candidates are fetched once"),
    "calibrate": (
        "evaluating",
        "learn P(relevant) from labels, and the threshold that promises a precision",
    ),
    "threshold": ("evaluating", "say what a threshold does, and which one promises a precision"),
    "gate": (
        "evaluating",
        "exit 1 when a recipe or a system falls short of demands or of a former run",
    ),
    "diagnose": (
        "evaluating",
        "find out why questions fail, and what fixes gain on questions that did not choose them",
    ),
    "decide": (
        "evaluating",
        "decide which of two runs is better, and list the hits to judge for it",
    ),
    "systems": (
        "evaluating",
        "list, add, test or remove the systems that are measured beside recipes",
    ),
    "runs": ("evaluating", "list kept runs"),
    "parity": ("evaluating", "compare what two runs returned, without labels"),
    "export-passages": (
        "evaluating",
        "write the passages of a recipe's index as JSONL, to load into another engine",
    ),
    "export-recipe": ("evaluating", "write a recipe as requests or SQL for another engine"),
    "export-run": ("evaluating", "write the rankings of a run as a TREC run file"),
    "report": ("evaluating", "write a run as one HTML file that opens anywhere"),
    "bundle": ("evaluating", "write a run as a zip that another machine can repeat"),
    "import-bundle": ("evaluating", "repeat a bundled run and compare every figure"),
    "check": (
        "administration",
        "compare the database with files, indexes and maps; exit 1 on a problem",
    ),
    "backup": ("administration", "write all of a home into one file, also while it is in use"),
    "restore": ("administration", "fill a home from a backup"),
    "schema": ("administration", "print the JSON Schema of a recipe"),
    "completion": (
        "administration",
        'print a script that completes the verbs and options of the alias "rag" in a shell',
    ),
    "mcp": (
        "",
        "serve searches and experiments to a client of MCP, over standard input and output",
    ),
    "bench": ("administration", "print ratios against other libraries, measured side by side"),
}
"""The folder and the help of each verb; a verb without a folder is of what starts the program."""
_METAVARS = {"set_name": "SET", "run": "RUN"}


def parser(*mounted: Call) -> Parser:
    """The parser; its subcommands are the verbs, each with the function that does it as ``call``.

    A verb is called like its function. ``exits`` are its exit codes, besides those of every verb,
    with what they mean. The arguments of a verb are declared, and the code of its folder is
    imported, when the verb is parsed. ``mounted`` are verbs of what starts the program.
    """
    root = Parser(prog="python -m rag", description="Retrieval over your documents, with evidence.")
    root.add_argument("--version", action="version", version=VERSION)
    subparsers = root.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(
        call: Call, *positionals: str, recipe: bool = False, exits: Mapping[int, str] | None = None
    ) -> Parser:
        added: Parser = subparsers.choices[call.__name__.replace("_", "-")]
        added.set_defaults(call=call, exits={**EXITS, **(exits or {})})
        added.add_argument("--home", type=Path, help="where data lives (TOUCHSTONE_HOME)")
        switch(added, "--json", "print one JSON object")
        if recipe:
            text = "JSON with the recipe fields to override"
            added.add_argument("--recipe", type=Path, metavar="FILE", help=text)
            switch(added, "--new", "start from a new recipe, not from the saved one")
            repeatable(
                added,
                "--set",
                "FIELD=VALUE",
                "override one recipe field, such as search.top_k=10 (repeatable)",
            )
        for positional in positionals:
            added.add_argument(positional, metavar=_METAVARS.get(positional))
        return added

    @cache
    def declare(folder: str) -> None:
        import_module(f"rag.cli.{folder}.arguments").declare(verb)

    for name, (folder, text) in VERBS.items():
        added = subparsers.add_parser(name, help=text, description=text)
        if folder:
            added.declare = partial(declare, folder)
    for call in mounted:
        verb(call).add_argument(
            "--scope",
            action="append",
            choices=tuple(SCOPES),
            help="what its client may do without a token (repeatable; default: read and ask)",
        )

    def complete() -> Parser:
        for added in subparsers.choices.values():
            added.declare()
        return root

    subparsers.choices["completion"].set_defaults(complete=complete)
    return root
