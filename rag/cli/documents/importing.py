"""Verbs that bring documents and questions in, and questions out."""

from __future__ import annotations

import argparse
import getpass
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rag import (
    HIGHEST_GRADE,
    MISLEADING,
    AlreadyExists,
    ExistingStore,
    Imported,
    InvalidInput,
    JobItem,
    KnowledgeBase,
    LockedFile,
    QuestionSet,
    Recipe,
    StorePreview,
    StorePreviewData,
    UnreadableDocument,
    Workspace,
    counted,
)
from rag.cli import inputs, printing, targets
from rag.cli.printing import Output, lost_data, lost_lines


def demo(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    base, job = workspace.start_demo()
    printing.follow(workspace.jobs, job)
    return printing.ingested(base, workspace.jobs.items(job))


def ingest(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    urls = [source for source in args.source if source.lower().startswith(("http://", "https://"))]
    paths = [inputs.existing(source) for source in args.source if source not in urls]
    tried = passwords_from(args.password_file)

    def done(job: int) -> list[JobItem]:
        printing.follow(workspace.jobs, job)
        return workspace.jobs.items(job)

    with _adding(
        workspace,
        args,
        lambda recipe: workspace.create_from_paths(args.kb, paths, urls, recipe, args.encoding),
        lambda base: base.documents.add_paths(paths, urls, args.encoding),
    ) as (base, job):
        items = done(job)
        items = unlocked(base, items, tried, lambda job: done(job)[0])
        return printing.ingested(base, items)


def read_again(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    base = workspace.base(args.kb)
    if not base.documents.outdated():
        data = {"knowledge_base": base.name, "documents": []}
        return Output(data, "All documents were read by the current readers.")
    job = base.documents.read_again()
    printing.follow(workspace.jobs, job)
    return printing.ingested(base, workspace.jobs.items(job))


def import_beir(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    with _adding(
        workspace,
        args,
        lambda recipe: workspace.create_from_beir(args.kb, args.folder, args.split, recipe),
        lambda base: base.documents.import_beir(args.folder, args.split),
    ) as (base, job):
        printing.follow(workspace.jobs, job)
        return _imported(base, base.questions.named(args.folder.resolve().name))


def import_store(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    fields = ("kind", "address", "name", "key", "text", "vector", "id", "title")
    store = ExistingStore.parse(
        {name: getattr(args, name) for name in fields}
        | {"fields": args.field, "only": dict(inputs.column(text) for text in args.only)}
    )
    if args.kb in {info.name for info in workspace.bases()}:
        return _from_store(workspace, workspace.base(args.kb), store, args)
    base = workspace.create(args.kb, Recipe())
    with _kept_if_filled(workspace, base):
        return _from_store(workspace, base, store, args)


def _from_store(
    workspace: Workspace, base: KnowledgeBase, store: ExistingStore, args: argparse.Namespace
) -> Output:
    if args.preview:
        preview = base.documents.preview_store(store, args.embedder)
        return Output(StorePreviewData.of(preview), "\n".join(_preview_lines(preview)))
    job = base.documents.import_store(store, args.embedder)
    printing.follow(workspace.jobs, job)
    recipe, message = base.recipe(), workspace.jobs.get(job).message
    data = {
        "knowledge_base": base.name,
        "documents": len(base.documents.documents(recipe.index)),
        "embedder": recipe.index.embedder,
        "message": message,
    }
    return Output(data, f"{message}\nembedder: {recipe.index.embedder}")


def _preview_lines(preview: StorePreview) -> Iterator[str]:
    store, layout = preview.store, preview.layout
    yield f"{counted(layout.rows, 'row')} in {store.label}"
    for vector in layout.vectors:
        size = f"{vector.dimension:,} dimensions" if vector.dimension else "any dimension"
        yield f"vectors  {vector.name}: {', '.join(filter(None, (size, vector.similarity)))}"
    for field in layout.fields:
        yield f"field    {field.name}{field.type and f': {field.type}'}"
    yield f"text from {store.text!r}, vectors from {store.vector!r}, title from {store.title!r}"
    for row in preview.rows:
        yield f"  {row.id}: {' '.join(row.text.split())[:100]}"
    if (check := preview.check) is not None:
        yield (
            f"{len(check.foreign):,} of {check.sampled:,} sampled vectors are not those of their "
            f"texts (median cosine {check.median:.3f})"
        )
        yield from (f"  {vector.passage}: cosine {vector.cosine:.3f}" for vector in check.foreign)
    yield from preview.notes


def import_questions(args: argparse.Namespace) -> Output:
    base = inputs.workspace(args).base(args.kb)
    name, skip = args.name or args.file.resolve().stem, args.skip_bad
    if args.file.is_dir():
        came = base.questions.import_folder(
            name, args.file, args.split, skip_bad=skip, existing=args.existing
        )
    else:
        columns = dict(inputs.column(text) for text in args.column)
        content = inputs.bytes_in(args.file)
        came = base.questions.import_file(
            name,
            args.file.name,
            content,
            args.split,
            columns,
            ignored_columns=args.ignore_column,
            skip_bad=skip,
            existing=args.existing,
        )
    return _imported(base, base.questions.named(name), came)


def question_versions(args: argparse.Namespace) -> Output:
    questions = inputs.workspace(args).base(args.kb).questions
    lines = []
    if args.restore is not None:
        replaced = questions.restore_version(args.set_name, args.restore)
        lines.append(f"version {args.restore} of {args.set_name!r} is back")
        lines += [_kept(args.kb, args.set_name, replaced)] if replaced is not None else []
    versions = questions.kept_versions(args.set_name)
    data = {
        "set": args.set_name,
        "version": questions.named(args.set_name).version,
        "restored": args.restore,
        "versions": versions,
    }
    lines += [
        f"{version.version:4}  replaced {version.replaced:%Y-%m-%d %H:%M}  "
        f"{counted(version.questions, 'question')}, {counted(version.labels, 'label')}"
        for version in versions
    ]
    return Output(data, "\n".join(lines) or f"{args.set_name!r} has no earlier version.")


def check_questions(args: argparse.Namespace) -> Output:
    questions = inputs.workspace(args).base(args.kb).questions
    if args.licence is not None:
        questions.set_licence(args.set_name, args.licence)
    passport = questions.check(args.set_name)
    lines = [*passport.lines, *(f"PROBLEM {problem}" for problem in passport.problems)]
    return Output(passport, "\n".join(lines), passed=not passport.problems)


def _kept(kb: str, name: str, version: int) -> str:
    """Return the command that restores the replaced version."""
    verb = shlex.join(["question-versions", kb, name, "--restore", str(version)])
    return f"replaced version {version}, which is kept: {verb}"


def export_questions(args: argparse.Namespace) -> Output:
    exchange, path = inputs.workspace(args).base(args.kb).questions, args.output
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


def tag(args: argparse.Namespace) -> Output:
    tags = inputs.workspace(args).base(args.kb).documents.tag(args.document, args.tag)
    data = {"document": args.document, "tags": tags}
    return Output(data, f"{args.document}: {', '.join(tags) or 'no tag'}")


@contextmanager
def _adding(
    workspace: Workspace,
    args: argparse.Namespace,
    create: Callable[[Recipe], tuple[KnowledgeBase, int]],
    add: Callable[[KnowledgeBase], int],
) -> Iterator[tuple[KnowledgeBase, int]]:
    """The base and the job that adds to it, by ``create`` for a new one, with the recipe asked for.

    One that exists gets a build for it. One that is made here and gets no document, because the
    input is bad, does not stay.
    """
    if args.kb not in {info.name for info in workspace.bases()}:
        recipe = targets.recipe(args, Recipe())
        try:
            base, job = create(recipe)
        except AlreadyExists:
            pass  # another process was quicker
        else:
            with _kept_if_filled(workspace, base):
                yield base, job
            return
    base = workspace.base(args.kb)
    base.documents.prepare_build(targets.recipe(args, base.recipe()).index)
    yield base, add(base)


@contextmanager
def _kept_if_filled(workspace: Workspace, base: KnowledgeBase) -> Iterator[None]:
    """Delete a new base that has no document and no job at the end of the block."""
    interrupted = False
    try:
        yield
    except KeyboardInterrupt:
        interrupted = True  # the job stays, for the next command to go on with
        raise
    finally:
        others = any(job.active for job in workspace.jobs.recent(base.id))
        if not interrupted and not others and not base.documents.documents(base.recipe().index):
            workspace.delete(base.id)


def _imported(
    base: KnowledgeBase, question_set: QuestionSet, came: Imported | None = None
) -> Output:
    lost = base.questions.lost_labels(question_set.name)
    problems = base.questions.check(question_set.name).problems
    number = len(base.documents.documents(base.recipe().index))
    data = {
        "knowledge_base": base.name,
        "documents": number,
        "set": question_set.name,
        "questions": question_set.questions,
        "lost_labels": lost_data(lost),
        "skipped": came.skipped if came else [],
        "unused_columns": came.unused if came else [],
        "replaced_version": came.replaced if came else None,
        "repeated_quotes": came.repeated if came else [],
        "unlabelled_questions": came.unlabelled if came else 0,
        "problems": problems,
    }
    questions = counted(question_set.questions, "question")
    text = f"{questions} in {question_set.name!r}, {counted(number, 'document')}"
    lines = [text, *lost_lines(lost)]
    if came and came.skipped:
        lines += [f"skipped {counted(len(came.skipped), 'line')}:"]
        lines += [f"  {problem}" for problem in came.skipped]
    if came and came.repeated:
        lines += [f"{counted(len(came.repeated), 'quote')} in several places:"]
        lines += [f"  {note}" for note in came.repeated]
    grades = {
        label.grade for item in base.questions.labelled(question_set.name) for label in item.labels
    }
    if unusual := sorted(grades - {*range(MISLEADING, HIGHEST_GRADE + 1)}):
        lines.append(
            f"unusual grades: {', '.join(map(str, unusual))}. Pages give {MISLEADING} to "
            f"{HIGHEST_GRADE}; metrics count the others as they are"
        )
    lines += problems
    if came and came.unused:
        lines.append(f"ignored columns: {', '.join(came.unused)}")
    if came and came.replaced is not None:
        lines.append(_kept(base.name, question_set.name, came.replaced))
    return Output(data, "\n".join(lines))


_TRIES = 3
Passwords = Callable[[str], Iterator[str]]
"""The passwords to try on the file of a name."""


def passwords_from(path: Path | None) -> Passwords:
    """The lines of a file; without one, what is typed where there is a terminal.

    Raises InvalidInput for a file without a password.
    """
    if path is None:
        return _typed
    lines = [line for line in inputs.text_in(path).splitlines() if line]
    if not lines:
        raise InvalidInput(f"{path} contains no password.", "Write one on each line.")
    return lambda _name: iter(lines)


def _typed(name: str) -> Iterator[str]:
    if sys.stdin.isatty() and sys.stderr.isatty():
        for _ in range(_TRIES):
            password = getpass.getpass(f"Password of {name} (empty to leave it out): ")
            if not password:
                return
            yield password


def unlocked(
    base: KnowledgeBase,
    items: Sequence[JobItem],
    passwords: Passwords,
    read: Callable[[int], JobItem],
) -> list[JobItem]:
    """The items of a job, those that waited for a password as they are with it.

    ``read`` does the job of one file. A wrong password is tried without a word; the last one's
    reason is the item's.
    """
    locked = {
        (locked_file.job_id, locked_file.position): locked_file
        for locked_file in base.documents.locked_files()
    }
    return [
        _unlocked(base, item, locked[item.job_id, item.position], passwords, read)
        if (item.job_id, item.position) in locked
        else item
        for item in items
    ]


def _unlocked(
    base: KnowledgeBase,
    item: JobItem,
    locked: LockedFile,
    passwords: Passwords,
    read: Callable[[int], JobItem],
) -> JobItem:
    for password in passwords(locked.name):
        try:
            job = base.documents.open_locked_file(locked, password)
        except UnreadableDocument as error:
            item = replace(item, reason=error.message, hint=error.hint)
            if error.reason != "needs_password":
                break
        else:
            return read(job)
    return item
