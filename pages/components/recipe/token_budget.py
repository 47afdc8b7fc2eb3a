"""The token budget of a prompt, as lines for all pages that show one."""

from __future__ import annotations

from collections.abc import Sequence

from pages.components.shell.text import plain
from pages.components.shell.wording import shortened
from rag import BudgetPart

_SIGNS = 24  # in a full bar
_PARTS = {
    "rules and question": "instructions and question",
    "conversation": "earlier conversation",
    "examples": "remembered examples",
    "passages": "passages",
    "answer": "kept free for the answer",
}
_COLOURS = {
    "rules and question": "gray",
    "conversation": "violet",
    "examples": "green",
    "passages": "blue",
    "answer": "orange",
}
_NAMED = 4  # of what was left out, before "more"


def budget_lines(parts: Sequence[BudgetPart]) -> list[str]:
    """The budget as Markdown: what each part took, and then what was left out of it."""
    return [_spent(parts), *_left_out(parts)]


def _spent(parts: Sequence[BudgetPart]) -> str:
    """The used part of a token budget: a bar, and the tokens and share of each part."""
    spent = [part for part in parts if part.used]
    total = sum(part.used for part in spent) or 1
    bar = "".join(
        f":{_COLOURS.get(part.name, 'gray')}[{'━' * max(round(_SIGNS * part.used / total), 1)}]"
        for part in spent
    )
    words = " · ".join(
        f":{_COLOURS.get(part.name, 'gray')}[{_part(part)}] {_share(part)}" for part in spent
    )
    return f"{bar} {total:,} tokens: {words}"


def _part(part: BudgetPart) -> str:
    return plain(_PARTS.get(part.name, part.name))


def _share(part: BudgetPart) -> str:
    """ "900 of 1,200"; of what has no share of its own the tokens alone."""
    return f"{part.used:,}" + (f" of {part.most:,}" if part.most > part.used else "")


def _left_out(parts: Sequence[BudgetPart]) -> list[str]:
    rows = []
    for part in parts:
        if not part.left_out:
            continue
        names = [plain(shortened(name, 40)) for name in part.left_out[:_NAMED]]
        more = len(part.left_out) - len(names)
        listed = ", ".join(names) + (f" and {more} more" if more else "")
        rows.append(f":gray[left out for want of room, {_part(part)}: {listed}]")
    return rows
