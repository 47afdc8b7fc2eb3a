"""Whatever a page offers to somebody, that role may do: every control is used by every role."""

import itertools
import shutil
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ButtonGroup, Multiselect, Selectbox

from pages.components.shell import identity, session
from rag import (
    EVERYBODY,
    ROLES,
    Claims,
    KnowledgeBase,
    NotAllowed,
    Principal,
    ScopedWorkspace,
    TourStop,
)
from rag.workspace import authorization
from rag.workspace.authorization import Authorization
from tests.answers import asked
from tests.controls import Sweep, change_all, picking
from tests.handbook import FRAME, LEAVE
from tests.members import World, said
from tests.people import signed_in, view
from tests.sample_files import encrypted_pdf
from tests.workspaces import DATABASES, add

TRAINS = "In which class are trains booked?"
GUEST = "guest"
PLACES = {
    "documents.py": ("doc",),
    "chat.py": ("talk", "source"),
    "inspector.py": ("q",),
    "metrics.py": ("set", "run"),
    "tuning.py": ("set",),
    "runs.py": ("set", "runs", "question"),
    "usage.py": (),
    "settings.py": (),
    "tour.py": ("tour", "stop"),
}
"""What the address of each page names."""
OF_GUESTS = ("chat.py", "runs.py", "tour.py")
FRAME_ONLY = {"frame_new", "frame_next_go", "door_out", "frame_recipe_save", "frame_recipe_reset"}
"""Controls around every page, which are used on one of them."""


class Stocked:
    """A home in which every page has something to show, to members of each role and by a link."""

    def __init__(self, home: Path) -> None:
        world = World(home)
        self.home, workspace, base = home, world.workspace, world.base
        recipe = base.recipe()
        base.recipes.save(recipe.with_fields({"search.top_k": 3}))
        one = base.runs.list_all()[0].id
        words = recipe.with_fields({"search.mode": "lexical", "search.threshold": 0.9})
        other = base.runs.evaluate("questions", words).run.id
        base.runs.pin(one)
        base.questions.set_split("questions", 1)
        job = base.documents.build(recipe.with_fields({"index.chunk_size": 40}).index)
        assert job is not None
        workspace.jobs.run(job)
        workspace.jobs.run(base.questions.request_proposals("questions", ["cloze"], 2, recipe))
        add(workspace, base, {"late.md": "# Late\n\nCome late.", "shut.pdf": _locked()})
        secret, link = base.access.create_link("fair")
        self.secret = secret
        tour = base.conversations.tours.create("Fair")
        base.conversations.tours.add(
            tour, [TourStop("answer", LEAVE, "Until June."), TourStop("why", "Why?")]
        )
        talks = {
            role: _asked(view(workspace, signed_in(workspace, role)).base("handbook"))
            for role in ROLES
        }
        guest = ScopedWorkspace(workspace, Principal(link=link, via="link", key_id=link.id))
        talks[GUEST] = _asked(guest.base("handbook"))
        self.addresses = {
            role: world.parameters
            | {"tour": str(tour), "stop": "1"}
            | {"q": LEAVE, "runs": f"{one},{other}", "question": "q1"}
            | {"talk": str(talk), "source": f"{turn}.1"}
            for role, (talk, turn) in talks.items()
        }
        workspace.close()
        DATABASES.keep(home)


def _locked() -> bytes:
    return encrypted_pdf("Lanterns are lit at dusk.", "open sesame 71", "owner", "AES-256")


