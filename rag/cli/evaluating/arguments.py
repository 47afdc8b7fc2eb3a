"""Arguments of the verbs that measure, and of the verbs that share runs."""

from __future__ import annotations

from pathlib import Path

from rag import EXPORT_TARGETS, LOCAL_FORMS, SYSTEM_FORMS
from rag.cli.evaluating import diagnosing, kept_runs, measuring, sharing, stored_systems
from rag.cli.options import PAUSED, Verb, budget, repeatable, switch


def declare(verb: Verb) -> None:
    """The arguments of all these verbs."""
    _measuring_verbs(verb)
    _comparing_verbs(verb)
    _system_verbs(verb)
    _sharing_verbs(verb)


def _measuring_verbs(verb: Verb) -> None:
    """Verbs that measure recipes."""
    added = verb(measuring.evaluate, "kb", "set_name", recipe=True, exits=PAUSED)
    added.add_argument("--k", default="1,3,5,10,20,100", help="cutoffs, separated by commas")
    added.add_argument("--name", default="", help="the name of the run, which Runs shows")
    switch(added, "--by-tokens", "measure labelled spans in tokens too")
    switch(
        added,
        "--ignore-identical-ids",
        "ignore results whose document is named like the question's id, as in BEIR's ArguAna",
    )
    switch(added, "--without-users", "leave out questions from chats")
    switch(added, "--answers", "also answer every question, and score the answers")
    added.add_argument("--judge", metavar="PROVIDER:MODEL", default="", help="grades answers too")
    added.add_argument(
        "--judge-hits", metavar="PROVIDER:MODEL", help="then grade what is new among the hits"
    )
    added.add_argument("--depth", type=int, default=10, help="--judge-hits: the last rank to grade")
    switch(added, "--everyone", "with --answers: past interactions of all visitors")
    budget(added, "answers")
    added.add_argument(
        "--returned", type=Path, metavar="FILE", help="measure what another system returned instead"
    )
    switch(
        added,
        "--complete",
        "with --returned or --callable: questions without a ranking count as without results",
    )
    added.add_argument("--form", help="the form of FILE, if it is not recognised")
    added.add_argument(
        "--callable", metavar="MODULE:NAME", help="measure a retriever in Python instead"
    )
    added.add_argument("--system", metavar="NAME", help="measure a stored system instead")
    added = verb(measuring.judge, "kb", "set_name", exits=PAUSED)
    added.add_argument("--judge", metavar="PROVIDER:MODEL", required=True, help="a model")
    added.add_argument("--run", help="a run; the newest of the set if left out")
    added.add_argument("--repeat", type=int, default=1, help="grades for every hit")
    added.add_argument("--depth", type=int, default=10, help="the last rank to grade (default 10)")
    added.add_argument(
        "--trial", type=int, metavar="N", help="only compare N grades with those of people"
    )
    added.add_argument(
        "--against", metavar="RUN", help="compare the answers of the two runs, in both orders"
    )
    budget(added, "grades")
    differs = {1: "`--verify`: a figure of a sweep differs from that of an evaluation"}
    added = verb(measuring.sweep, "kb", "set_name", recipe=True, exits=differs)
    added.add_argument(
        "--grid", type=Path, required=True, metavar="FILE", help="JSON: field to list of values"
    )
    added.add_argument("--k", default="1,3,5,10,20", help="cutoffs, separated by commas")
    added.add_argument("--by", metavar="METRIC", help="the metric that ranks the recipes")
    added.add_argument(
        "--verify",
        type=int,
        default=0,
        metavar="N",
        help="evaluate N of the recipes one by one; exit 1 unless all figures are identical",
    )
    switch(added, "--as-shown", "cut rankings at top-k before measuring them")
    switch(
        added,
        "--held-out",
        "choose the best on the tuning questions and measure it on the held-out ones, "
        "instead of cross-validation",
    )
    switch(added, "--context", "also count the tokens of the passages shown")
    switch(added, "--by-tokens", "measure labelled spans in tokens too")
    for call in (measuring.calibrate, measuring.threshold):
        added = verb(call, "kb", "set_name", recipe=True)
        added.add_argument(
            "--precision", type=float, default=0.9, help="wanted share of relevant passages"
        )


