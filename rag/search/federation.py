"""Selection of other knowledge bases for a question, by name or all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from rag.errors import InvalidInput
from rag.recipe import Recipe

_OPTIONS = re.compile(r":((?:top_k|threshold|weight)=.*)$", re.DOTALL)
_HINT = "Write it like KB2 or KB2:top_k=3,threshold=0.3,weight=0.5."


@dataclass(frozen=True, slots=True)
class FurtherBase:
    """A further knowledge base to search, and where its saved recipe gives way.

    ``weight`` multiplies its relevance where lists are merged. ``str`` and ``parse`` are the form
    of the command line and of addresses: ``policies:top_k=3,threshold=0.3,weight=0.5``.
    """

    name: str
    top_k: int | None = None
    threshold: float | Literal["saved", "auto", "off"] = "saved"
    weight: float = 1.0

    @classmethod
    def parse(cls, text: str) -> FurtherBase:
        """Raise InvalidInput."""
        options = _OPTIONS.search(text)
        values = _values(options.group(1)) if options else {}
        name = text[: options.start()].strip() if options else text.strip()
        if not name:
            raise InvalidInput(f"“{text}” names no knowledge base.", _HINT)
        return cls(name, **values)

    def __str__(self) -> str:
        values = {"top_k": self.top_k, "threshold": self.threshold, "weight": self.weight}
        plain = {"top_k": None, "threshold": "saved", "weight": 1.0}
        options = [f"{name}={value}" for name, value in values.items() if value != plain[name]]
        return self.name + (f":{','.join(options)}" if options else "")

    def recipe(self, saved: Recipe) -> Recipe:
        """Return the recipe for that base: its saved recipe, without tools, with these values.

        Raises InvalidRecipe for a value out of range.
        """
        changes: dict[str, Any] = {"search.tools": ()}
        if self.top_k is not None:
            changes["search.top_k"] = self.top_k
        if self.threshold != "saved":
            changes["search.threshold"] = None if self.threshold == "off" else self.threshold
        return saved.with_fields(changes)


def _values(text: str) -> dict[str, Any]:
    return dict(_value(*pair.partition("=")[::2]) for pair in text.split(","))


def _value(name: str, text: str) -> tuple[str, Any]:
    name, text = name.strip(), text.strip()
    try:
        if name == "top_k":
            return name, int(text)
        if name == "threshold":
            return name, text if text in ("auto", "off", "saved") else float(text)
        if name == "weight" and 0 < (weight := float(text)) <= 100:
            return name, weight
    except ValueError:
        pass
    raise InvalidInput(f"“{name}={text}” is not an option of a knowledge base.", _HINT)
