"""The workspace of all pages, the knowledge base that is open, and what its visitor may do.

A cache lasts for one run of a page. A forbidden action is disabled, and its help names the role.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st
from streamlit.navigation.page import Page
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.components.shell.identity import principal, visitor
from rag import (
    BaseOverview,
    Document,
    KnowledgeBase,
    KnowledgeBaseData,
    NotFound,
    QuestionSet,
    ScopedWorkspace,
    Workspace,
)

# Not in the session state: a page looks here a hundred times, and that takes a lock each time.
_cache: ContextVar[dict[Hashable, Any] | None] = ContextVar("_cache", default=None)


@contextmanager
def run_cache() -> Iterator[None]:
    """Make ``cached_per_run`` read once. The frame puts it around the drawing of a whole page."""
    token = _cache.set({})
    try:
        yield
    finally:
        _cache.reset(token)


def cached_per_run(name: Hashable, read: Callable[[], Value]) -> Value:
    """Return the value of ``read``, which is called once per rerun of the page for each ``name``.

    Callbacks and fragment reruns call ``read`` each time, because they follow changes.
    """
    cache = _cache.get()
    if cache is None:
        return read()
    if name not in cache:
        cache[name] = read()
    value: Value = cache[name]
    return value


BASE = "kb"  # state key of the picker and name of the URL's parameter
QUESTION = "chat_question"  # state key of the chat's input
KEPT = "chat_kept"  # a question that was typed for a base that is gone
ASKED_ANEW = "chat_asked_anew"  # a question of another page, for a new conversation
_BASES = "session_bases"
_LEFT_PAGE, _LEFT_ADDRESSES = "left_page", "left_addresses"
_OPENED = "session_opened_popovers"
_KEPT_WIDGETS = "session_kept_widgets"
_BASES_OF_WIDGETS = "bases_of_kept_widgets"

Arguments = ParamSpec("Asked")
Value = TypeVar("Value")


@st.cache_resource(show_spinner=False)
def opened() -> Workspace:
    """The one workspace of this process, with the sample queued at the first start."""
    opened_workspace = Workspace.from_env()
    opened_workspace.welcome()
    return opened_workspace


def workspace() -> ScopedWorkspace:
    """The workspace as whoever looks at the page may see it. Raises SignInNeeded, NotAllowed."""
    return cached_per_run(
        "workspace", lambda: ScopedWorkspace(opened(), principal(opened()), visitor())
    )


def start_work() -> None:
    """Start the worker, once; after the first page is drawn, so that it need not share."""
    opened().jobs.start()


def look_up() -> list[KnowledgeBaseData]:
    """Read which knowledge bases there are. The frame does so once, before each page."""
    infos = st.session_state[_BASES] = workspace().bases()
    return infos


def bases() -> list[KnowledgeBaseData]:
    """The knowledge bases that there were when this run of the page began."""
    infos: list[KnowledgeBaseData] | None = st.session_state.get(_BASES)
    return look_up() if infos is None else infos


def chosen_base() -> KnowledgeBase:
    """The chosen knowledge base, else the oldest, with the conversations of this visitor.

    Raises NotFound where there is none at all.
    """
    if not bases():
        raise NotFound("There is no knowledge base yet.", "Create one in the sidebar.")
    name = chosen_info(bases()).name
    return cached_per_run(("base", name), lambda: workspace().base(name))


def chosen_info(infos: Sequence[KnowledgeBaseData]) -> KnowledgeBaseData:
    """Return the knowledge base that is picked, or that the address names, else the oldest.

    At the first run of an address, nothing is picked until the sidebar is drawn.
    """
    name = st.session_state.get(BASE) or st.query_params.get(BASE)
    return next((info for info in infos if info.name == name), None) or oldest(infos)


def question_sets(base: KnowledgeBase) -> list[QuestionSet]:
    """The question sets of a knowledge base by name."""
    return cached_per_run(("question sets", base.id), base.questions.list_all)


def cache_data(most: int, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``st.cache_data`` for what follows from the documents of a knowledge base and arguments."""
    named = {KnowledgeBase: _state, Document: lambda document: document.id}
    options = {"show_spinner": False} | options
    return st.cache_data(max_entries=most, hash_funcs=named, **options)


def shared_cache(
    most: int,
) -> Callable[
    [Callable[Concatenate[KnowledgeBase, Arguments], Value]],
    Callable[Concatenate[KnowledgeBase, Arguments], Value],
]:
    """Cache small, frequently read values that no caller mutates, without copying them.

    The key includes the state of the knowledge base, as in ``cache_data``. ``st.cache_data`` hashes
    the arguments and unpickles a copy on each call, which took a tenth of the time of a page with
    many cards. This cache compares the arguments and returns the value itself. It keeps ``most``
    values and evicts the least recently used one.
    """

    def decorated(
        read: Callable[Concatenate[KnowledgeBase, Arguments], Value],
    ) -> Callable[Concatenate[KnowledgeBase, Arguments], Value]:
        cache: OrderedDict[Hashable, Value] = OrderedDict()
        lock = threading.Lock()

        @wraps(read)
        def cached(
            base: KnowledgeBase, *arguments: Arguments.args, **named: Arguments.kwargs
        ) -> Value:
            key = (_state(base), arguments, *named.items())
            with lock:
                if key in cache:
                    cache.move_to_end(key)
                    return cache[key]
            value = read(base, *arguments, **named)
            with lock:
                cache[key] = value
                if len(cache) > most:
                    cache.popitem(last=False)
            return value

        return cached

    return decorated