def _comparing_verbs(verb: Verb) -> None:
    """Verbs that compare a recipe, a run or an embedder with another one."""
    added = verb(measuring.gate, "kb", "set_name", recipe=True, exits=kept_runs.GATE_EXITS)
    repeatable(
        added,
        "--min",
        "METRIC=VALUE",
        "minimum mean, such as ndcg@10=0.7 (repeatable); correct_refusal counts what the search "
        "refuses, correct_doubt the card Rightly unanswered",
    )
    added.add_argument(
        "--baseline",
        "--against",
        metavar="RUN",
        help="a run that the result must not fall below",
    )
    added.add_argument("--system", metavar="NAME", help="measure a stored system, not a recipe")
    added.add_argument("--name", default="", help="the name of the run, which Runs shows")
    added.add_argument(
        "--traffic", type=Path, metavar="FILE", help="measure the retrievals of recorded traces"
    )
    added.add_argument("--form", help="the form of FILE, if it is not recognised")
    added.add_argument(
        "--max-calls", type=int, metavar="N", help="with --traffic: retrievals of a trace at most"
    )
    added.add_argument(
        "--tolerance", type=float, default=0.0, help="allowed loss against the baseline"
    )
    switch(added, "--allow-trivial", "pass by metrics that no ranking of so few passages can lower")
    added = verb(diagnosing.diagnose, "kb", "set_name", recipe=True)
    added.add_argument(
        "--rebuild",
        action="store_true",
        help="build and try the changes of the index that are proposed",
    )
    added = verb(diagnosing.decide, "kb", "run")
    added.add_argument("--against", metavar="RUN", required=True, help="the other run")
    added.add_argument("--metric", default="precision@10", help="precision@K or dcg@K")
    added.add_argument(
        "--margin", type=float, default=0.05, help="a smaller difference makes the runs equal"
    )
    added.add_argument("--next", type=int, default=10, metavar="N", help="hits to judge next")
    added.add_argument("--judgements", type=Path, metavar="FILE", help="JSON lines to store first")


def _system_verbs(verb: Verb) -> None:
    """The verbs for systems under test, and for what they send."""
    added = verb(stored_systems.systems, "kb")
    actions = ("list", "add", "test", "remove")
    added.add_argument("action", nargs="?", choices=actions, default="list")
    added.add_argument("name", nargs="?", help="the name of a system")
    added.add_argument(
        "--form", choices=(*SYSTEM_FORMS, *LOCAL_FORMS), help="the product that it is"
    )
    added.add_argument("--address", default="", metavar="URL", help="where the product runs")
    added.add_argument("--command", default="", help="with mcp: a server of this computer to start")
    added.add_argument("--tool", default="", help="with mcp: the tool that searches (search)")
    repeatable(
        added, "--argument", "NAME[=JSON]", "of the tool: the question, or a value (repeatable)"
    )
    what = "with mcp: the tool that has the text of a result, by the argument id unless named"
    added.add_argument("--fetch", default="", metavar="TOOL[:ARGUMENT]", help=what)
    repeatable(
        added,
        "--env",
        "NAME=TOUCHSTONE_TOOL_NAME",
        "a variable of the command, and the one that has its value (repeatable)",
    )
    for name in ("results", "text", "title", "id", "score"):
        help_text = f"JMESPath to the {name} of an answer of --tool; recognised without any path"
        added.add_argument(f"--{name}", default="", metavar="PATH", help=help_text)
    added.add_argument("--collection", default="", metavar="ID", help="its knowledge base or store")
    added.add_argument(
        "--key", metavar="TOUCHSTONE_TOOL_NAME", help="the environment variable that has its key"
    )
    added.add_argument("--most", type=int, default=10, help="results to ask for (default 10)")
    added.add_argument("--definition", metavar="FILE", help="JSON: the request of any other form")
    added.add_argument("--question", metavar="TEXT", help="asks it, and shows the located results")


def _sharing_verbs(verb: Verb) -> None:
    """Verbs that list runs, and hand one to others."""
    verb(measuring.runs, "kb")
    below = {1: "`--min`: the mean overlap is below the share"}
    added = verb(sharing.parity, "kb", "run", exits=below)
    added.add_argument("other", metavar="other", help="the run to compare with")
    added.add_argument("--k", type=int, default=10, help="ranks to compare (default 10)")
    added.add_argument(
        "--min", type=float, metavar="SHARE", help="exit 1 if the mean overlap is below this share"
    )
    added = verb(sharing.export_passages, "kb", recipe=True)
    added.add_argument("-o", "--output", type=Path, required=True, help="the JSONL file")
    switch(added, "--vectors", "with the vector of each passage")
    added = verb(sharing.export_recipe, "kb", recipe=True)
    added.add_argument("--target", choices=tuple(EXPORT_TARGETS), required=True, help="the engine")
    added.add_argument("-o", "--output", type=Path, help="a file (default: standard output)")
    added = verb(sharing.export_run, "kb", "run")
    added.add_argument("-o", "--output", type=Path, required=True, help="the run file")
    added.add_argument("--qrels", type=Path, help="also write the matching judgements")
    kb = "the knowledge base of the run (default: found by the run)"
    added = verb(sharing.report, "run")
    added.add_argument("-o", "--output", type=Path, required=True, help="the .html file")
    added.add_argument("--kb", help=kb)
    added.add_argument("--baseline", metavar="RUN", help="a run to compare with (default: pinned)")
    added = verb(sharing.bundle, "run")
    added.add_argument("-o", "--output", type=Path, required=True, help="the .zip file")
    added.add_argument("--kb", help=kb)
    text = "only this question, as JSON without words of it or of the documents"
    added.add_argument("--question", metavar="ID", help=text)
    switch(added, "--with-documents", "include the documents themselves")
    differs = {1: "a figure of the repeated run differs"}
    added = verb(sharing.import_bundle, exits=differs)
    added.add_argument("file", type=Path)
    added.add_argument("--kb", help="name of the new knowledge base (default: the bundle's)")
    added.add_argument("--documents", type=Path, metavar="FOLDER", help="folder of the documents")
