"""The verb for the systems of a knowledge base."""

from __future__ import annotations

import argparse
from pathlib import Path

from rag import (
    LOCAL_FORMS,
    HttpSystem,
    InvalidInput,
    SystemData,
    SystemTrialData,
    counted,
    local_system,
    mcp_system,
    system_of,
)
from rag.cli import inputs, printing
from rag.cli.printing import Output

_SNIPPET = 110


def systems(args: argparse.Namespace) -> Output:
    store = inputs.workspace(args).base(args.kb).systems
    if args.action == "list":
        stored = store.list_all()
        return Output(
            {"systems": stored},
            "\n".join(map(_line, stored)) or "There is no system yet.",
        )
    if not args.name:
        raise InvalidInput("Specify the system.", "Give a name: systems KB add NAME.")
    if args.action == "remove":
        store.remove(args.name)
        return Output({"removed": args.name}, f"deleted {args.name}; its runs stay")
    if args.action == "test":
        if not args.question:
            raise InvalidInput("Specify a question.", "Give --question TEXT.")
        question: str = args.question
        return _tried(store.test(args.name, question))
    definition = _definition(args)
    trial = _tried(store.test_definition(definition, args.question)) if args.question else None
    added = store.add(definition)
    added_data = added.extend(trial=trial.data if trial else None)
    lines = [_line(added), *(f"set {name} in the environment" for name in added.unset)]
    return Output(added_data, "\n".join([*lines, *([trial.text] if trial else [])]))


def _definition(args: argparse.Namespace) -> HttpSystem:
    """The definition of a new system: a file of fields, or the form of a known product."""
    if args.definition:
        fields = inputs.json_in(Path(args.definition))
        if not isinstance(fields, dict):
            raise InvalidInput(f"{args.definition} is not a JSON object.", "Write one field a key.")
        return HttpSystem.parse({**fields, "name": args.name})
    if args.form in LOCAL_FORMS:
        return local_system(args.name, args.form, args.most)
    if args.form == "mcp" and (args.command or args.tool):
        # The system that is a tool of an MCP server.
        arguments: dict[str, object] = {}
        for text in args.argument or ["query"]:
            name, has_value, _ = text.partition("=")
            arguments[name] = inputs.assignment(text)[1] if has_value else "{question}"
        variables = dict(text.partition("=")[::2] for text in args.env)
        names = ("results", "text", "title", "id", "score")
        paths = {name: path for name in names if (path := getattr(args, name))}
        return mcp_system(
            args.name,
            address=args.address,
            command=args.command,
            tool=args.tool or "search",
            arguments=arguments,
            fetch=args.fetch,
            env=variables,
            paths=paths,
            depth=args.most,
            key=args.key or "",
        )
    if not (args.form and args.address):
        raise InvalidInput(
            "A system needs --form and --address, or --definition.",
            "For example: --form dify-external --address https://host/api --collection ID.",
        )
    key = args.key or ""
    return system_of(args.form, args.name, args.address, args.collection, args.most, key)


def _line(stored: SystemData) -> str:
    definition = stored.definition
    unset = f"  not set: {', '.join(stored.unset)}" if stored.unset else ""
    form = definition.form or "free form"
    place = definition.url or definition.command or "this knowledge base"
    return f"{stored.name:20} version {stored.version}  {form}  {place}{unset}"


def _tried(trial: SystemTrialData) -> Output:
    lines = [
        f"{counted(len(trial.results), 'result')}, {trial.located} in these documents, "
        f"{trial.seconds:.1f} s"
    ]
    for result in trial.results:
        page = f", page {result.page}" if result.page else ""
        place = f"{result.document}{page}" if result.document else "in no document"
        score = "" if result.score is None else f"  score {result.score:g}"
        lines.append(f"{result.rank:3}  {place} ({result.located}){score}")
        lines.append(f"     {printing.snippet(result.text, _SNIPPET) or 'no text'}")
    return Output(trial, "\n".join(lines))
