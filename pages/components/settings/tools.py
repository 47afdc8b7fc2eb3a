"""HTTP tools: services whose results join those of the documents. Add, try, change, delete."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import action_button, confirm_button, dialog, filled_button
from pages.components.shell.guard import guard
from pages.components.shell.session import workspace
from pages.components.shell.text import clipped, plain, read_headers
from rag import HttpTool, ToolOutcome, counted

_OPEN = "tools_open"  # which forms and trials are open, each with its tool; "" is a new one
_SHOWN = 240  # characters of a result
_PATHS = {
    "results": ("Results", "data.results", "Where the list of results is; empty: the answer."),
    "text": ("Text", "text", "The words of one result."),
    "title": ("Title", "title", ""),
    "link": ("Link", "url", ""),
    "score": ("Score", "score", "Shown as it is; the service's order counts."),
}
_TYPED = ("name", "url", "description", "body", "headers", *_PATHS, "most", "seconds")


def tools_view() -> None:
    """All tools, each with a question to try it by."""
    tools = workspace().tools.list_all()
    for tool in tools:
        _row(tool)
    if not tools:
        st.markdown("No tools yet.")
    if _is_open("edit", ""):
        with st.container(border=True):
            _edit(None)
    else:
        explained = (
            "A service gets the question and returns JSON. Its results are ranked with the "
            "passages, by the same relevance and threshold. Choose tools in a recipe, under "
            "Advanced."
        )
        action_button("Add a tool", "tools_add", "add", _open, "edit", "", help=explained)


def _row(tool: HttpTool) -> None:
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{plain(tool.name)}** {_badges(tool)}", width="stretch")
            _button(tool, "test", "Test", "play_arrow")
            _button(tool, "edit", "Edit", "edit")
            if st.button("Delete", key=f"tools_delete_{tool.name}", icon=":material/delete:"):
                _confirm_delete(tool.name)
        st.caption(f"{tool.method} {plain(tool.url)}")
        if _is_open("test", tool.name):
            _try(tool)
        if _is_open("edit", tool.name):
            _edit(tool)


def _button(tool: HttpTool, what: str, label: str, icon: str) -> None:
    opened = _is_open(what, tool.name)
    label, act = ("Close", _close) if opened else (label, _open)
    action_button(label, f"tools_{what}_{tool.name}", icon, act, what, tool.name)


def _is_open(what: str, name: str) -> bool:
    return (what, name) in st.session_state.get(_OPEN, ())


def _open(what: str, name: str) -> None:
    """Show the form or the trial of a tool; those of others stay, with what was typed there."""
    st.session_state[_OPEN] = {*st.session_state.get(_OPEN, ()), (what, name)}


def _close(what: str, name: str) -> None:
    st.session_state[_OPEN] = {*st.session_state.get(_OPEN, ())} - {(what, name)}


def _badges(tool: HttpTool) -> str:
    unset = ", ".join(workspace().tools.unset(tool))
    return f":orange-badge[:material/key_off: needs {plain(unset)}]" if unset else ""


def _try(tool: HttpTool) -> None:
    question = st.text_input(
        "Question", key=f"tools_question_{tool.name}", placeholder="What should it find?"
    )
    if filled_button("Ask", key=f"tools_ask_{tool.name}", disabled=not question.strip()):
        with guard(), st.spinner(f"Asking {plain(tool.name)} …"):
            _show(workspace().tools.ask(tool, question))


def _show(outcome: ToolOutcome) -> None:
    empty = f", {outcome.empty} without text" if outcome.empty else ""
    st.caption(f"{counted(len(outcome.results), 'result')}{empty}, {outcome.seconds:.1f} s")
    for number, result in enumerate(outcome.results, start=1):
        score = "" if result.score is None else f" :gray[· score {result.score:g}]"
        text = clipped(result.text, _SHOWN)
        with st.container(border=True, gap="xsmall"):
            st.markdown(f"**{number} · {plain(result.title or 'no title')}**{score}")
            st.caption(plain(result.url) or "no address")
            st.markdown(f":small[{plain(text)}]")


def _edit(tool: HttpTool | None) -> None:
    name = tool.name if tool else ""
    # No form of Streamlit: that keeps what is typed to itself, and loses it with the next drawing.
    _fields(tool)
    with st.container(horizontal=True):
        action_button("Save the tool", f"tools_save_{name}", "", _save, name, type="primary")
        action_button("Cancel", f"tools_cancel_{name}", "", _close, "edit", name)


def _save(name: str) -> None:
    fields = {field: st.session_state[_key(field, name)] for field in _TYPED if field != "name"}
    fields["name"] = name or st.session_state[_key("name", name)]
    fields["headers"] = read_headers(fields["headers"])
    fields["method"] = "POST" if fields["body"].strip() else "GET"
    workspace().tools.save(HttpTool.parse({**fields, "name": fields["name"].strip()}))
    _close("edit", name)


def _key(field: str, name: str) -> str:
    """The key of a field in the form of a tool; a new one has no name yet."""
    return f"tools_{field}_{name}"


def _fields(tool: HttpTool | None) -> None:
    old = tool.model_dump() if tool else {"text": "text", "most": 10, "seconds": 10.0}
    name = tool.name if tool else ""
    if not name:
        st.text_input("Name", key=_key("name", name), placeholder="wiki, without spaces")
    st.text_input(
        "Address",
        old.get("url", ""),
        key=_key("url", name),
        placeholder="https://search.example/api?q={question}",
        help="Write {question} where the question goes, here or in the body.",
    )
    st.text_input(
        "What it is for",
        old.get("description", ""),
        key=_key("description", name),
        max_chars=300,
        placeholder="the state of every pump, as it is now",
        help=(
            "The description that a language model reads when it chooses a tool (answers in "
            "mode auto)."
        ),
    )
    st.text_area(
        "Body, as JSON; empty for a GET request",
        old.get("body", ""),
        key=_key("body", name),
        placeholder='{"query": "{question}", "limit": 10}',
    )
    st.text_area(
        "Headers, one a line",
        "\n".join(f"{header}: {value}" for header, value in old.get("headers", {}).items()),
        key=_key("headers", name),
        placeholder="Authorization: Bearer TOUCHSTONE_TOOL_KEY",
        help="Names of environment variables that begin with TOUCHSTONE_TOOL_, never values.",
    )
    st.caption("Where things are in the answer, as JMESPath: names with dots between them.")
    with st.grid(3, min_column_width=160):
        for path, (label, example, help_text) in _PATHS.items():
            st.text_input(
                label,
                old.get(path, ""),
                key=_key(path, name),
                placeholder=example,
                help=help_text or None,
            )
        st.number_input("Most results", 1, 50, old["most"], key=_key("most", name))
        st.number_input(
            "Longest wait, seconds", 0.5, 60.0, float(old["seconds"]), key=_key("seconds", name)
        )


@dialog("Delete this tool?", icon=":material/delete:")
def _confirm_delete(name: str) -> None:
    st.markdown(
        f"**{plain(name)}** is no longer used. Searches with a recipe that names it show a note."
    )
    confirm_button("Delete", "tools_delete_really", workspace().tools.remove, name)
