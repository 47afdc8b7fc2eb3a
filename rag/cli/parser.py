"""The verbs of the command line and what each takes. A contract: scripts depend on it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def parser() -> argparse.ArgumentParser:
    """The parser; its subcommands are the verbs."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--home", type=Path, help="where data lives (TOUCHSTONE_HOME)")
    common.add_argument("--json", action="store_true", help="print one JSON object")
    recipe = argparse.ArgumentParser(add_help=False)
    recipe.add_argument("--recipe", type=Path, metavar="FILE", help="a recipe as JSON")
    recipe.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="override one recipe field, such as search.top_k=10 (repeatable)",
    )
    root = argparse.ArgumentParser(
        prog="python -m rag", description="Retrieval over your documents, with evidence."
    )
    verbs = root.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, text: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=text, description=text, parents=[common, *parents])

    verb("demo", "load the sample knowledge base and its questions")
    each = verb("ingest", "add files, folders and web addresses", recipe)
    each.add_argument("kb")
    each.add_argument("source", nargs="+", metavar="PATH|URL")
    each = verb("import-beir", "import a BEIR folder as documents and a question set", recipe)
    each.add_argument("kb")
    each.add_argument("folder", type=Path)
    each.add_argument("--split", default="test")
    each = verb("import-questions", "import a question set, or judgements of one")
    each.add_argument("kb")
    each.add_argument(
        "file", type=Path, help="a .jsonl, .csv, .qrels or .txt file, or a BEIR folder or .zip"
    )
    each.add_argument("--split", help="which qrels of a BEIR collection (default: test)")
    each.add_argument("--name", help="name of the set (default: the file's)")
    each = verb("export-questions", "write a question set")
    each.add_argument("kb")
    each.add_argument("set_name", metavar="SET")
    each.add_argument(
        "-o",
        "--output",
        type=Path,
        help="a .jsonl, .csv or .qrels file, or a BEIR folder or .zip (default: JSONL to stdout)",
    )
    each.add_argument(
        "--with-documents", action="store_true", help="include the documents in a BEIR collection"
    )
    each = verb("tag", "set the tags of a document, which searches can be restricted to")
    each.add_argument("kb")
    each.add_argument("document", help="its name or id")
    each.add_argument("tag", nargs="*", help="all its tags; none takes them away")
    _asking(verb, recipe)
    _tools(verb)
    each = verb("rename", "give a knowledge base another name")
    each.add_argument("kb")
    each.add_argument("name")
    verb("builds", "list the index builds of a knowledge base").add_argument("kb")
    each = verb("remove-build", "delete an index build; documents, labels and runs stay")
    each.add_argument("kb")
    each.add_argument("build", help="its id, or the beginning of it")
    each = verb("evaluate", "measure a recipe on a question set and keep the run", recipe)
    each.add_argument("kb")
    each.add_argument("set_name", metavar="SET")
    each.add_argument("--k", default="1,3,5,10,20,100", help="cutoffs, separated by commas")
    _by_tokens(each)
    _tuning(verb, recipe)
    verb("runs", "list kept runs").add_argument("kb")
    each = verb("export-run", "write the rankings of a run as a TREC run file")
    each.add_argument("kb")
    each.add_argument("run", metavar="RUN")
    each.add_argument("-o", "--output", type=Path, required=True, help="the run file")
    each.add_argument("--qrels", type=Path, help="also write the judgements that fit it")
    _sharing(verb)
    verb("schema", "print the JSON Schema of a recipe")
    each = verb("bench", "print ratios against other libraries, measured side by side")
    each.add_argument("--data", type=Path, help="folder with BEIR collections")
    each.add_argument("--only", help="one benchmark by name")
    return root


def _asking(verb: Callable[..., argparse.ArgumentParser], recipe: argparse.ArgumentParser) -> None:
    """Verbs that take a question."""
    for name, text in (("search", "find passages"), ("ask", "answer with citations")):
        each = verb(name, text, recipe)
        each.add_argument("kb")
        each.add_argument("question")
        each.add_argument(
            "--also",
            action="append",
            default=[],
            metavar="KB2[:top_k=3,threshold=0.3,weight=0.5]",
            help="search this knowledge base too, by its saved recipe (repeatable)",
        )
        each.add_argument("--all", action="store_true", help="search all knowledge bases")
    _explaining(verb, recipe)


def _explaining(
    verb: Callable[..., argparse.ArgumentParser], recipe: argparse.ArgumentParser
) -> None:
    """The verb that says why."""
    each = verb("explain", "why a passage is found or not, and what would change it", recipe)
    each.add_argument("kb")
    each.add_argument("question")
    what = each.add_mutually_exclusive_group()
    what.add_argument("--chunk", metavar="ID", help="a passage by its id")
    what.add_argument("--find", metavar="TEXT", help="the passages that hold these words")
    what.add_argument("--document", metavar="NAME", help="the best passages of a document")
    what.add_argument(
        "--against-run", metavar="RUN", help="the same question with the recipe of a run"
    )
    each.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="the same question with a field changed, side by side (repeatable)",
    )
    each.add_argument(
        "--attribution", action="store_true", help="with --chunk: what carries the similarity"
    )


