"""The wording of prompts: the files in ``prompts/``, or what people wrote in their place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from rag.errors import InvalidInput, NotFound

LONGEST = 20_000
"""Characters of a prompt that somebody wrote."""

_FOLDER = Path(__file__).parents[1] / "prompts"
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt by name: what it is for, and the places that are filled in.

    ``required`` are those without which it would not be safe, or of no use.
    """

    name: str
    title: str
    required: frozenset[str]

    @property
    def text(self) -> str:
        """The wording that the product comes with."""
        return _shipped(self.name)


def _file(name: str, title: str, *required: str) -> PromptFile:
    return PromptFile(name, title, frozenset(required))


PROMPTS: Mapping[str, PromptFile] = {
    prompt_text.name: prompt_text
    for prompt_text in (
        _file("strict", "Passages alone", "mark", "no_answer"),
        _file("balanced", "Passages first, then general knowledge", "mark", "general"),
        _file("general", "General knowledge, without documents", "mark"),
        _file("tool", "The result of a tool", "mark", "no_answer"),
        _file("decide", "Auto: a tool or general knowledge", "mark", "tools"),
        _file("citations", "Asking once more for citations", "no_answer"),
        _file("grounded", "Passages, asked once", "fence", "no_answer"),
        _file("quotes", "Quotes, worded in one sentence"),
        _file("check", "Whether a quote answers the question", "quote", "question"),
        _file("sufficient", "Decision model: whether the quotes answer"),
        _file("judge", "Judge: the grade of a passage"),
        _file("decision", "Decision model as judge: whether a passage answers"),
    )
}


@dataclass(frozen=True, slots=True)
class Wording:
    """The prompts in use: ``edited`` texts by name, for all others the shipped ones."""

    edited: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """The text of a prompt with its places open."""
        return self.edited.get(name) or PROMPTS[name].text

    def filled(self, name: str, **values: str) -> str:
        """The same with its places filled in; braces inside the values stay as they are."""
        return _PLACE.sub(lambda place: values.get(place[1], place[0]), self.text(name).strip())

    def version(self, *names: str) -> str:
        """Names the wording of some prompts: ``strict@1a2b3c4d``, one after the other."""
        return " ".join(f"{name}@{digest(self.text(name))}" for name in dict.fromkeys(names))


def digest(text: str) -> str:
    """Eight hex digits of a prompt's text, whatever blanks are around it."""
    return hashlib.sha256(text.strip().encode()).hexdigest()[:8]


def check_prompt_text(name: str, text: str) -> str:
    """A text for a prompt. Raises NotFound for an unknown name, InvalidInput for a text unfit."""
    if name not in PROMPTS:
        raise NotFound(f"There is no prompt named {name!r}.", f"There are: {', '.join(PROMPTS)}.")
    text = text.strip()
    if not text or len(text) > LONGEST:
        raise InvalidInput(
            f"A prompt has between 1 and {LONGEST:,} characters.",
            "Reset it to restore the default.",
        )
    places, required = set(_PLACE.findall(text)), PROMPTS[name].required
    if missing := sorted(required - places):
        listed = ", ".join(f"{{{place}}}" for place in missing)
        raise InvalidInput(
            f"The prompt {name} has no {listed}.", "Keep it: it is filled in for each question."
        )
    return text


@cache
def _shipped(name: str) -> str:
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip()
