"""Verbs that search and ask, that hold a conversation, and that look after what was said."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rag import (
    EVERYBODY,
    LOCAL,
    Answer,
    AnswerData,
    AnswerStream,
    Conversation,
    InvalidInput,
    InvalidRecipe,
    KnowledgeBase,
    Message,
    NotFound,
    Recipe,
    TouchstoneError,
    Trace,
    counted,
    searches,
    spanning,
    unsearched,
)
from rag.cli import inputs, printing, targets
from rag.cli.printing import Output

ACTIONS = ("list", "show", "rename", "delete", "export")


_LISTED = 1000
_END = ("/quit", "/exit")


def search(args: argparse.Namespace) -> Output:
    base, recipe, beside = targets.several(args)
    return printing.trace(base.search(args.question, recipe, beside))


def ask(args: argparse.Namespace) -> Output:
    if args.session is not None:
        return ask_in_session(args)
    base, recipe, beside = targets.several(args)
    stream = base.ask(args.question, recipe, beside)
    return printing.answer(stream.answer, stream.error)


def chat(args: argparse.Namespace) -> Output:
    talk = _Talk(args)
    out = sys.stderr if args.json else sys.stdout
    turns = list[dict[str, Any]]()

    def say(piece: str) -> None:
        print(printing.harmless(piece), end="", file=out, flush=True)

    if sys.stdin.isatty():
        print(f"{talk.base.name}, session {talk.id}. Ctrl-D ends it.", file=sys.stderr)
    while (question := _typed()) is not None:
        if not question:
            continue
        try:
            stream = talk.ask(question, say)
        except TouchstoneError as error:
            print(f"Error: {error.message} {error.hint}".strip(), file=sys.stderr)
            continue
        if stream.answer.written:
            say(f"\n\n{stream.answer.text}")
        below = [*printing.state(stream.answer), *printing.below_answer(stream.answer)]
        print(printing.harmless("\n".join(["\n", *below, ""])), file=out, flush=True)
        turns.append(AnswerData.of(stream.answer).extend(question=question))
    data = {"session": talk.id, "turns": turns}
    return Output(data, f"session {talk.id}, {counted(len(turns), 'question')}")


def ask_in_session(args: argparse.Namespace) -> Output:
    """``ask``, as the next question of a conversation."""
    talk = _Talk(args)
    stream = talk.ask(args.question, lambda _piece: None)
    output = printing.answer(stream.answer, stream.error)
    return replace(output, data=AnswerData.of(stream.answer).extend(session=talk.id))


def sessions(args: argparse.Namespace) -> Output:
    visitor = EVERYBODY if args.everyone else LOCAL
    base = inputs.workspace(args).base(args.kb, visitor)
    if args.action == "list":
        conversations = base.conversations.recent(_LISTED, args.search)
        rows = [
            {
                "id": conversation.id,
                "name": conversation.name,
                "question": conversation.question,
                "questions": conversation.turns,
                "asked": conversation.asked,
                "visitor": conversation.visitor,
            }
            for conversation in conversations
        ]
        lines = [
            f"{conversation.id:5}  {conversation.asked:%Y-%m-%d %H:%M}  "
            f"{counted(conversation.turns, 'question'):>13}  "
            f"{printing.snippet(conversation.title, 80)}"
            for conversation in conversations
        ]
        data = {"knowledge_base": base.name, "sessions": rows}
        return Output(data, "\n".join(lines) or "None yet.")
    if args.session is None:
        raise InvalidInput(f"sessions {args.action} needs a session.", "Give its id or name.")
    conversation = base.conversations.named(args.session)
    does = {"show": _show, "rename": _rename, "delete": _delete, "export": _export}
    return does[args.action](base, conversation, args)


def feedback(args: argparse.Namespace) -> Output:
    rows = inputs.workspace(args).base(args.kb, EVERYBODY).conversations.export_feedback()
    lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    if args.output:
        inputs.write(args.output, lines.encode("utf-8", "replace"))
    where = str(args.output) if args.output else None
    data = {"knowledge_base": args.kb, "file": where, "feedback": rows}
    return Output(data, where or lines.rstrip() or "No feedback yet.")


class _Talk:
    """A conversation that is gone on with, or a new one, and what it is asked with."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._found: Conversation | None = None
        self._args = args
        self.base, self._recipe, self._beside = targets.several(args, self._begun)
        self._name = "" if self._found else (args.session or "").strip()
        known_id = self._found.id if self._found else None
        self.id = self.base.conversations.open(known_id, self._name)

    def _begun(self, base: KnowledgeBase) -> Recipe:
        """The saved recipe with what the conversation keeps otherwise."""
        recipe, session = base.recipe(), self._args.session
        if session is not None:
            try:
                self._found = base.conversations.named(session)
            except NotFound:
                if session.strip().isdecimal() or not session.strip():
                    raise
        settings = (self._found.settings if self._found else None) or {}
        self._args.also = self._args.also or list(settings.get("also", ()))
        try:
            return recipe.with_fields(settings.get("recipe", {}))
        except InvalidRecipe as error:
            print(
                f"Note: the settings of the session were not applied. {error.message}",
                file=sys.stderr,
            )
            return recipe

    def ask(self, question: str, on_progress: Callable[[str], object]) -> AnswerStream:
        """Store a question, tell its answer piece by piece, and store that.

        Ctrl-C stops the answer; what was said so far is kept. Raises what the search raises.
        """
        talks, recipe = self.base.conversations, self._recipe
        history = talks.history(self.id)
        also = list(self._args.also)
        turn = talks.ask(self.id, question, recipe, also, settings=self._settings(also))
        labels = {"base": self.base.id, "question": question, "recipe": recipe}
        with spanning("turn", {**labels, "session": self.id, "turn": turn}):
            return self._answered(turn, question, history, on_progress)

    def _answered(
        self,
        turn: int,
        question: str,
        history: Sequence[Message],
        on_progress: Callable[[str], object],
    ) -> AnswerStream:
        talks, recipe = self.base.conversations, self._recipe
        try:
            if searches(recipe.answer):
                trace = self.base.search(question, recipe, self._beside, history)
            else:
                trace = unsearched(question, recipe)
            examples = self.base.conversations.memory.examples(trace.question, recipe, turn=turn)
            stream = self.base.answer(trace, recipe, examples, history)
        except TouchstoneError as error:
            trace = Trace(question, recipe.hash, 0, None, (), (), 0.0)
            note = f"{error.message} {error.hint}".strip()
            talks.conclude(turn, Answer("", (), trace, recipe.answer.mode, "failed", note=note))
            raise
        try:
            for piece in stream:
                on_progress(piece)
        except KeyboardInterrupt:
            pass
        finally:
            stream.close()
            talks.conclude(turn, stream.answer)
        return stream

    def _settings(self, also: Sequence[str]) -> dict[str, Any]:
        changes = self.base.recipe().differences(self._recipe)
        fields = {name: value for name, (_saved, value) in changes.items()}
        previous = dict(self._found.settings or {}) if self._found else {}
        stored = {**previous, "recipe": fields, "also": list(also)}
        settings: dict[str, Any] = json.loads(json.dumps(stored, default=list))
        return settings


