"""What each verb does: a call of the workspace, and the result as printable output."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from rag import (
    MOST_ROWS,
    Grid,
    InvalidInput,
    JobItem,
    KnowledgeBase,
    Recipe,
    Workspace,
)
from rag.cli import (
    asked,
    benchmarks,
    conversing,
    explaining,
    importing,
    inputs,
    kept_runs,
    passwords,
    printing,
    sharing,
    tuning,
)
from rag.cli.printing import Output


def demo(args: argparse.Namespace) -> Output:
    """Load the sample knowledge base and its questions."""
    workspace = inputs.workspace(args)
    base, job = workspace.start_demo()
    printing.follow(workspace.jobs, job)
    return printing.ingested(base, workspace.jobs.items(job))


def ingest(args: argparse.Namespace) -> Output:
    """Add files, folders and web addresses."""
    workspace = inputs.workspace(args)
    urls = [each for each in args.source if each.lower().startswith(("http://", "https://"))]
    paths = [inputs.existing(each) for each in args.source if each not in urls]
    tried = passwords.given(args.password_file)

    def done(job: int) -> list[JobItem]:
        printing.follow(workspace.jobs, job)
        return workspace.jobs.items(job)

    with _base_for_adding(workspace, args) as base:
        items = done(base.documents.add_paths(paths, urls))
        items = passwords.opened(base, items, tried, lambda job: done(job)[0])
        return printing.ingested(base, items)


def read_again(args: argparse.Namespace) -> Output:
    """Read documents again whose reader has become better."""
    workspace = inputs.workspace(args)
    base = workspace.base(args.kb)
    if not base.documents.again.outdated():
        data = {"knowledge_base": base.name, "documents": []}
        return Output(data, "Every document was read by the present readers.")
    job = base.documents.again.queue()
    printing.follow(workspace.jobs, job)
    return printing.ingested(base, workspace.jobs.items(job))


def import_beir(args: argparse.Namespace) -> Output:
    """Import a BEIR folder as documents and a question set."""
    workspace = inputs.workspace(args)
    with _base_for_adding(workspace, args) as base:
        printing.follow(workspace.jobs, base.documents.import_beir(args.folder, args.split))
        return importing.imported(base, base.questions.named(args.folder.resolve().name))


def import_questions(args: argparse.Namespace) -> Output:
    """Import a question set, or judgements of one."""
    base = inputs.workspace(args).base(args.kb)
    name, skip = args.name or args.file.resolve().stem, args.skip_bad
    if args.file.is_dir():
        came = base.exchange.import_folder(name, args.file, args.split, skip_bad=skip)
    else:
        columns = dict(inputs.column(each) for each in args.column)
        content = inputs.bytes_in(args.file)
        came = base.exchange.import_file(
            name, args.file.name, content, args.split, columns, skip_bad=skip
        )
    return importing.imported(base, base.questions.named(name), came)


def export_questions(args: argparse.Namespace) -> Output:
    """Write a question set."""
    exchange, path = inputs.workspace(args).base(args.kb).exchange, args.output
    kind = path.suffix.lower() if path else ".jsonl"
    if path and (kind in ("", ".zip") or path.is_dir()):
        packed = exchange.export_beir(args.set_name, with_documents=args.with_documents)
        if kind == ".zip":
            inputs.write(path, packed)
        else:
            inputs.unpack(path, packed)
        return printing.exported("", path)
    forms: dict[str, Literal["csv", "qrels"]] = {".csv": "csv", ".qrels": "qrels", ".txt": "qrels"}
    content = exchange.export_text(args.set_name, forms.get(kind, "jsonl"))
    if path:
        inputs.write(path, content.encode("utf-8", "replace"))
    return printing.exported(content, path)


def export_run(args: argparse.Namespace) -> Output:
    """Write the rankings of a run as a TREC run file."""
    exchange = inputs.workspace(args).base(args.kb).exchange
    inputs.write(args.output, exchange.export_run(args.run).encode("utf-8", "replace"))
    if args.qrels:
        inputs.write(args.qrels, exchange.export_run_qrels(args.run).encode("utf-8", "replace"))
    return sharing.written(args.output, run=args.run)


def tag(args: argparse.Namespace) -> Output:
    """Set the tags of a document, which searches can be restricted to."""
    tags = inputs.workspace(args).base(args.kb).documents.tag(args.document, args.tag)
    data = {"document": args.document, "tags": list(tags)}
    return Output(data, f"{args.document}: {', '.join(tags) or 'no tag'}")


def search(args: argparse.Namespace) -> Output:
    """Find passages."""
    base, recipe, beside = asked.several(args)
    return printing.trace(base.search(args.question, recipe, beside))


def ask(args: argparse.Namespace) -> Output:
    """Answer with citations."""
    if args.session is not None:
        return conversing.ask_in_session(args)
    base, recipe, beside = asked.several(args)
    stream = base.ask(args.question, recipe, beside)
    return printing.answer(stream.answer, stream.error)


def explain(args: argparse.Namespace) -> Output:
    """Why a passage is found or not, and what would change it."""
    base, recipe = asked.ready(args)
    changes = dict(inputs.assignment(each) for each in args.against)
    return explaining.explain(base, recipe, args, changes)


def rename(args: argparse.Namespace) -> Output:
    """Give a knowledge base another name."""
    inputs.workspace(args).rename(args.kb, args.name)
    return Output({"renamed": args.kb, "name": args.name.strip()}, f"renamed to {args.name}")


def evaluate(args: argparse.Namespace) -> Output:
    """Measure a recipe on a question set and keep the run."""
    cutoffs = inputs.cutoffs(args.k)
    base, recipe = asked.ready(args)
    if args.answers:
        return kept_runs.answered(inputs.workspace(args).jobs, base, recipe, args)
    found = base.evaluator.evaluate(
        args.set_name,
        recipe,
        cutoffs,
        printing.progress,
        by_tokens=args.by_tokens,
        ignore_identical=args.ignore_identical_ids,
        without_users=args.without_users,
    )
    run, leading = found.run.id, f"ndcg@{10 if 10 in cutoffs else cutoffs[-1]}"
    tags = base.run_figures.by_tag(run, [leading, "correct_refusal"])
    return printing.evaluation(
        found,
        base.run_figures.intervals(run),
        base.run_figures.unjudged(run),
        tags,
        base.questions.lost_labels(args.set_name),
        base.run_figures.plan(args.set_name, leading),
    )


def judge(args: argparse.Namespace) -> Output:
    """Let a language model grade the hits of the set's newest run, and say how far it is right."""
    return kept_runs.judged(inputs.workspace(args), args)


