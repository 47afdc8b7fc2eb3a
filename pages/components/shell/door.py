"""The way in and out: the bounds of an address, who may come in, which base is open."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.components.shell import identity
from pages.components.shell.buttons import dialog, filled_button
from pages.components.shell.cookies import COME_IN, LEAVE, SIGN_OUT, base_cookie, last_base
from pages.components.shell.guard import guard, later, show_error
from pages.components.shell.identity import SignedOut, SignInNeeded, VisitOver, is_here
from pages.components.shell.job_progress import reading
from pages.components.shell.session import (
    BASE,
    KEPT,
    QUESTION,
    bases,
    chosen_base,
    oldest,
    refusal,
    shared_cache,
    workspace,
)
from pages.components.shell.text import plain
from rag import LONGEST_QUESTION, KnowledgeBase, KnowledgeBaseData, NotAllowed, counted, find_fault

_CREATED = "frame_created"  # the base to choose at the next run; a drawn picker cannot be set
# Streamlit leaves its sidebar open over a narrow page, whatever is chosen or loaded there, and does
# not run again for another theme, whose colours charts and styles have from the server. A run that
# is under way ends first: it may be an answer, which another run would stop.
_FRAME = """
export default function ({ data, parentElement, setTriggerValue }) {
  const app = document.querySelector("[data-testid=stApp]");
  const scheme = () => getComputedStyle(app).colorScheme;
  parentElement.drawn ??= scheme();
  parentElement.watcher?.disconnect();
  parentElement.watcher = new MutationObserver(() => {
    if (scheme() === parentElement.drawn || app.dataset.testScriptState === "running") return;
    parentElement.drawn = scheme();
    setTriggerValue("theme", parentElement.drawn);
  });
  const attributeFilter = ["class", "data-test-script-state"];
  parentElement.watcher.observe(app, { attributeFilter });
  const before = document.body.dataset.place;
  document.body.dataset.place = data.place;
  if (data.cookie) document.cookie = data.cookie;
  const open = "[data-testid=stSidebarCollapseButton] button[aria-expanded=true]";
  if (before !== data.place && window.innerWidth < 768) document.querySelector(open)?.click();
  return () => parentElement.watcher.disconnect();
}
"""
_place = st.components.v2.component("sidebar_place", html="<span></span>", js=_FRAME)
_GONE = "frame_gone"  # the base that was asked for and is not here, and the page that said so


def choose(name: str) -> None:
    """Make a knowledge base the chosen one from the next run on."""
    st.session_state[_CREATED] = name


def base_picker(bases: list[KnowledgeBaseData], page: str) -> None:
    """The picker with the documents of what is picked, and the way to a new knowledge base."""
    names = [info.name for info in bases]
    _settle_choice(bases, page)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        if names:
            first = names.index(oldest(bases).name)
            st.selectbox("Knowledge base", names, first, key=BASE, bind="query-params")
        if workspace().principal.link is None:
            new_base_button("frame_new", "New", width="content" if names else "stretch")
    chosen = next((info for info in bases if info.name == st.session_state.get(BASE)), None)
    if chosen is not None and not reading(chosen.id):  # else the job says how far it is
        opened = chosen_base()
        out = 0 if refusal(opened, "documents.documents") else _left_out(opened)
        documents = counted(chosen.documents, "document") + (f" ({out:,} left out)" if out else "")
        st.caption(documents)


@shared_cache(64)
def _left_out(chosen: KnowledgeBase) -> int:
    """Count the documents that are left out of search."""
    return sum(info.left_out for info in chosen.documents.documents(chosen.recipe().index))


def close_sidebar(page: str) -> None:
    """Close the sidebar of a narrow window once a page is loaded or something else is chosen.

    Run the page again once another theme is chosen. Keep the knowledge base in a cookie, unless it
    is the one that a plain address shows anyway.
    """
    name, known = st.session_state.get(BASE, ""), bases()
    kept = "" if not known or name == oldest(known).name else name
    cookie = base_cookie(kept) if workspace().principal.link is None else ""
    data = {"place": f"{page} {name}", "cookie": cookie}
    _place(data=data, key="frame_place", height="content", on_theme_change=_redraw)


def _redraw() -> None:
    """Nothing: the run that follows has the colours of the theme."""


def new_base_button(key: str, label: str = "New knowledge base", **options: Any) -> None:
    """Open the dialog that makes a knowledge base."""
    explained = "Each knowledge base has its own documents, questions, runs and recipe."
    if st.button(label, key=key, icon=":material/add:", help=explained, **options):
        _new_base()


def _settle_choice(bases: list[KnowledgeBaseData], page: str) -> None:
    """Follow a base that was just made; where the wanted one is not here, take the oldest."""
    names = [info.name for info in bases]
    created = st.session_state.pop(_CREATED, None)
    chosen = st.session_state.get(BASE)
    requested = chosen or st.query_params.get(BASE)
    if created in names:
        st.session_state[BASE] = created
    elif requested and requested not in names:
        if chosen or requested != last_base(st.context.cookies):  # nobody asked for the last one
            st.session_state[_GONE] = (requested, page)
        if chosen and names:
            st.session_state[BASE] = oldest(bases).name
            st.session_state[KEPT] = st.session_state.get(QUESTION)
            st.rerun()  # without the click or the question: it was meant for another base


def gone_note(page: str) -> None:
    """Say that the wanted knowledge base is gone, until another page is opened."""
    name, page_of_note = st.session_state.get(_GONE) or ("", "")
    if page_of_note != page:
        st.session_state[_GONE] = None
        return
    st.warning(
        f"There is no knowledge base **{plain(name)}** here: it was renamed or deleted, or the "
        "link is from another machine. This page shows another one.",
        icon=":material/database_off:",
    )


@dialog("New knowledge base", icon=":material/library_add:")
def _new_base() -> None:
    st.caption("Each knowledge base has its own documents, questions, runs and recipe.")
    with st.form("frame_new_base", border=False):
        name = st.text_input("Name", max_chars=80, placeholder="For example: support articles")
        submitted = filled_button("Create", draw=st.form_submit_button)
    if submitted:
        with guard():
            choose(workspace().create(name).name)
            st.switch_page("documents.py", query_params={})


_MOST_VALUES = 100  # of one parameter of an address


def bound_address() -> None:
    """Take parameters out of the address that are too long or no text, and say so."""
    unread = [name for name in st.query_params if not _is_readable(name)]
    for name in unread:
        del st.query_params[name]
    if unread:
        later(
            lambda: st.warning(
                "A part of this address was left out: it is too long, or it is not text."
            )
        )


def _is_readable(name: str) -> bool:
    values = st.query_params.get_all(name)
    fits = sum(map(len, values)) <= LONGEST_QUESTION and len(values) <= _MOST_VALUES
    return fits and len(name) <= _MOST_VALUES and not find_fault([name, *values])


_GO = "export default function ({ data }) { window.location.assign(data); }"
_go = st.components.v2.component("go_to_address", html="<span></span>", js=_GO)
_SIGN_OUT = """export default function ({ data }) {
  fetch(data, { method: "POST" })
    .then((answer) => answer.json())
    .then(({ location }) => window.location.assign(location));
}"""
_sign_out = st.components.v2.component("sign_out", html="<span></span>", js=_SIGN_OUT)
_reload = st.components.v2.component(
    "reload", html="<span></span>", js="export default () => window.location.reload();"
)
_ENDS = "door_ends"  # state key: the account of this session was deleted by its person


def let_in() -> bool:
    """Whether somebody may come in; else the page says why not, and how to."""
    try:
        workspace()
    except SignInNeeded as error:
        with guard():
            _sign_in()
        if isinstance(error, SignedOut) and error.known:
            _reload(key="door_reload", height=1)
        return False
    except VisitOver as error:
        _farewell(error)
        return False
    except NotAllowed as error:
        show_error(error.message, error.hint)
        if identity.claims() and (
            st.button("Sign out", key="door_out") or st.session_state.get(_ENDS)
        ):
            _sign_out(key="door_end", data=SIGN_OUT, height=1)
        if identity.share_secret():
            _leave_button()
        return False
    return True


def end_session() -> None:
    """Sign out at the next run: the account is deleted."""
    st.session_state[_ENDS] = True


def _sign_in() -> None:
    st.title("Sign in")
    st.markdown("You are signed out. Knowledge bases here are seen by their members only.")
    for number, name in enumerate(identity.providers()):
        label = f"Sign in with {plain(name.title())}" if name else "Sign in"
        options = {"key": f"door_in_{name}", "on_click": st.login, "args": (name,) if name else ()}
        if number:
            st.button(label, **options)
        else:
            filled_button(label, **options)


def _farewell(error: VisitOver) -> None:
    """Draw the end of a guest's visit, and on the machine of the server a way into all of it."""
    st.title(error.message.removesuffix("."))
    st.markdown(error.hint)
    if is_here():
        st.caption("This browser runs on the machine of the server, which has no sign-in.")
        if st.button("Open the whole application", key="door_come_in"):
            _go(key="door_in", data=COME_IN, height=1)


