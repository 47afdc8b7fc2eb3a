"""Arguments of the verbs that ask questions, and of the verbs for past questions."""

from __future__ import annotations

from pathlib import Path

from rag.cli.asking import arena, conversing, explaining, memory
from rag.cli.options import Verb, repeatable, switch


def declare(verb: Verb) -> None:
    """The arguments of all these verbs."""
    _asking_verbs(verb)
    _memory_verbs(verb)
    _session_verbs(verb)
    _arena_verbs(verb)
    _explaining_verbs(verb)


def _asking_verbs(verb: Verb) -> None:
    """Verbs that take a question."""
    also = "search this knowledge base too, by its saved recipe (repeatable)"
    for added in (
        verb(conversing.search, "kb", "question", recipe=True),
        asking := verb(conversing.ask, "kb", "question", recipe=True),
        chatting := verb(conversing.chat, "kb", recipe=True),
    ):
        repeatable(added, "--also", "KB2[:top_k=3,threshold=0.3,weight=0.5]", also)
        switch(added, "--all", "search all knowledge bases")
    for added in (asking, chatting):
        added.add_argument(
            "--mode",
            help="the sources of an answer: strict, balanced, general or auto (answer.mode)",
        )
        added.add_argument(
            "--session", metavar="NAME|ID", help="a conversation to continue or start"
        )


def _memory_verbs(verb: Verb) -> None:
    """Verbs for what was asked before."""
    added = verb(memory.memory, "kb")
    added.add_argument("action", nargs="?", default="list", choices=memory.ACTIONS)
    added.add_argument("value", nargs="*", metavar="TEXT|ID", help="what to search, or which one")
    added.add_argument("--question", help="with correct: the question as it should be")
    added.add_argument("--answer", help="with correct: the answer as it should be")
    added.add_argument(
        "--limit", type=int, default=50, help="maximum number of entries (default: 50)"
    )
    added = verb(memory.operations, "kb")
    added.add_argument("--days", type=float, help="only the last so many days (default: all)")


def _session_verbs(verb: Verb) -> None:
    """Verbs for what was asked and answered."""
    added = verb(conversing.sessions, "kb")
    added.add_argument("action", nargs="?", choices=conversing.ACTIONS, default="list")
    added.add_argument("session", nargs="?", metavar="SESSION", help="its id or name")
    added.add_argument("name", nargs="?", help="with rename: the new name")
    added.add_argument(
        "--search",
        default="",
        metavar="WORDS",
        help="with list: only sessions that contain these words",
    )
    added.add_argument("-o", "--output", type=Path, help="with export: a .md or .json file")
    switch(added, "--everyone", "the conversations of all visitors, not only of the command line")
    switch(added, "--yes", "with delete: do not ask for confirmation")
    added = verb(conversing.feedback)
    added.add_argument("action", choices=("export",))
    added.add_argument("kb")
    added.add_argument("-o", "--output", type=Path, help="a .jsonl file (default: to stdout)")


def _arena_verbs(verb: Verb) -> None:
    """The verb for votes on two recipes."""
    added = verb(arena.arena, "kb", recipe=True)
    added.add_argument("action", nargs="?", default="list", choices=arena.ACTIONS)
    added.add_argument(
        "value",
        nargs="*",
        metavar="QUESTION|ID [VOTE]",
        help="the question, or the id of a pair; a vote is left, right, tie or 'both bad'",
    )
    repeatable(
        added, "--against", "FIELD=VALUE", "with ask: what the other recipe changes (repeatable)"
    )


def _explaining_verbs(verb: Verb) -> None:
    """The verb that says why."""
    added = verb(explaining.explain, "kb", "question", recipe=True)
    what = added.add_mutually_exclusive_group()
    what.add_argument("--chunk", metavar="ID", help="a passage by its id")
    what.add_argument("--find", metavar="TEXT", help="passages that contain these words")
    what.add_argument("--document", metavar="NAME", help="the best passages of a document")
    what.add_argument(
        "--against-run", metavar="RUN", help="the same question with the recipe of a run"
    )
    repeatable(
        added,
        "--against",
        "FIELD=VALUE",
        "the same question with a field changed, side by side (repeatable)",
    )
    switch(added, "--attribution", "with --chunk: the words that contribute to the cosine")
