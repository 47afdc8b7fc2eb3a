"""HTML and SVG from values: whatever is not markup already is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

_VOID = frozenset({"meta", "br", "hr"})


class Markup(str):
    """Text that is HTML already, made by ``element``; plain text is never taken for it."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def element(name: str, *children: str | None, **attributes: str | float | None) -> Markup:
    """``<name>`` with children and attributes; plain text in either is escaped.

    A trailing underscore of an attribute is dropped (``class_``), others become hyphens. None
    leaves a child or an attribute out.
    """
    rendered = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{rendered}>")
    return Markup(f"<{name}{rendered}>{join(*children)}</{name}>")


def table(head: Iterable[Markup], rows: Iterable[Markup]) -> Markup:
    """A table that scrolls sideways where it is too wide; ``head`` are the cells of its head."""
    body = join(element("thead", element("tr", *head)), element("tbody", *rows))
    return element("div", element("table", body), class_="scroll")


def join(*children: str | None) -> Markup:
    """Children one after another, plain text escaped."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def escaped(text: str) -> Markup:
    """The text as markup that shows it."""
    return text if isinstance(text, Markup) else Markup(html.escape(text))


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
