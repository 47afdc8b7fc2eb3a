"""Values of form fields, and notes that people put on the pages of a PDF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag.readers.pdf.words import Turn, Word

if TYPE_CHECKING:
    from pypdf import PdfReader

_HIDDEN, _PUSH_BUTTON = 1 << 1, 1 << 16  # flags of annotations and of buttons (ISO 32000-1, 12)
_TALLEST_LINE = 14.0  # points
_LETTER = 0.5  # width of a letter by its height, on average
_LINE = 0.5  # of the lower one's height that a value shares with its label
_FURTHEST = 300.0  # points from a value to its label
_FURTHEST_TICK = 30.0
_MARKUP = frozenset(
    ["/Text", "/Highlight", "/Underline", "/Squiggly", "/StrikeOut", "/Caret", "/Stamp"]
)


@dataclass(frozen=True, slots=True)
class Annotation:
    """A value of a form or a text on the page, in its box (left, top, right, bottom); notes that
    open on a click have none."""

    kind: str
    text: str
    box: tuple[float, float, float, float] | None = None
    is_ticked_box: bool = False


def annotations_of(reader: PdfReader | None, index: int, turn: Turn) -> list[Annotation]:
    """Return the values and notes of a page; none where its annotations are damaged."""
    if reader is None:
        return []
    try:
        return list(_annotations(reader.pages[index], turn))
    except MemoryError:
        raise
    except Exception:  # pypdf raises anything on damaged files: the text does without its notes
        return []


def attachments_of(reader: PdfReader | None) -> list[str]:
    """Return the names of the files that a PDF carries."""
    try:
        return list(reader.attachments) if reader else []
    except MemoryError:
        raise
    except Exception:  # as above
        return []


def _annotations(page: Any, turn: Turn) -> Iterator[Annotation]:
    for reference in page.get("/Annots") or ():
        item = reference.get_object()
        if int(item.get("/F", 0)) & _HIDDEN:
            continue
        left, bottom, right, top = map(float, item["/Rect"])
        box = turn.box(min(left, right), max(top, bottom), max(left, right), min(top, bottom))
        contents = " ".join(str(item.get("/Contents") or "").split())
        if item["/Subtype"] == "/Widget":
            yield from _field(item, box)
        elif item["/Subtype"] == "/FreeText" and contents:
            yield Annotation("notes", contents, box)
        elif item["/Subtype"] in _MARKUP and contents:
            yield Annotation("notes", contents)


def _field(widget: Any, box: tuple[float, float, float, float]) -> Iterator[Annotation]:
    kind, value = _inherited(widget, "/FT"), _inherited(widget, "/V")
    if kind == "/Btn":
        if not int(_inherited(widget, "/Ff") or 0) & _PUSH_BUTTON:
            ticked = widget.get("/AS", "/Off") != "/Off"
            yield Annotation("form_fields", "☒" if ticked else "☐", box, is_ticked_box=True)
        return
    values = value if isinstance(value, list) else [value]
    text = " ".join(" ".join(str(one).split()) for one in values if one is not None)
    if text and kind in ("/Tx", "/Ch"):
        yield Annotation("form_fields", text, box)


def _inherited(field: Any, key: str) -> Any:
    """A property of a field, or of the nearest field above that has it."""
    for _ in range(16):  # a loop of parents ends
        if field is None or key in field:
            break
        parent = field.get("/Parent")
        field = parent.get_object() if parent is not None else None
    return None if field is None or key not in field else field[key]


def with_values(words: Sequence[Word], annotations: Sequence[Annotation]) -> list[Word]:
    """Return the words of a page with the texts of annotations behind the labels beside them."""
    merged = list(words)
    place = max((word.place for word in words), default=-1)
    for annotation in annotations:
        if annotation.box is None:
            continue
        value = _laid_out(annotation.text, annotation.box, place + 1)
        place += len(value)
        at = _label(merged, annotation)
        behind = merged[at : at + 1] if annotation.is_ticked_box else []
        if behind and value and 0 <= behind[0].left - value[0].right < _FURTHEST_TICK:
            value[0].right = behind[0].left - 1  # one cell with its label
        merged[at:at] = value
    return merged


def _laid_out(text: str, box: tuple[float, float, float, float], place: int) -> list[Word]:
    """The words of a value, side by side in its box."""
    left, top, right, bottom = box
    height = min(bottom - top, _TALLEST_LINE)
    top = (top + bottom - height) / 2 if bottom - top < 2 * _TALLEST_LINE else top
    step = min(_LETTER * height, (right - left) / max(len(text), 1))
    words = list[Word]()
    for number, word in enumerate(text.split()):
        end = left + step * len(word)
        words.append(Word(word, left, top, end, top + height, place + number, is_value=True))
        left = end + step
    return words


def _label(words: Sequence[Word], annotation: Annotation) -> int:
    """Return the index in the words at which a value belongs: behind the nearest one to its left,
    on its line; a box to tick before the nearest one to its right; else behind the nearest above.
    """
    left, top, right, bottom = annotation.box or (0.0, 0.0, 0.0, 0.0)

    def is_level(word: Word) -> bool:
        shared = min(word.bottom, bottom) - max(word.top, top)
        return shared > _LINE * min(word.height, bottom - top)

    level = [(at, word) for at, word in enumerate(words) if is_level(word)]
    before = [(left - word.right, at + 1) for at, word in level if word.right <= left + 2]
    after = [(word.left - right, at) for at, word in level if word.left >= right - 2]
    if annotation.is_ticked_box and after and min(after) < min(before, default=(_FURTHEST, 0)):
        return min(after)[1]
    if before and min(before)[0] < _FURTHEST:
        return min(before)[1]
    above = [(top - word.bottom, at + 1) for at, word in enumerate(words) if word.bottom <= top + 2]
    return min(above)[1] if above else 0
