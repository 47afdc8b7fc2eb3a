"""The frame around every page: tab title, logo, navigation, sidebar. Streamlit runs it first."""

from pathlib import Path

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.recipe.chip import recipe_chip
from pages.components.shell import job_progress
from pages.components.shell.base_picker import base_picker, close_sidebar, gone_note
from pages.components.shell.door import bound_address, let_in, role_note, who_is_in
from pages.components.shell.guard import guard
from pages.components.shell.notices import notices
from pages.components.shell.render_queue import DRAWING
from pages.components.shell.run_cache import run_cache
from pages.components.shell.session import base, look_up, start_work, workspace

ASSETS = Path(__file__).parent / "assets"

DOCUMENTS = st.Page(
    "upload.py",
    title="Documents",
    icon=":material/library_books:",
    help="What the knowledge base holds and how it was cut: add files, addresses or text, "
    "preview the passages, follow index builds.",
)
CHAT = st.Page(
    "chat.py",
    title="Chat",
    icon=":material/forum:",
    help="Ask the knowledge base. Answers cite their passages, and each passage opens in its "
    "document.",
)
INSPECTOR = st.Page(
    "inspector.py",
    title="Inspector",
    icon=":material/troubleshoot:",
    help="Why these passages and not those: every candidate of one question, stage by stage. "
    "Label what is relevant here.",
)
METRICS = st.Page(
    "metrics.py",
    title="Metrics",
    icon=":material/monitoring:",
    help="How good retrieval is on a question set: precision, recall, MRR and nDCG with "
    "intervals, and the questions that fail.",
)
TUNING = st.Page(
    "tuning.py",
    title="Tuning",
    icon=":material/tune:",
    help="What to change: figures and curves that follow the sliders, the best recipe of a grid "
    "checked on held-out questions, and a threshold from labels.",
)
ARENA = st.Page(
    "arena.py",
    title="Arena",
    icon=":material/balance:",
    help="Two recipes answer one question side by side, without their names; votes say which one "
    "is preferred, and how sure that is.",
)
REVIEW = st.Page(
    "review.py",
    title="Review",
    icon=":material/rate_review:",
    help="Which answers failed: thumbs down and refusals, each to be made a labelled question, "
    "dismissed, or looked into.",
)
RUNS = st.Page(
    "runs.py",
    title="Runs",
    icon=":material/leaderboard:",
    help="Is it better than before: every evaluation kept, compared question by question, with "
    "a report to take away.",
)
MEMORY = st.Page(
    "memory.py",
    title="Memory",
    icon=":material/psychology:",
    help="What was asked and answered before: search it by meaning, correct it, forget it, and "
    "measure whether it helps a language model.",
)
OPERATIONS = st.Page(
    "operations.py",
    title="Operations",
    icon=":material/speed:",
    help="How the knowledge base does in use: questions, refusals, times, tokens and thumbs over "
    "time, the slowest and the worst turns.",
)
SETTINGS = st.Page(
    "settings.py",
    title="Settings",
    icon=":material/settings:",
    help="Model providers, keys and where the data is kept.",
)
AUDIT = st.Page(
    "audit.py",
    title="Audit log",
    icon=":material/history_edu:",
    help="Who changed or read what in your knowledge bases.",
)


def open_chat() -> None:
    """The root address: sends the visitor to Chat and keeps the query string."""
    # A default page is served at the root only. Sending visitors on gives every page, Chat too,
    # an address of its own that can be shared.
    names = st.query_params
    st.switch_page(CHAT, query_params=[(name, names.get_all(name)) for name in names])


def sidebar(page: str) -> None:
    """Draws the sidebar below the navigation, and over the page that a base is gone."""
    with st.sidebar, guard():
        bases = look_up()
        base_picker(bases, page)
        job_progress.running_jobs()
        if bases:
            role_note(base().id)
            recipe_chip(base())
        who_is_in()
        close_sidebar(page)
    gone_note(page)


HOME = st.Page(open_chat, title="Touchstone", default=True, visibility="hidden")

st.set_page_config(
    page_title="Touchstone",
    page_icon=str(ASSETS / "mark.svg"),
    layout="wide",
    initial_sidebar_state="auto",
)
st.html(ASSETS / "focus.css")
st.logo(str(ASSETS / "touchstone.svg"), size="large", icon_image=str(ASSETS / "mark.svg"))
PAGES = {
    "": [HOME],
    "Build": [DOCUMENTS],
    "Ask": [CHAT, ARENA, REVIEW, MEMORY],
    "Understand": [INSPECTOR],
    "Measure": [METRICS, TUNING, RUNS, OPERATIONS],
    "Settings": [SETTINGS],
}
bound_address()
with run_cache():
    if not let_in():
        st.navigation(PAGES, position="hidden")
        st.stop()
    principal = workspace().principal
if principal.link is not None:
    PAGES = {"": [HOME], "Ask": [CHAT], "Measure": [RUNS]}
elif not principal.local:
    PAGES["Settings"].append(AUDIT)
current = st.navigation(PAGES)
with DRAWING.one(), run_cache():
    if current is not HOME:  # it sends the visitor on: the sidebar would be drawn twice
        working_recipe.enter(current.url_path)
        sidebar(current.url_path)
        with guard():
            notices()
    current.run()
with guard():
    start_work()
