"""The verbs of the command line and what each takes. A contract: scripts depend on it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from rag import SCOPES
from rag.cli import (
    builds,
    conversing,
    maintenance,
    memory,
    passage_edits,
    tokens,
    tools,
    verbs,
)
from rag.cli.printing import Output

Parser = argparse.ArgumentParser
Call = Callable[[argparse.Namespace], Output]
Verb = Callable[..., Parser]
"""Adds a verb: the function that does it, and the names of its plain positional arguments."""

_METAVARS = {"set_name": "SET", "run": "RUN"}


def parser(*mounted: Call) -> Parser:
    """The parser; its subcommands are the verbs, each with the function that does it as ``call``.

    A verb is called like its function, and its help is the function's docstring. ``mounted`` are
    verbs of what starts the program.
    """
    root = Parser(prog="python -m rag", description="Retrieval over your documents, with evidence.")
    subparsers = root.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(
        call: Callable[[argparse.Namespace], Output], *positionals: str, recipe: bool = False
    ) -> Parser:
        told = (call.__doc__ or " ").rstrip(".")
        text = told[0].lower() + told[1:]
        name = call.__name__.replace("_", "-")
        added = subparsers.add_parser(name, help=text, description=text)
        added.set_defaults(call=call)
        added.add_argument("--home", type=Path, help="where data lives (TOUCHSTONE_HOME)")
        _switch(added, "--json", "print one JSON object")
        if recipe:
            added.add_argument("--recipe", type=Path, metavar="FILE", help="a recipe as JSON")
            _repeatable(
                added,
                "--set",
                "FIELD=VALUE",
                "override one recipe field, such as search.top_k=10 (repeatable)",
            )
        for positional in positionals:
            added.add_argument(positional, metavar=_METAVARS.get(positional))
        return added

    _importing(verb)
    _asking(verb)
    _remembering(verb)
    _conversations(verb)
    _explaining(verb)
    _tools(verb)
    _tokens(verb)
    verb(verbs.rename, "kb", "name")
    verb(builds.builds, "kb")
    added = verb(builds.remove_build, "kb")
    added.add_argument("build", help="its id, or the beginning of it")
    _measuring(verb)
    _sharing(verb)
    _maintaining(verb)
    verb(verbs.schema)
    for call in mounted:
        verb(call)
    added = verb(verbs.bench)
    added.add_argument("--data", type=Path, help="folder with BEIR collections")
    added.add_argument("--only", help="one benchmark by name")
    return root


def _importing(verb: Verb) -> None:
    """Verbs that bring documents and questions in, and questions out."""
    verb(verbs.demo)
    added = verb(verbs.ingest, "kb", recipe=True)
    added.add_argument("source", nargs="+", metavar="PATH|URL")
    added.add_argument(
        "--password-file",
        type=Path,
        metavar="FILE",
        help="passwords to try on encrypted PDFs, one on each line (else asked for at a terminal)",
    )
    verb(verbs.read_again, "kb")
    added = verb(verbs.import_beir, "kb", recipe=True)
    added.add_argument("folder", type=Path)
    added.add_argument("--split", default="test")
    added = verb(verbs.import_questions, "kb")
    added.add_argument(
        "file",
        type=Path,
        help="a .jsonl, .csv, .tsv, .xlsx, .qrels or .txt file, or a BEIR folder or .zip",
    )
    _repeatable(
        added,
        "--column",
        "FIELD=NAME",
        "which column of a table holds question, id, tags, document, quote, grade ... (repeatable)",
    )
    added.add_argument("--split", help="which qrels of a BEIR collection (default: test)")
    added.add_argument("--name", help="name of the set (default: the file's)")
    _switch(added, "--skip-bad", "import the other lines where some cannot be read, and list those")
    added = verb(verbs.export_questions, "kb", "set_name")
    added.add_argument(
        "-o",
        "--output",
        type=Path,
        help="a .jsonl, .csv or .qrels file, or a BEIR folder or .zip (default: JSONL to stdout)",
    )
    _switch(added, "--with-documents", "include the documents in a BEIR collection")
    added = verb(verbs.tag, "kb")
    added.add_argument("document", help="its name or id")
    added.add_argument("tag", nargs="*", help="all its tags; none takes them away")
    added = verb(passage_edits.edit_passages, "kb")
    added.add_argument("document", help="its name or id")
    _repeatable(added, "--exclude", "QUOTE", "words that no passage may hold (repeatable)")
    _repeatable(added, "--split", "QUOTE", "words that a passage begins with (repeatable)")
    _repeatable(added, "--join", "QUOTE", "words that stay in one passage (repeatable)")
    added.add_argument(
        "--words",
        action="append",
        default=[],
        nargs=2,
        metavar=("QUOTE", "WORDS"),
        help="words that find the passages with QUOTE, and are not shown (repeatable)",
    )
    added.add_argument(
        "--remove",
        action="append",
        default=[],
        type=int,
        metavar="ID",
        help="take an edit back (repeatable)",
    )


def _asking(verb: Verb) -> None:
    """Verbs that take a question."""
    also = "search this knowledge base too, by its saved recipe (repeatable)"
    for added in (
        verb(verbs.search, "kb", "question", recipe=True),
        asking := verb(verbs.ask, "kb", "question", recipe=True),
        chatting := verb(conversing.chat, "kb", recipe=True),
    ):
        _repeatable(added, "--also", "KB2[:top_k=3,threshold=0.3,weight=0.5]", also)
        _switch(added, "--all", "search all knowledge bases")
    for added in (asking, chatting):
        added.add_argument(
            "--mode",
            help="what a model draws on: strict, balanced, general or auto (answer.mode)",
        )
        added.add_argument(
            "--session", metavar="NAME|ID", help="a conversation to go on with, or to begin"
        )


def _conversations(verb: Verb) -> None:
    """Verbs for what was asked and answered."""
    added = verb(conversing.sessions, "kb")
    added.add_argument("action", nargs="?", choices=conversing.ACTIONS, default="list")
    added.add_argument("session", nargs="?", metavar="SESSION", help="its id or name")
    added.add_argument("name", nargs="?", help="with rename: the new name")
    added.add_argument("--search", default="", metavar="WORDS", help="with list: which hold these")
    added.add_argument("-o", "--output", type=Path, help="with export: a .md or .json file")
    _switch(added, "--everyone", "the conversations of all visitors, not only of the command line")
    _switch(added, "--yes", "with delete: do not ask")
    added = verb(conversing.feedback)
    added.add_argument("action", choices=("export",))
    added.add_argument("kb")
    added.add_argument("-o", "--output", type=Path, help="a .jsonl file (default: to stdout)")


def _remembering(verb: Verb) -> None:
    """Verbs for what was asked before."""
    added = verb(memory.memory, "kb")
    added.add_argument("action", nargs="?", default="list", choices=memory.ACTIONS)
    added.add_argument("value", nargs="*", metavar="TEXT|ID", help="what to search, or which one")
    added.add_argument("--question", help="with correct: the question as it should be")
    added.add_argument("--answer", help="with correct: the answer as it should be")
    added.add_argument("--limit", type=int, default=50, help="how many are listed (default: 50)")
    added = verb(memory.operations, "kb")
    added.add_argument("--days", type=float, help="only the last so many days (default: all)")


def _explaining(verb: Verb) -> None:
    """The verb that says why."""
    added = verb(verbs.explain, "kb", "question", recipe=True)
    what = added.add_mutually_exclusive_group()
    what.add_argument("--chunk", metavar="ID", help="a passage by its id")
    what.add_argument("--find", metavar="TEXT", help="the passages that hold these words")
    what.add_argument("--document", metavar="NAME", help="the best passages of a document")
    what.add_argument(
        "--against-run", metavar="RUN", help="the same question with the recipe of a run"
    )
    _repeatable(
        added,
        "--against",
        "FIELD=VALUE",
        "the same question with a field changed, side by side (repeatable)",
    )
    _switch(added, "--attribution", "with --chunk: what carries the cosine")


def _tools(verb: Verb) -> None:
    """Verbs for services that are asked beside the documents."""
    verb(tools.tools)
    added = verb(tools.add_tool, "name")
    added.add_argument("url", help="its address; {question} stands in path, query or --body")
    what = "what it is for, as a language model is told that may call it"
    added.add_argument("--description", default="", metavar="WORDS", help=what)
    added.add_argument("--body", default="", metavar="JSON", help="sent by POST")
    _repeatable(
        added,
        "--header",
        "HEADER=[Bearer ]TOUCHSTONE_TOOL_NAME",
        "a header, and the environment variable that has its value (repeatable)",
    )
    added.add_argument("--results", default="", metavar="PATH", help="JMESPath to the results")
    for name, default in (("text", "text"), ("title", ""), ("link", ""), ("score", "")):
        added.add_argument(f"--{name}", default=default, metavar="PATH", help=f"{name} of a result")
    added.add_argument("--most", type=int, default=10, help="results taken from one answer")
    added.add_argument("--seconds", type=float, default=10.0, help="longest wait")
    verb(tools.test_tool, "name", "question")
    verb(tools.remove_tool, "name")


def _tokens(verb: Verb) -> None:
    """The verb for who may use the API."""
    added = verb(tokens.token)
    added.add_argument("action", choices=("create", "list", "revoke"))
    added.add_argument("name", nargs="?", help="what a new token is called, or the id of an old")
    added.add_argument(
        "--scope",
        action="append",
        choices=tuple(SCOPES),
        help="what it allows (repeatable; default: read)",
    )
    added.add_argument("--days", type=int, default=90, help="how long it is valid")
    _switch(added, "--forever", "it does not expire")


def _measuring(verb: Verb) -> None:
    """Verbs that measure recipes, or hold one against what is demanded."""
    added = verb(verbs.evaluate, "kb", "set_name", recipe=True)
    added.add_argument("--k", default="1,3,5,10,20,100", help="cutoffs, separated by commas")
    _switch(added, "--by-tokens", "measure labelled spans in tokens too")
    _switch(
        added,
        "--ignore-identical-ids",
        "a document named like the question's id is no result, as in BEIR's ArguAna",
    )
    _switch(added, "--without-users", "leave out questions that somebody asked in a chat")
    _switch(added, "--answers", "answer every question too, and measure the answers")
    added.add_argument("--judge", metavar="PROVIDER:MODEL", default="", help="grades answers too")
    _budget(added, "answers")
    added = verb(verbs.judge, "kb", "set_name")
    added.add_argument("--judge", metavar="PROVIDER:MODEL", required=True, help="a chat model")
    added.add_argument("--run", help="a run; the newest of the set if left out")
    added.add_argument("--repeat", type=int, default=1, help="grades for every hit")
    added.add_argument("--most", type=int, metavar="N", help="at most N grades in this go")
    added = verb(verbs.sweep, "kb", "set_name", recipe=True)
    added.add_argument(
        "--grid", type=Path, required=True, metavar="FILE", help="JSON: field to list of values"
    )
    added.add_argument("--k", default="1,3,5,10,20", help="cutoffs, separated by commas")
    added.add_argument("--by", metavar="METRIC", help="what the best are shown by")
    added.add_argument(
        "--verify",
        type=int,
        default=0,
        metavar="N",
        help="evaluate N of the recipes one by one; exit 1 unless all figures are identical",
    )
    _switch(added, "--as-shown", "cut rankings at top-k before measuring them")
    _switch(
        added,
        "--held-out",
        "judge the best on the held-out questions, chosen on the tuning ones, instead of by "
        "cross-validation",
    )
    _switch(added, "--context", "also count the tokens of the passages shown")
    _switch(added, "--by-tokens", "measure labelled spans in tokens too")
    for call in (verbs.calibrate, verbs.threshold):
        added = verb(call, "kb", "set_name", recipe=True)
        added.add_argument(
            "--precision", type=float, default=0.9, help="wanted share of relevant passages"
        )
    added = verb(verbs.gate, "kb", "set_name", recipe=True)
    _repeatable(added, "--min", "METRIC=VALUE", "least mean, such as ndcg@10=0.7 (repeatable)")
    added.add_argument("--baseline", metavar="RUN", help="a run that may not be undercut")
    added.add_argument(
        "--tolerance", type=float, default=0.0, help="how far below the baseline is allowed"
    )


def _sharing(verb: Verb) -> None:
    """Verbs that list runs, and hand one to others."""
    verb(verbs.runs, "kb")
    added = verb(verbs.export_run, "kb", "run")
    added.add_argument("-o", "--output", type=Path, required=True, help="the run file")
    added.add_argument("--qrels", type=Path, help="also write the judgements that fit it")
    kb = "the knowledge base of the run (default: found by the run)"
    added = verb(verbs.report, "run")
    added.add_argument("-o", "--output", type=Path, required=True, help="the .html file")
    added.add_argument("--kb", help=kb)
    added.add_argument("--baseline", metavar="RUN", help="a run to compare with (default: pinned)")
    added = verb(verbs.bundle, "run")
    added.add_argument("-o", "--output", type=Path, required=True, help="the .zip file")
    added.add_argument("--kb", help=kb)
    _switch(added, "--with-documents", "include the documents themselves")
    added = verb(verbs.import_bundle)
    added.add_argument("file", type=Path)
    added.add_argument("--kb", help="name of the new knowledge base (default: the bundle's)")
    added.add_argument("--documents", type=Path, metavar="FOLDER", help="where the documents are")


def _maintaining(verb: Verb) -> None:
    """Verbs that look after a home."""
    _switch(verb(maintenance.check), "--repair", "remove what nothing refers to")
    verb(maintenance.backup).add_argument("file", type=Path)
    added = verb(maintenance.restore)
    added.add_argument("file", type=Path)
    _switch(added, "--force", "set aside what the home holds, and replace it")


def _budget(added: Parser, what: str) -> None:
    added.add_argument("--most", type=int, metavar="N", help=f"pause after N {what}")
    added.add_argument("--most-tokens", type=int, metavar="N", help="pause after N tokens")


def _switch(added: Parser, flag: str, text: str) -> None:
    added.add_argument(flag, action="store_true", help=text)


def _repeatable(added: Parser, flag: str, metavar: str, text: str) -> None:
    added.add_argument(flag, action="append", default=[], metavar=metavar, help=text)