def _typed() -> str | None:
    """The next question, or None at the end."""
    try:
        line = input("> " if sys.stdin.isatty() else "").strip()
    except (EOFError, KeyboardInterrupt):
        return None
    return None if line in _END else line


def _show(base: KnowledgeBase, conversation: Conversation, _args: argparse.Namespace) -> Output:
    data = json.loads(base.conversations.export(conversation.id, "json"))
    return Output(data, base.conversations.export(conversation.id).rstrip())


def _rename(base: KnowledgeBase, conversation: Conversation, args: argparse.Namespace) -> Output:
    if args.name is None:
        raise InvalidInput("sessions rename needs a name.", 'Like: sessions KB rename 3 "Leave".')
    name = base.conversations.rename(conversation.id, args.name)
    return Output(
        {"id": conversation.id, "name": name},
        f"session {conversation.id} is called {name or 'no name'}",
    )


def _delete(base: KnowledgeBase, conversation: Conversation, args: argparse.Namespace) -> Output:
    if not args.yes:
        if not sys.stdin.isatty():
            raise InvalidInput(
                "Deleting a session needs a confirmation.", "Use --yes if there is no terminal."
            )
        print(
            f"Delete session {conversation.id} with all its answers? [y/N] ",
            end="",
            file=sys.stderr,
        )
        if input().strip().lower() not in ("y", "yes"):
            return Output({"deleted": None}, "Nothing was deleted.")
    base.conversations.delete(conversation.id)
    return Output({"deleted": conversation.id}, f"session {conversation.id} is deleted")


def _export(base: KnowledgeBase, conversation: Conversation, args: argparse.Namespace) -> Output:
    as_json = args.output is not None and args.output.suffix.lower() == ".json"
    content = base.conversations.export(conversation.id, "json" if as_json else "markdown")
    if args.output:
        inputs.write(args.output, content.encode("utf-8", "replace"))
    return printing.exported(content, args.output)