def who_is_in() -> None:
    """Draw the name of the visitor and a button to leave; draw nothing without a sign-in."""
    principal = workspace().principal
    if principal.link is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            until = f"{principal.link.expires:%Y-%m-%d}"
            st.caption(f"Shown to you by a link until {until}.", width="stretch")
            _leave_button()
    elif not principal.local:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(plain(principal.person.display_name), width="stretch")
            if st.button("Sign out", key="door_out", icon=":material/logout:", type="tertiary"):
                _sign_out(key="door_end", data=SIGN_OUT, height=1)


def _leave_button() -> None:
    """A button that forgets the link that was opened; what follows opens in the same tab.

    A link would open in another one, as every link of Streamlit does.
    """
    label, icon = "Leave", ":material/logout:"
    if st.button(label, key="door_leave", icon=icon, type="tertiary"):
        _go(key="door_go", data=LEAVE, height=1)


def role_note(base_id: int) -> None:
    """Draw the permissions of a viewer or labeller; draw nothing for any other role."""
    principal = workspace().principal
    role = None if principal.local or principal.link else workspace().role_in(base_id)
    if role in ("viewer", "labeller"):
        allowed_actions = {"viewer": "view and ask", "labeller": "view, ask and label"}[role]
        st.caption(f":material/visibility: You can {allowed_actions} here, as {role}.")