def _tools(verb: Callable[..., argparse.ArgumentParser]) -> None:
    """Verbs for services that are asked beside the documents."""
    verb("tools", "list the HTTP tools that recipes may name in search.tools")
    each = verb("add-tool", "add or change an HTTP tool")
    each.add_argument("name")
    each.add_argument("url", help="its address; {question} stands in path, query or --body")
    each.add_argument("--body", default="", metavar="JSON", help="sent by POST")
    each.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="HEADER=[Bearer ]TOUCHSTONE_TOOL_NAME",
        help="a header, and the environment variable that has its value (repeatable)",
    )
    each.add_argument("--results", default="", metavar="PATH", help="JMESPath to the results")
    for name, default in (("text", "text"), ("title", ""), ("link", ""), ("score", "")):
        each.add_argument(f"--{name}", default=default, metavar="PATH", help=f"{name} of a result")
    each.add_argument("--most", type=int, default=10, help="results taken from one answer")
    each.add_argument("--seconds", type=float, default=10.0, help="longest wait")
    each = verb("test-tool", "ask an HTTP tool, and print its results as they are understood")
    each.add_argument("name")
    each.add_argument("question")
    verb("remove-tool", "delete an HTTP tool").add_argument("name")


def _by_tokens(each: argparse.ArgumentParser) -> None:
    each.add_argument(
        "--by-tokens", action="store_true", help="measure labelled spans in tokens too"
    )


def _tuning(verb: Callable[..., argparse.ArgumentParser], recipe: argparse.ArgumentParser) -> None:
    """Verbs that measure many recipes, or hold one against what is demanded."""
    each = verb("sweep", "measure every recipe of a grid; candidates are fetched once", recipe)
    each.add_argument("kb")
    each.add_argument("set_name", metavar="SET")
    each.add_argument(
        "--grid", type=Path, required=True, metavar="FILE", help="JSON: field to list of values"
    )
    each.add_argument("--k", default="1,3,5,10,20", help="cutoffs, separated by commas")
    each.add_argument("--by", metavar="METRIC", help="what the best are shown by")
    each.add_argument(
        "--verify",
        type=int,
        default=0,
        metavar="N",
        help="evaluate N of the recipes one by one; exit 1 unless all figures are identical",
    )
    each.add_argument(
        "--as-shown", action="store_true", help="cut rankings at top-k before measuring them"
    )
    each.add_argument(
        "--context", action="store_true", help="also count the tokens of the passages shown"
    )
    _by_tokens(each)
    each = verb("calibrate", "learn P(relevant) from labels, and recommend a threshold", recipe)
    each.add_argument("kb")
    each.add_argument("set_name", metavar="SET")
    each.add_argument(
        "--precision", type=float, default=0.9, help="wanted share of relevant passages"
    )
    each = verb("gate", "exit 1 when a recipe falls short of demands or of a former run", recipe)
    each.add_argument("kb")
    each.add_argument("set_name", metavar="SET")
    each.add_argument(
        "--min",
        action="append",
        default=[],
        metavar="METRIC=VALUE",
        help="least mean, such as ndcg@10=0.7 (repeatable)",
    )
    each.add_argument("--baseline", metavar="RUN", help="a run that may not be undercut")
    each.add_argument(
        "--tolerance", type=float, default=0.0, help="how far below the baseline is allowed"
    )


def _sharing(verb: Callable[..., argparse.ArgumentParser]) -> None:
    """Verbs that hand a run to others."""
    each = verb("report", "write a run as one HTML file that opens anywhere")
    each.add_argument("run", metavar="RUN")
    each.add_argument("-o", "--output", type=Path, required=True, help="the .html file")
    each.add_argument("--kb", help="the knowledge base of the run (default: found by the run)")
    each.add_argument("--baseline", metavar="RUN", help="a run to compare with (default: pinned)")
    each = verb("bundle", "write a run as a zip that another machine can repeat")
    each.add_argument("run", metavar="RUN")
    each.add_argument("-o", "--output", type=Path, required=True, help="the .zip file")
    each.add_argument("--kb", help="the knowledge base of the run (default: found by the run)")
    each.add_argument(
        "--with-documents", action="store_true", help="include the documents themselves"
    )
    each = verb("import-bundle", "repeat a bundled run and compare every figure")
    each.add_argument("file", type=Path)
    each.add_argument("--kb", help="name of the new knowledge base (default: the bundle's)")
    each.add_argument("--documents", type=Path, metavar="FOLDER", help="where the documents are")
