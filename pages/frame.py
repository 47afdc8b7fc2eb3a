"""The frame around every page: tab title, logo, navigation, sidebar. Streamlit runs it first."""

from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit.navigation.page import Page

from pages.components.recipe import working_recipe
from pages.components.recipe.chip import recipe_chip
from pages.components.shell import job_progress
from pages.components.shell.buttons import no_dialog
from pages.components.shell.charts import DARK, palette
from pages.components.shell.door import (
    base_picker,
    bound_address,
    close_sidebar,
    gone_note,
    let_in,
    role_note,
    who_is_in,
)
from pages.components.shell.guard import guard, later, notices
from pages.components.shell.render_queue import DRAWING
from pages.components.shell.session import (
    bases as known_bases,
)
from pages.components.shell.session import (
    chosen_base,
    chosen_info,
    guest,
    link_tour,
    look_up,
    note_address,
    restore_address,
    run_cache,
    start_work,
    workspace,
)
from pages.components.shell.text import plain

ASSETS = Path(__file__).parent / "assets"

DOCUMENTS = st.Page(
    "documents.py",
    title="Documents",
    icon=":material/library_books:",
    help="Add documents, preview their passages, build indexes.",
)
CHAT = st.Page(
    "chat.py",
    title="Chat",
    icon=":material/forum:",
    help="Ask questions. Answers cite passages that open in their documents.",
)
INSPECTOR = st.Page(
    "inspector.py",
    title="Inspector",
    icon=":material/troubleshoot:",
    help="See why one question retrieves these passages and not others. Label relevant ones.",
)
METRICS = st.Page(
    "metrics.py",
    title="Metrics",
    icon=":material/monitoring:",
    help="Measure retrieval and answers on a question set. Edit question sets.",
)
TUNING = st.Page(
    "tuning.py",
    title="Tuning",
    icon=":material/tune:",
    help="Change the recipe and see the effect on the metrics. Search for the best recipe.",
)
RUNS = st.Page(
    "runs.py",
    title="Runs",
    icon=":material/leaderboard:",
    help="Compare evaluations question by question, or let votes compare two recipes.",
)
USAGE = st.Page(
    "usage.py",
    title="Usage",
    icon=":material/speed:",
    help="Review failed answers. See questions, refusals, latency and ratings over time.",
)
UNUSED = st.Page("usage.py", title="Usage", visibility="hidden")
HIDDEN_RUNS = st.Page("runs.py", title="Runs", visibility="hidden")
SETTINGS = st.Page(
    "settings.py",
    title="Settings",
    icon=":material/settings:",
    help="Set up model providers, tools, members and tokens.",
)


def tour_page(visibility: Literal["visible", "hidden"]) -> Page:
    """Return the page of guided tours, which is in the navigation where there are tours."""
    return st.Page(
        "tour.py",
        title="Tours",
        icon=":material/tour:",
        help="A guided tour: an answer, its page, why it was found, and how good that is.",
        visibility=visibility,
    )


def not_shared(page: Page) -> Page:
    """Return a hidden page at the address of one that guests don't have: it says so."""

    def lead_on() -> None:
        later(
            lambda: st.info(
                f"The page {page.title} is not part of what your link shows. Ask the person who "
                "sent it.",
                icon=":material/link:",
            )
        )
        st.switch_page(CHAT, query_params={})

    return st.Page(lead_on, title=page.title, url_path=page.url_path, visibility="hidden")


TOURS, HIDDEN_TOURS = tour_page("visible"), tour_page("hidden")
NOT_SHARED = [not_shared(page) for page in (DOCUMENTS, INSPECTOR, METRICS, TUNING, USAGE, SETTINGS)]


def open_chat() -> None:
    """The root address: sends the visitor to Chat and keeps the query string."""
    # A default page is served at the root only, and Chat has an address that can be shared. The
    # server sends browsers on before; this is for addresses of no page.
    names = st.query_params
    st.switch_page(CHAT, query_params=[(name, names.get_all(name)) for name in names])


def sidebar(page: str) -> None:
    """Draw the sidebar below the navigation, and over the page that a base is gone."""
    with st.sidebar, guard():
        bases = known_bases()
        base_picker(bases, page)
        job_progress.running_jobs(page)
        if bases:
            role_note(chosen_base().id)
            if guest():
                working_recipe.settle(chosen_base())
            else:
                recipe_chip(chosen_base())
        who_is_in()
        close_sidebar(page)
    gone_note(page)


def is_used() -> bool:
    """Look up the knowledge bases; return whether anybody asked the chosen one a question.

    False for guests, who have no page for it.
    """
    bases = look_up()
    if not bases or guest():
        return False
    chosen = chosen_info(bases)
    used: set[int] = st.session_state.setdefault("frame_used", set())
    if chosen.id not in used and workspace().base(chosen.name).conversations.has_turns():
        used.add(chosen.id)
    return chosen.id in used


def has_tours() -> bool:
    """Look up the knowledge bases; return whether the chosen one has a tour."""
    if not look_up():
        return False
    toured: set[int] = st.session_state.setdefault("frame_toured", set())
    if chosen_base().id not in toured and chosen_base().conversations.tours.list_tours():
        toured.add(chosen_base().id)
    return chosen_base().id in toured


def shown_base() -> None:
    """Name the knowledge base to guests: on a narrow screen, the sidebar with it is closed."""
    if guest() and known_bases():
        st.caption(f":material/database: {plain(chosen_base().name)}")


HOME = st.Page(open_chat, title="Touchstone", default=True, visibility="hidden")
LEADING_ON = [HOME]

st.set_page_config(
    page_title="Touchstone",
    page_icon=str(ASSETS / "mark.svg"),
    layout="wide",
    initial_sidebar_state=300,
)
st.html(ASSETS / "contrast.css")
if palette() is DARK:
    st.html(ASSETS / "dark.css")
st.logo(str(ASSETS / "touchstone.svg"), size="large", icon_image=str(ASSETS / "mark.svg"))
PAGES = [DOCUMENTS, CHAT, INSPECTOR, METRICS, TUNING, RUNS, USAGE, SETTINGS, HIDDEN_TOURS]
bound_address()
no_dialog()
with run_cache():
    if not let_in():
        st.navigation([*LEADING_ON, *PAGES], position="hidden")
        st.stop()
    used = toured = False
    with guard():
        used, toured = is_used(), has_tours()
    if guest():
        LEADING_ON = [HOME, *NOT_SHARED]
        PAGES = [CHAT, TOURS if toured else HIDDEN_TOURS]
        if link_tour() is not None:
            LEADING_ON.append(not_shared(RUNS))
        else:
            runs = HIDDEN_RUNS
            with guard():
                if known_bases():
                    runs = RUNS if chosen_base().runs.has_runs() else HIDDEN_RUNS
            PAGES.append(runs)
    else:
        if not used:
            PAGES[PAGES.index(USAGE)] = UNUSED
        if toured:
            PAGES[PAGES.index(HIDDEN_TOURS)] = TOURS
current = st.navigation([*LEADING_ON, *PAGES])
with DRAWING.one(), run_cache():
    if current not in LEADING_ON:  # they send the visitor on: the sidebar would be drawn twice
        restore_address(current)
        note_address(current)
        working_recipe.enter(current.url_path)
        sidebar(current.url_path)
        with guard():
            notices()
        with guard():
            shown_base()
    current.run()
with guard():
    start_work()