def _asked(base: KnowledgeBase) -> tuple[int, int]:
    """A conversation of an answer, of one with a thumb down, and of a refusal; its first turn."""
    recipe = base.recipe()
    talk = base.conversations.open(None)
    turns = []
    for question, threshold in ((LEAVE, None), (TRAINS, None), (TRAINS, 0.99)):
        changed = recipe.with_fields({"search.threshold": threshold})
        turns.append(asked(base, question, changed, talk=talk).id)
    base.conversations.rate(turns[1], -1)
    return talk, turns[0]


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Stocked:
    return Stocked(tmp_path_factory.mktemp("home"))


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whatever a knowledge base refuses, also where no page shows that."""
    noted: list[str] = []
    call = Authorization.call

    def noting(guard: Authorization, path: str, *call_arguments: Any) -> Any:
        try:
            return call(guard, path, *call_arguments)
        except NotAllowed as error:
            noted.append(f"{path}: {error.message}")
            raise

    monkeypatch.setattr(Authorization, "call", noting)
    return noted


@pytest.fixture
def all_in_sight(monkeypatch: pytest.MonkeyPatch, refusals: list[str]) -> None:
    """What is folded is open, and whatever can be downloaded is."""

    def unfolded(draw: Callable[..., Any]) -> Callable[..., Any]:
        def drawn(*given: Any, **options: Any) -> Any:
            if options.get("on_change") == "rerun":
                st.session_state.setdefault(options["key"], True)
            return draw(*given, **options)

        return drawn

    for name in ("popover", "expander"):
        monkeypatch.setattr(st, name, unfolded(getattr(st, name)))
    download = st.download_button

    def downloaded(label: str, data: Any, **options: Any) -> Any:
        if callable(data) and not options.get("disabled"):
            try:
                data()
            except Exception as error:
                refusals.append(f"Download of {label}: {error!r}")
        return download(label, data=data, **options)

    monkeypatch.setattr(st, "download_button", downloaded)
    for kind in (ButtonGroup, Multiselect, Selectbox):
        monkeypatch.setattr(kind, "_widget_state", property(picking(kind._widget_state.fget)))


@pytest.fixture
def visit(
    stocked: Stocked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., AppTest]:
    """Opens a page as somebody in a fresh copy of the home."""
    copies = itertools.count()
    # Whether a job still waits is not for chance to say: its controls go with it.
    monkeypatch.setattr(session, "start_work", lambda: None)

    def visit(role: str, page: str, **address: str) -> AppTest:
        home = tmp_path / f"home{next(copies)}"
        shutil.copytree(stocked.home, home)
        DATABASES.copy(stocked.home, home)
        monkeypatch.setenv("TOUCHSTONE_HOME", str(home))
        session.opened.clear()
        claims = Claims("https://id.example", role, f"{role}@example.org", role, verified=True)
        secret = stocked.secret if role == GUEST else ""
        monkeypatch.setattr(identity, "configured", lambda: True)
        monkeypatch.setattr(identity, "claims", lambda: claims)
        monkeypatch.setattr(identity, "providers", lambda: [""])
        monkeypatch.setattr(identity, "share_secret", lambda: secret)
        app = AppTest.from_file(str(FRAME), default_timeout=300)
        for name in ("kb", *PLACES[page]):
            app.query_params[name] = address.get(name, stocked.addresses[role][name])
        return app.switch_page(page).run()

    return visit


@pytest.mark.usefixtures("all_in_sight")
@pytest.mark.parametrize("page", OF_GUESTS)
def test_a_guest_may_do_what_is_offered(page, visit, refusals):
    assert "\n".join(Sweep(partial(visit, GUEST, page), refusals).run()) == ""


@pytest.mark.slow
@pytest.mark.usefixtures("all_in_sight")
@pytest.mark.parametrize("page", PLACES)
def test_members_may_do_what_is_offered(page, visit, refusals):
    """What a role may do, those above may do as well: of these only what is offered first."""
    used = set() if page == "chat.py" else set(FRAME_ONLY)
    for role in ROLES:
        assert "\n".join(Sweep(partial(visit, role, page), refusals, used).run()) == "", role


@pytest.mark.usefixtures("all_in_sight")
@pytest.mark.parametrize(
    ("role", "page"), [*product([GUEST], OF_GUESTS), *product(["owner"], PLACES)]
)
def test_a_role_that_is_taken_meanwhile_ends_no_page(role, page, visit, monkeypatch):
    """Controls that were drawn before are still there, and what they call refuses."""
    monkeypatch.setattr(authorization, "_ROLE_SECONDS", 0.0)  # it is noticed at once
    app = visit(role, page)
    base = session.opened().base("handbook")
    if role == GUEST:
        base.access.revoke_link(base.access.links()[0].id)
    else:
        base.access.remove_member(f"{role}@example.org")
    change_all(app)
    assert [each.message for each in app.run().exception] == []


@pytest.mark.parametrize("ticked", [1, 2])
def test_a_guest_reads_runs_and_takes_reports_away(ticked, visit, stocked):
    runs = stocked.addresses[GUEST]["runs"].split(",")
    app = visit(GUEST, "runs.py", runs=",".join(runs[-ticked:]))
    offered = {each.label: not each.disabled for each in app.get("download_button")}
    assert offered == {
        "Report (HTML)": True,
        "Recipe (JSON)": True,
        "Bundle (ZIP)": False,
        "TREC run": False,
        "TREC qrels": False,
    }
    assert [each.value for each in app.error] == []
    assert "Better on 0 questions, worse on 1" in said(app)
    assert len(app.get("plotly_chart")) == 1


def test_what_a_guest_thinks_of_an_answer_is_kept(visit):
    app = visit(GUEST, "chat.py", source="")
    first, second, _refused = (
        int(str(each.key).rpartition("_")[2]) for each in app.button if "again" in str(each.key)
    )
    app.get_by_key(f"chat_sources_{first}").set_value(1).run()
    assert app.query_params["source"] == f"{first}.1"
    assert "passage 1 of" in said(app)  # beside the answer
    app.button(key=f"chat_why_{second}").click().run()
    app.get_by_key(f"chat_reason_{second}").set_value("wrong")
    app.get_by_key(f"chat_correction_{second}").set_value("In first class.")
    app.button(key=f"chat_why_keep_{second}").click().run()
    assert [each.value for each in app.error] == []
    reviews = session.opened().base("handbook", EVERYBODY).conversations.export_feedback()
    told = {each["id"]: each["feedback"] for each in reviews}
    assert told[second] == {"thumb": "down", "reason": "wrong", "correction": "In first class."}
    conversations = session.opened().base("handbook", EVERYBODY).conversations
    talk = int(app.query_params["talk"])
    assert [turn.clicks for turn in conversations.turns(talk)] == [1, 0, 0]
