"""HTTP tools: services whose results join those of the documents. Add, try, change, delete."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.components.shell.buttons import action_button, confirm_button, filled_button
from pages.components.shell.guard import guard
from pages.components.shell.session import workspace
from pages.components.shell.text import plain
from pages.components.shell.wording import clipped
from rag import HttpTool, InvalidInput, ToolOutcome, counted

_OPEN = "tools_open"  # what is open of which tool
_SHOWN = 240  # characters of a result
_PATHS = {
    "results": ("Results", "data.results", "Where the list of results is; empty: the answer."),
    "text": ("Text", "text", "The words of one result."),
    "title": ("Title", "title", ""),
    "link": ("Link", "url", ""),
    "score": ("Score", "score", "Shown as it is; the service's order counts."),
}


def tools_view() -> None:
    """All tools, each with a question to try it by."""
    tools = workspace().tools.every()
    st.caption(
        "A service gets the question and answers with JSON; what it finds stands beside the "
        "passages, with the same relevance and threshold. Choose tools in a recipe under Advanced."
    )
    for tool in tools:
        _row(tool)
    if not tools:
        st.markdown("There is no tool yet.")
    if _is_open("edit", ""):
        with st.container(border=True):
            _edit(None)
    else:
        action_button("Add a tool", "tools_add", "add", _open, "edit", "")


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
    label, *given = ("Close", "", "") if opened else (label, what, tool.name)
    action_button(label, f"tools_{what}_{tool.name}", icon, _open, *given)


def _is_open(what: str, name: str) -> bool:
    return bool(st.session_state.get(_OPEN) == (what, name))


def _open(what: str, name: str) -> None:
    """Shows the form or the trial of one tool, and nothing of the others."""
    st.session_state[_OPEN] = (what, name)


def _badges(tool: HttpTool) -> str:
    unset = ", ".join(workspace().tools.unset(tool))
    return f":orange-badge[:material/key_off: needs {plain(unset)}]" if unset else ""


def _try(tool: HttpTool) -> None:
    question = st.text_input("Question", key="tools_question", placeholder="What should it find?")
    if filled_button("Ask", key="tools_ask", disabled=not question.strip()):
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
    with st.form("tools_form", border=False):
        given = _fields(tool)
        with st.container(horizontal=True):
            submitted = filled_button("Save the tool", draw=st.form_submit_button)
            st.form_submit_button("Cancel", on_click=_open, args=("", ""))
    if submitted:
        with guard():
            workspace().tools.save(HttpTool.parse(_read(given)))
            _open("", "")
            st.rerun()


def _fields(tool: HttpTool | None) -> dict[str, Any]:
    """The form's values by field name, as typed."""
    old = tool.model_dump() if tool else {"text": "text", "most": 10, "seconds": 10.0}
    given: dict[str, Any] = {
        "name": tool.name
        if tool
        else st.text_input("Name", key="tools_name", placeholder="wiki, without spaces"),
        "url": st.text_input(
            "Address",
            old.get("url", ""),
            key="tools_url",
            placeholder="https://search.example/api?q={question}",
            help="{question} stands where the question goes, here or in the body.",
        ),
        "description": st.text_input(
            "What it is for",
            old.get("description", ""),
            key="tools_description",
            max_chars=300,
            placeholder="the state of every pump, as it is now",
            help="A language model is told this where it may choose a tool (answers in mode auto).",
        ),
        "body": st.text_area(
            "Body, as JSON; empty for a GET request",
            old.get("body", ""),
            key="tools_body",
            placeholder='{"query": "{question}", "limit": 10}',
        ),
        "headers": st.text_area(
            "Headers, one a line",
            "\n".join(f"{name}: {value}" for name, value in old.get("headers", {}).items()),
            key="tools_headers",
            placeholder="Authorization: Bearer TOUCHSTONE_TOOL_KEY",
            help="Names of environment variables that begin with TOUCHSTONE_TOOL_, never values.",
        ),
    }
    st.caption("Where things are in the answer, as JMESPath: names with dots between them.")
    with st.grid(3, min_column_width=160):
        for name, (label, example, help_text) in _PATHS.items():
            given[name] = st.text_input(
                label,
                old.get(name, ""),
                key=f"tools_{name}",
                placeholder=example,
                help=help_text or None,
            )
        given["most"] = st.number_input("Most results", 1, 50, old["most"], key="tools_most")
        given["seconds"] = st.number_input(
            "Longest wait, seconds", 0.5, 60.0, float(old["seconds"]), key="tools_seconds"
        )
    return given


def _read(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a tool. Raises InvalidInput for a header without a value."""
    method = "POST" if given["body"].strip() else "GET"
    rows = [line.partition(":") for line in given["headers"].splitlines() if line.strip()]
    if not all(colon for _, colon, _ in rows):
        raise InvalidInput(
            "A header has no value.", "Write it like X-Api-Key: TOUCHSTONE_TOOL_KEY."
        )
    headers = {name.strip(): value.strip() for name, _, value in rows}
    return {**given, "name": given["name"].strip(), "method": method, "headers": headers}


@st.dialog("Delete this tool?", icon=":material/delete:")
def _confirm_delete(name: str) -> None:
    st.markdown(
        f"**{plain(name)}** is no longer asked. Recipes that name it say so in every search."
    )
    confirm_button("Delete", "tools_delete_really", workspace().tools.remove, name)