def _state(base: KnowledgeBase) -> tuple[str, int, int]:
    return str(opened().settings.home), base.id, cached_per_run(("version", base.id), base.version)


def show(key: str, value: object) -> None:
    """Set what a widget shows, unless it does: a click during a run would be undone."""
    if st.session_state.get(key) != value:
        st.session_state[key] = value


def just_opened(key: str, *, is_open: bool) -> bool:
    """Whether a popover with ``on_change="rerun"`` was opened before this run.

    The browser has the widgets in it only from then on. It draws each with its default, unless the
    state is set in this run.
    """
    opened: dict[str, bool] = st.session_state.setdefault(_OPENED, {})
    before, opened[key] = opened.get(key, False), is_open
    return is_open and not before


def keep(base: KnowledgeBase, key: str, first: object) -> None:
    """Show in a widget what it showed when it was last drawn for a knowledge base, else ``first``.

    Streamlit forgets a widget that a run does not draw. Call this before the widget is drawn. An
    address that names the value comes first.
    """
    if key in st.query_params and key not in st.session_state:
        return
    kept: dict[tuple[int, str], object] = st.session_state.setdefault(_KEPT_WIDGETS, {})
    bases: dict[str, int] = st.session_state.setdefault(_BASES_OF_WIDGETS, {})
    if key not in st.session_state or bases.get(key, base.id) != base.id:
        st.session_state[key] = kept.get((base.id, key), first)
    kept[base.id, key] = st.session_state[key]
    bases[key] = base.id


def to_url(name: str, value: str) -> None:
    """Make the address name a value, or nothing where it is empty."""
    if value:
        st.query_params[name] = value
    else:
        st.query_params.pop(name, None)


def open_page(page: str | Page, parameters: Mapping[str, str | list[str]]) -> None:
    """Open a page at an address; what a widget is bound to is changed by its state alone.

    The inspector's question is not bound: its field follows the address.
    """
    bound = (parameters.keys() & st.session_state.keys()) - {"q"}
    for name in bound:
        show(name, parameters[name])
    unbound = {name: value for name, value in parameters.items() if name not in bound}
    st.switch_page(page, query_params=unbound)


def restore_address(page: Page) -> None:
    """Return to the address at which a page was left, if the browser's Back reached it bare.

    When a visitor leaves a page, Streamlit takes the parameters of its widgets out of the address
    before the next page has its own. The history then has an entry of the page without them.
    """
    before, st.session_state[_LEFT_PAGE] = st.session_state.get(_LEFT_PAGE), page.url_path
    context = get_script_run_ctx()
    back = context is not None and context.is_history_navigation and before != page.url_path
    left = st.session_state.get(_LEFT_ADDRESSES, {}).get(_address_key(page))
    if back and left and not st.query_params.keys() - {BASE}:
        for name in left.keys() & st.session_state.keys() - {"q"}:
            del st.session_state[name]  # the widget takes its value from the address
        open_page(page, left | {name: st.query_params[name] for name in st.query_params})


def note_address(page: Page) -> None:
    """Note the address of a page that is drawn."""
    names = {name: st.query_params.get_all(name) for name in st.query_params if name != BASE}
    st.session_state.setdefault(_LEFT_ADDRESSES, {})[_address_key(page)] = names


def _address_key(page: Page) -> tuple[str, str]:
    return page.url_path, st.query_params.get(BASE, "")


def oldest(bases: Sequence[KnowledgeBaseData]) -> KnowledgeBaseData:
    """The base of an address that names none: new ones must not change what old links show."""
    return min(bases, key=lambda info: info.created)


def draft_key(form: str, key: str) -> str:
    """A key of a widget that is typed into: another one each time that the form was stored.

    A form that clears itself drops what was typed also where it is refused.
    """
    return f"{key}_{st.session_state.get(_counter(form), 0)}"


def draft_stored(form: str) -> None:
    """Note that what was typed is stored: the widgets of the form begin anew."""
    st.session_state[_counter(form)] = st.session_state.get(_counter(form), 0) + 1


def _counter(form: str) -> str:
    return f"{form}_drafts_stored"


def refusal(base: KnowledgeBase | KnowledgeBaseData | BaseOverview | int, path: str) -> str:
    """The reason why the visitor may not do ``path``; empty if it is allowed.

    ``path`` is that of an operation, such as ``documents.build``. ``base`` is a knowledge base or
    its id.
    """
    base_id = base if isinstance(base, int) else base.id
    return cached_per_run(("refusal", base_id, path), lambda: workspace().refusal(base_id, path))


def offered(
    base: KnowledgeBase | KnowledgeBaseData | BaseOverview | int, path: str, **options: Any
) -> dict[str, Any]:
    """The options of a widget; it is off where the visitor may not, and its help says who may."""
    reason = refusal(base, path)
    return options | {"disabled": True, "help": reason} if reason else options


def allowed(base: KnowledgeBase, path: str) -> bool:
    """Whether the visitor may; where not, a line in the place of what is not offered says who."""
    reason = refusal(base, path)
    if reason:
        st.caption(f":material/lock: {reason}")
    return not reason


def guest() -> bool:
    """Whether the visitor came by a link: only the chat, the tours and the runs are there then."""
    return workspace().principal.link is not None


def link_tour() -> int | None:
    """Return the id of the only tour that the guest's link shows, beside the chat.

    It is None for links that show all tours and the runs, and for visitors who are no guests.
    """
    link = workspace().principal.link
    return None if link is None else link.tour_id