def sweep(args: argparse.Namespace) -> Output:
    """Measure every recipe of a grid; candidates are fetched once."""
    cutoffs, workspace = inputs.cutoffs(args.k), inputs.workspace(args)
    base = workspace.base(args.kb)
    grid = Grid.parse(inputs.json_in(args.grid), asked.recipe(args, base.recipe()))
    compared = any(grid.builds) and len(grid) <= MOST_ROWS and not args.as_shown
    if args.by_tokens and not compared:
        raise InvalidInput(
            "--by-tokens measures ways to cut, and this sweep compares none.",
            f"Give a grid with index fields, of up to {MOST_ROWS} recipes, without --as-shown.",
        )
    needed = [each.index for each in (*grid.indexes(), grid.base)]
    job = base.documents.build_several(needed)
    if job is not None:
        printing.follow(workspace.jobs, job)
    sweeper = base.tuning.sweeper(args.set_name)
    by = args.by or ("ndcg@10" if 10 in cutoffs else f"ndcg@{cutoffs[-1]}")
    found = sweeper.sweep(
        grid,
        cutoffs,
        as_shown=args.as_shown,
        with_context=args.context,
        apart=None if args.held_out else sweeper.tellable(by, cutoffs, grid),
        tell=printing.progress,
    )
    if by not in found.names:
        raise InvalidInput(f"{by!r} was not measured.", "There are: " + ", ".join(found.names))
    best = base.tuning.judged(found, sweeper, by, held_out=args.held_out)
    rows = (
        base.tuning.build_table.rows(args.set_name, grid, cutoffs, by_tokens=args.by_tokens)
        if compared
        else []
    )
    if args.verify < 1:
        return tuning.sweep(found, best, (), None, by, rows)
    mismatches = sweeper.verify(found, args.verify, tell=printing.progress)
    return tuning.sweep(found, best, mismatches, min(args.verify, len(grid)), by, rows)


