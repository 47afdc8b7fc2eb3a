"""Arguments of the verbs for documents and question sets."""

from __future__ import annotations

from pathlib import Path

from rag.cli.documents import builds, importing, passage_edits
from rag.cli.options import Verb, repeatable, switch


def importing_verbs(verb: Verb) -> None:
    """Verbs that bring documents and questions in, and questions out."""
    verb(importing.demo)
    added = verb(importing.ingest, "kb", recipe=True)
    added.add_argument("source", nargs="+", metavar="PATH|URL")
    added.add_argument(
        "--password-file",
        type=Path,
        metavar="FILE",
        help="passwords to try on encrypted PDFs, one on each line (else asked for at a terminal)",
    )
    verb(importing.read_again, "kb")
    added = verb(importing.import_beir, "kb", recipe=True)
    added.add_argument("folder", type=Path)
    added.add_argument("--split", default="test")
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
        "which column of a table holds question, id, tags, document, quote, grade ... (repeatable)",
    )
    repeatable(added, "--ignore-column", "NAME", "leave out a column that is no field (repeatable)")
    added.add_argument("--split", help="which qrels of a BEIR collection (default: test)")
    added.add_argument("--name", help="name of the set (default: the file's)")
    switch(added, "--skip-bad", "import the other lines where some cannot be read, and list those")
    added.add_argument(
        "--existing",
        choices=("replace", "add", "refuse"),
        default="replace",
        help="a set of that name: replace it, which keeps its version (default), add to it, "
        "or import nothing",
    )
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
    added.add_argument("tag", nargs="*", help="all its tags; none takes them away")
    added = verb(passage_edits.edit_passages, "kb")
    added.add_argument("document", help="its name or id")
    repeatable(added, "--exclude", "QUOTE", "words that no passage may hold (repeatable)")
    repeatable(added, "--split", "QUOTE", "words that a passage begins with (repeatable)")
    repeatable(added, "--join", "QUOTE", "words that stay in one passage (repeatable)")
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


def build_verbs(verb: Verb) -> None:
    """Verbs for index builds."""
    verb(builds.builds, "kb")
    added = verb(builds.remove_build, "kb")
    added.add_argument("build", help="its id, or the beginning of it")
