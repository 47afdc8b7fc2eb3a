"""Every control that a page offers, used one after the other as a visitor would."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import (
    Button,
    ButtonGroup,
    ChatInput,
    Checkbox,
    Feedback,
    Multiselect,
    NumberInput,
    Selectbox,
    Slider,
    TextArea,
    TextInput,
    Toggle,
    Widget,
)

REFUSED = ("You may not", "Only an administrator", "Only whoever", "unexpected")
"""What an error says of something that should not have been offered, or that is a defect."""
TYPED = "How long may unused leave be carried over?"
_VALUES = "(all values)"
_DEEPEST = 3  # a button, one in the dialog that it opens, one more
_NUMBER = re.compile(r"[0-9a-f]{8,}|\d+")


class Sweep:
    """Uses each control of a page once, also those that come up on the way.

    Of many alike, such as those of each row, the first one counts.
    """

    def __init__(
        self, visit: Callable[[], AppTest], refusals: list[str], used: set[str] | None = None
    ) -> None:
        """``visit`` opens the page as it is at first, whatever was done to its data since.

        Whoever is refused something is noted in ``refusals``. Controls in ``used`` are left out.
        """
        self._visit, self._refusals = visit, refusals
        self.used = set() if used is None else used
        self.faults: list[str] = []
        self._app = visit()
        self._look("opening it")
        self._first = set(map(name_of, offered(self._app)))
        self._title = title(self._app)

    def run(self) -> list[str]:
        """Uses everything; returns what went wrong."""
        self._try((_VALUES,))
        for name in list(map(name_of, offered(self._app))):
            self._try((name,))
        return self.faults

    def _try(self, way: tuple[str, ...]) -> None:
        """Uses the last control of ``way``, to which the others lead, and what comes up then."""
        if way[-1] in self.used:
            return
        if not self._go(way):
            self._app = self._visit()
            if not self._go(way):
                self.faults.append(f"{' > '.join(way)}: it is not there any more")
        self.used.add(way[-1])
        self._look(" > ".join(way))
        if title(self._app) != self._title:  # which has a sweep of its own
            self._app = self._visit()
            return
        new = [name for name in map(name_of, offered(self._app)) if name not in self._first]
        if len(way) < _DEEPEST:
            for name in new:
                self._try((*way, name))

    def _go(self, way: tuple[str, ...]) -> bool:
        for name in way:
            widgets = offered(self._app)
            if name != _VALUES and name not in map(name_of, widgets):
                return False
            if name == _VALUES:
                self._change(each for each in widgets if not in_form(each))
            else:
                widget = next(each for each in widgets if name_of(each) == name)
                self._change(each for each in widgets if self._belongs(each, widget))
                _press(widget)
            self._app.run()
        return True

    def _change(self, widgets: Iterable[Widget]) -> None:
        for each in widgets:
            if not isinstance(each, Button | ChatInput):
                _change(each)
                self.used.add(name_of(each))

    def _belongs(self, widget: Widget, pressed: Widget) -> bool:
        """Whether a value goes with a button: of its form, or of the dialog that has come up."""
        form = in_form(pressed)
        return in_form(widget) == form if form else name_of(widget) not in self._first

    def _look(self, after: str) -> None:
        said = [each.value.replace("\\", "") for each in self._app.error]
        wrong = [each.message for each in self._app.exception]
        wrong += [each for each in said if any(word in each for word in REFUSED)]
        self.faults += [f"{after}: {each}" for each in [*wrong, *self._refusals]]
        self._refusals.clear()


def offered(app: AppTest) -> list[Widget]:
    """The controls of a page that can be used, in its order."""
    widgets = (each for each in app._tree if isinstance(each, Widget))
    return [each for each in widgets if not getattr(each.proto, "disabled", False)]


def change_all(app: AppTest) -> None:
    """Gives every control another value, and presses no button."""
    for each in offered(app):
        if not isinstance(each, Button | ChatInput):
            _change(each)


def title(app: AppTest) -> str:
    """The title of the open page."""
    return app.title[0].value if app.title else ""


def name_of(widget: Widget) -> str:
    """The name of a control, with its numbers masked so that similar controls share it."""
    return _NUMBER.sub("#", str(widget.key or getattr(widget, "label", "")))


def in_form(widget: Widget) -> str:
    """The id of the form that a control is in; "" for none."""
    return str(getattr(widget.proto, "form_id", ""))


def _press(widget: Widget) -> None:
    if isinstance(widget, Button):
        widget.click()
    elif isinstance(widget, ChatInput):
        widget.set_value(TYPED)
    else:
        _change(widget)


def _change(widget: Any) -> None:
    """Gives a control another value, as far as there is one."""
    match widget:
        case Checkbox() | Toggle():
            widget.set_value(not widget.value)
        case ButtonGroup() | Selectbox():
            vars(widget)["picked"] = [text for text in widget.options if text][-1:]
        case Multiselect():
            vars(widget)["picked"] = widget.options[:1]
        case Slider():
            widget.set_value(widget.min if widget.value == widget.max else widget.max)
        case NumberInput():
            up = widget.value is None or widget.value + widget.step <= widget.max
            widget.set_value((widget.value or 0) + (widget.step if up else -widget.step))
        case TextInput() | TextArea():
            widget.set_value(TYPED)
        case Feedback():
            widget.set_value(0)


def picking(state: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Has a control send what was ``picked`` of what it shows, as a browser does.

    The testing of Streamlit wants the values behind it, which only the page knows.
    """

    def sent(widget: Any) -> Any:
        told, picked = state(widget), vars(widget).get("picked")
        if picked and isinstance(widget, Selectbox):
            told.string_value = picked[0]
        elif picked:
            told.string_array_value.data[:] = picked
        return told

    return sent