def calibrate(args: argparse.Namespace) -> Output:
    """Learn P(relevant) from labels, and the threshold that promises a precision."""
    wanted = inputs.precision(args.precision)
    base, recipe = asked.ready(args)
    found, _ = base.tuning.calibrator.fit(args.set_name, recipe)
    learned = recipe.with_fields({"search.relevance": "probability"})
    tuner = base.tuning.tuner(args.set_name)
    topics = tuner.topic_probabilities(recipe)
    refusal = None if topics is None else topics.chosen(tuning.REFUSAL_COST)
    return tuning.calibration(found, tuner.promise_curves(learned).promise(wanted), refusal)


def threshold(args: argparse.Namespace) -> Output:
    """Say what a threshold does, and which one promises a precision."""
    wanted = inputs.precision(args.precision)
    base, recipe = asked.ready(args)
    tuner = base.tuning.tuner(args.set_name)
    curves = tuner.threshold_curve(recipe), tuner.promise_curves(recipe)
    return tuning.threshold(base.threshold(recipe), *curves, wanted)


def gate(args: argparse.Namespace) -> Output:
    """Exit 1 when a recipe falls short of demands or of a former run."""
    least = dict(inputs.least(each) for each in args.min)
    base, recipe = asked.ready(args)
    return kept_runs.gate(
        base.gate.check(
            args.set_name, recipe, least, args.baseline, args.tolerance, printing.progress
        )
    )


def runs(args: argparse.Namespace) -> Output:
    """List kept runs."""
    kept = inputs.workspace(args).base(args.kb).runs
    found = kept.every()
    sets = dict.fromkeys(run.question_set for run in found)
    rows = {row.run.id: row for name in sets for row in kept.leaderboard(name)}
    return kept_runs.listed(found, rows)


def report(args: argparse.Namespace) -> Output:
    """Write a run as one HTML file that opens anywhere."""
    base = asked.base_of_run(inputs.workspace(args), args)
    page = base.reports.html(args.run, args.baseline)
    inputs.write(args.output, page.encode("utf-8", "replace"))
    return sharing.written(args.output, run=args.run)


def bundle(args: argparse.Namespace) -> Output:
    """Write a run as a zip that another machine can repeat."""
    workspace = inputs.workspace(args)
    asked.base_of_run(workspace, args).runs.get(args.run)
    workspace.bundle(args.run, args.output, with_documents=args.with_documents)
    return sharing.written(args.output, run=args.run)


def import_bundle(args: argparse.Namespace) -> Output:
    """Repeat a bundled run and compare every figure."""
    workspace = inputs.workspace(args)
    return sharing.reproduction(
        workspace.import_bundle(args.file, args.kb, args.documents, printing.working)
    )


def schema(args: argparse.Namespace) -> Output:
    """Print the JSON Schema of a recipe."""
    definition = Recipe.model_json_schema()
    return Output(definition, json.dumps(definition, indent=2))


def bench(args: argparse.Namespace) -> Output:
    """Print ratios against other libraries, measured side by side."""
    return benchmarks.ratios(benchmarks.run(args.data, args.only))


@contextmanager
def _base_for_adding(workspace: Workspace, args: argparse.Namespace) -> Iterator[KnowledgeBase]:
    """The base, made with the recipe asked for; one that exists gets a build for it.

    One that is made here and gets no document, because the input is bad, does not stay.
    """
    known = {info.name for info in workspace.bases()}
    recipe = asked.recipe(args, workspace.base(args.kb).recipe() if args.kb in known else Recipe())
    base = workspace.open_or_create(args.kb, recipe)
    if args.kb in known:
        base.documents.prepare_build(recipe.index)
        yield base
        return
    interrupted = False
    try:
        yield base
    except KeyboardInterrupt:
        interrupted = True  # the job stays, for the next command to go on with
        raise
    finally:
        others = any(job.active for job in workspace.jobs.recent(base.id))
        if not interrupted and not others and not base.documents.documents(recipe.index):
            workspace.delete(base.name)
