"""The verbs of the command line and what each takes. A contract: scripts depend on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rag import VERSION
from rag.cli.administration import arguments as administration
from rag.cli.administration import benchmarks, maintenance
from rag.cli.asking import arguments as asking
from rag.cli.documents import arguments as documents
from rag.cli.evaluating import arguments as evaluating
from rag.cli.options import EXITS, Call, Parser, repeatable, switch

_METAVARS = {"set_name": "SET", "run": "RUN"}


def parser(*mounted: Call) -> Parser:
    """The parser; its subcommands are the verbs, each with the function that does it as ``call``.

    A verb is called like its function, and its help is the function's docstring. ``exits`` are its
    exit codes, besides those of every verb, with what they mean. ``mounted`` are verbs of what
    starts the program.
    """
    root = Parser(prog="python -m rag", description="Retrieval over your documents, with evidence.")
    root.add_argument("--version", action="version", version=VERSION)
    subparsers = root.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(
        call: Call, *positionals: str, recipe: bool = False, exits: Mapping[int, str] | None = None
    ) -> Parser:
        summary = (call.__doc__ or " ").rstrip(".")
        text = summary[0].lower() + summary[1:]
        name = call.__name__.replace("_", "-")
        added = subparsers.add_parser(name, help=text, description=text)
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

    documents.importing_verbs(verb)
    asking.asking_verbs(verb)
    asking.memory_verbs(verb)
    asking.session_verbs(verb)
    asking.arena_verbs(verb)
    asking.explaining_verbs(verb)
    administration.tool_verbs(verb)
    administration.token_verbs(verb)
    administration.people_verbs(verb)
    verb(maintenance.rename, "kb", "name")
    verb(maintenance.duplicate, "kb", "name")
    documents.build_verbs(verb)
    evaluating.measuring_verbs(verb)
    evaluating.comparing_verbs(verb)
    evaluating.system_verbs(verb)
    evaluating.sharing_verbs(verb)
    administration.home_verbs(verb)
    verb(maintenance.schema)
    added = verb(maintenance.completion)
    added.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    added.set_defaults(root=root)
    for call in mounted:
        verb(call)
    added = verb(benchmarks.bench)
    added.add_argument("--data", type=Path, help="folder with BEIR collections")
    added.add_argument("--only", help="one benchmark by name")
    added.add_argument("--model", help="sentences: an OpenAI-compatible server")
    return root
