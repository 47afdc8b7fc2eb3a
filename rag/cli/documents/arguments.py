"""Arguments of the verbs for documents and question sets."""

from __future__ import annotations

from pathlib import Path

from rag import STORE_KINDS
from rag.cli.documents import builds, examining, importing
from rag.cli.options import Verb, repeatable, switch


def declare(verb: Verb) -> None:
    """The arguments of all these verbs."""
    _importing_verbs(verb)
    _build_verbs(verb)


def _store_verb(verb: Verb) -> None:
    added = verb(importing.import_store, "kb")
    added.add_argument("kind", choices=STORE_KINDS)
    added.add_argument("address", help="postgresql://USER@HOST:PORT/DATABASE, or https://...")
    added.add_argument("name", help="the table, collection or index")
    added.add_argument("--embedder", required=True, help="the embedder that made the vectors")
    added.add_argument("--text", default="", help="the field with the text")
    added.add_argument("--vector", default="", help="the field with the vectors")
    added.add_argument("--id", default="", help="the field that names a row (default: its key)")
    added.add_argument("--title", default="", help="the field with the title")
    repeatable(added, "--field", "NAME", "a field to keep as metadata (repeatable; default: all)")
    repeatable(added, "--only", "FIELD=VALUE", "only rows with this value (repeatable)")
    added.add_argument(
        "--key",
        default="",
        metavar="VARIABLE",
        help="the environment variable of the password or key: TOUCHSTONE_TOOL_NAME",
    )
    switch(added, "--preview", "show fields, rows and a check of the vectors, and import nothing")


def _ingest_verb(verb: Verb) -> None:
    added = verb(importing.ingest, "kb", recipe=True)
    added.add_argument("source", nargs="+", metavar="PATH|URL")
    added.add_argument(
        "--encoding",
        default="",
        metavar="NAME",
        help="the encoding of text files, such as cp1252 (default: told from their bytes)",
    )
    added.add_argument(
        "--password-file",
        type=Path,
        metavar="FILE",
        help="passwords to try on encrypted PDFs, one on each line (else asked for at a terminal)",
    )


def _importing_verbs(verb: Verb) -> None:
    """Verbs that bring documents and questions in, and questions out."""
    verb(importing.demo)
    _ingest_verb(verb)
    verb(importing.read_again, "kb")
    added = verb(importing.import_beir, "kb", recipe=True)
    added.add_argument("folder", type=Path)
    added.add_argument("--split", default="test")
    _store_verb(verb)
    added = verb(importing.import_questions, "kb")
    added.add_argument(
        "file",
        type=Path,
        help="a .jsonl, .csv, .tsv, .xlsx, .qrels or .txt file, or a BEIR folder or .zip",
    )
    repeatable(
        added,
        "--column",
        "FIELD=NAME",
        "the column of a table with question, id, tags, document, quote, grade ... (repeatable)",
    )
    repeatable(added, "--ignore-column", "NAME", "ignore a column that is not a field (repeatable)")
    added.add_argument("--split", help="which qrels of a BEIR collection (default: test)")
    added.add_argument("--name", help="name of the set (default: the file's)")
    switch(added, "--skip-bad", "skip and list lines that cannot be read")
    added.add_argument(
        "--existing",
        choices=("replace", "add", "refuse"),
        default="replace",
        help="if the set exists: replace it and keep its version (default), add to it, or refuse",
    )
    problems = {1: "questions repeat or contradict each other, or cannot be measured"}
    added = verb(importing.check_questions, "kb", "set_name", exits=problems)
    added.add_argument("--licence", metavar="TEXT", help="state the licence of the set")
    added = verb(importing.question_versions, "kb", "set_name")
    added.add_argument("--restore", type=int, metavar="VERSION", help="bring this version back")
    added = verb(importing.export_questions, "kb", "set_name")
    added.add_argument(
        "-o",
        "--output",
        type=Path,
        help="a .jsonl, .csv or .qrels file, or a BEIR folder or .zip (default: JSONL to stdout)",
    )
    switch(added, "--with-documents", "include the documents in a BEIR collection")
    added = verb(importing.tag, "kb")
    added.add_argument("document", help="its name or id")
    added.add_argument("tag", nargs="*", help="all its tags; without any, its tags are removed")
    added = verb(examining.examine, "kb")
    added.add_argument("--settle", metavar="ID", help="the finding to decide on")
    decision = added.add_mutually_exclusive_group()
    decision.add_argument("--keep", metavar="DOCUMENT", help="exclude what the other one says")
    decision.add_argument("--both-right", metavar="REASON", help="both are right, and why")
    decision.add_argument("--ignore", action="store_true", help="do not show this finding again")
    decision.add_argument("--reopen", action="store_true", help="undo the decision")
    added = verb(examining.edit_passages, "kb")
    added.add_argument("document", help="its name or id")
    repeatable(added, "--exclude", "QUOTE", "text to exclude from passages (repeatable)")
    repeatable(added, "--split", "QUOTE", "text at which a passage begins (repeatable)")
    repeatable(added, "--join", "QUOTE", "text to keep in one passage (repeatable)")
    added.add_argument(
        "--words",
        action="append",
        default=[],
        nargs=2,
        metavar=("QUOTE", "WORDS"),
        help="search terms for the passages with QUOTE, which are not shown (repeatable)",
    )
    added.add_argument(
        "--remove",
        action="append",
        default=[],
        type=int,
        metavar="ID",
        help="undo an edit (repeatable)",
    )


def _build_verbs(verb: Verb) -> None:
    """Verbs for index builds."""
    verb(builds.builds, "kb")
    added = verb(builds.remove_build, "kb")
    added.add_argument("build", help="its id, or the first characters of it")
