"""Actions on one run: pin, describe, use its recipe, download, delete."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.recipe.chip import recipe_download
from pages.components.runs.table import SELECTED, run_name
from pages.components.shell.buttons import action_button, confirm_button, dialog, download_button
from pages.components.shell.session import guest, offered, workspace
from pages.components.shell.text import clipped, plain
from pages.components.tours import tour_button
from rag import (
    KnowledgeBase,
    LeaderboardRow,
    Recipe,
    Run,
    ScopedWorkspace,
    TourStop,
    counted,
    plain_run_name,
    run_stop,
)

_LONGEST = 60  # characters of a recipe's name on a button


def actions(base: KnowledgeBase, row: LeaderboardRow) -> None:
    """A row of buttons for one run."""
    with st.container(horizontal=True, gap="small"):
        use_button(base, row.run)
        if not guest():
            _pin_button(base, row)
            options = offered(base, "runs.describe", key="runs_note", icon=":material/edit_note:")
            if st.button("Note and tags", **options):
                _annotate(base, row.run)
        downloads(base, row.run)
        tour_button(base, f"run_{row.run.id}", partial(_stops, base, row))
        if not guest():
            delete_button(base, [row])


def _stops(base: KnowledgeBase, row: LeaderboardRow) -> list[TourStop]:
    """Return the values of a run as a stop of a tour."""
    intervals, results = base.runs.intervals(row.run.id), base.runs.results(row.run.id)
    return [run_stop(row.run, plain_run_name(row.run, run_name(row)), intervals, results)]


def use_button(base: KnowledgeBase, run: Run, *, one_of_two: bool = False) -> None:
    """Make the run's recipe the one that every page works with.

    A system has none, and the answers of guests follow the saved one. ``one_of_two`` is for a
    comparison, where the button says whose recipe it is.
    """
    if run.recipe is None or guest():
        return
    name = base.runs.recipe_name(run.recipe)
    explained = f"All pages use {plain(name)} until you reset it in the sidebar."
    costs = workspace().costs(base, run.recipe)
    options = {"type": "secondary" if one_of_two else "primary"}
    options |= {"disabled": bool(costs), "help": costs or explained}
    label = f"Use {plain(clipped(name, _LONGEST))}" if one_of_two else "Use this recipe"
    action_button(label, f"runs_use_{run.id}", "check", _use, base, run.recipe, **options)


def _use(base: KnowledgeBase, recipe: Recipe) -> None:
    working_recipe.replace(base, recipe)
    message = "All pages use this recipe now. To save it, open *Recipe* in the sidebar."
    icon = "check"
    if missing := base.documents.missing(recipe.index):
        lacking = counted(missing, "document")
        message = (
            f"In use, but its index lacks {lacking}. Build it: *Change the recipe*, *Advanced*."
        )
        icon = "construction"
    st.toast(message, icon=f":material/{icon}:")


def _pin_button(base: KnowledgeBase, row: LeaderboardRow) -> None:
    runs = base.runs
    label, icon, act, argument = (
        ("Unpin", "keep_off", runs.unpin, row.run.question_set)
        if row.is_baseline
        else ("Pin as baseline", "keep", runs.pin, row.run.id)
    )
    explained = "Other runs of this question set are compared with the baseline."
    options = offered(base, "runs.pin", help=explained)
    action_button(label, "runs_pin", icon, act, argument, **options)


@dialog("Note and tags", icon=":material/edit_note:")
def _annotate(base: KnowledgeBase, run: Run) -> None:
    st.text_area(
        "Note",
        run.note,
        key=f"runs_note_text_{run.id}",
        max_chars=2000,
        placeholder="The change, and the reason for it",
        help="Its first line names the run in comparisons.",
        persist_state="page",
    )
    st.multiselect(
        "Tags",
        run.tags,
        default=run.tags,
        key=f"runs_note_tags_{run.id}",
        accept_new_options=True,
        max_selections=20,
        placeholder="None, type to add one",
        persist_state="page",
    )
    confirm_button("Save", "runs_note_save", _describe, base, run.id)


def _describe(base: KnowledgeBase, run_id: str) -> None:
    note = st.session_state[f"runs_note_text_{run_id}"]
    base.runs.describe(run_id, note=note, tags=st.session_state[f"runs_note_tags_{run_id}"])


def downloads(base: KnowledgeBase, run: Run, against: Run | None = None) -> None:
    """The run as files: for people, for the command line, for another machine, for trec_eval."""
    with st.popover("Download run", icon=":material/download:", key=f"runs_download_{run.id}"):
        download_button(
            "Report (HTML)",
            partial(base.runs.report, run.id, against.id if against else None),
            f"report-{run.id}.html",
            "runs_report",
            "article",
            mime="text/html",
            help="One file that opens without a network.",
            width="stretch",
        )
        if run.recipe:
            recipe_download("Recipe (JSON)", run.recipe, "runs_recipe", width="stretch")
        download_button(
            "Bundle (ZIP)",
            partial(_bundle, workspace(), run.id),
            f"experiment-{run.id}.zip",
            "runs_bundle",
            "folder_zip",
            mime="application/zip",
            width="stretch",
            **_bundled(base, run),
        )
        for ending, export, explained in (
            ("run", base.questions.export_run, "The rankings, for trec_eval and its relatives."),
            ("qrels", base.questions.export_run_qrels, "The judgements that fit the rankings."),
        ):
            key, name = f"runs_trec_{ending}", f"{run.id}.{ending}"
            options = offered(base, "questions.export_run", help=explained, width="stretch")
            download_button(f"TREC {ending}", partial(export, run.id), name, key, **options)


def _bundled(base: KnowledgeBase, run: Run) -> dict[str, Any]:
    """The options of the button for a bundle: off for guests, and where it could not be repeated.

    Guests may not look at what has changed either.
    """
    explained = (
        "Recipe, questions, labels and results. Import it on another machine to reproduce "
        "the metrics."
    )
    options = offered(base, "bundle", help=explained)
    if run.recipe is None:
        return {"disabled": True, "help": "This run measured a system, which cannot be repeated."}
    if not options.get("disabled") and _changed(base, run):
        changed = "Questions, documents or tags changed since this run, so it cannot be repeated"
        options = {"disabled": True, "help": f"{changed}: evaluate again."}
    return options


def _changed(base: KnowledgeBase, run: Run) -> bool:
    """Whether questions, documents or tags are others than when a run was made."""
    versions = {item.name: item.version for item in base.questions.list_all()}
    filtered = base.documents.filter_digest(run.recipe) if run.recipe else run.filter_digest
    now = (versions.get(run.question_set), filtered)
    return documents_changed(base, run) or now != (run.set_version, run.filter_digest)


def documents_changed(base: KnowledgeBase, run: Run) -> bool:
    """Whether other documents are held than when a run was made; a new index changes none."""
    return run.base_version != base.version() and run.documents_hash != base.documents.hash()


def _bundle(workspace: ScopedWorkspace, run_id: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "experiment.zip"
        workspace.bundle(run_id, target)
        return target.read_bytes()


def delete_button(base: KnowledgeBase, chosen: list[LeaderboardRow]) -> None:
    """Ask before runs go."""
    label = "Delete" if len(chosen) == 1 else f"Delete {counted(len(chosen), 'run')}"
    options = offered(base, "runs.remove", key="runs_delete", icon=":material/delete:")
    if st.button(label, **options):
        _confirm_delete(base, chosen)


@dialog("Delete runs?", icon=":material/delete:")
def _confirm_delete(base: KnowledgeBase, chosen: list[LeaderboardRow]) -> None:
    st.markdown("\n".join(f"- {plain(run_name(row))}" for row in chosen[:8]))
    if len(chosen) > 8:
        st.caption(f"and {counted(len(chosen) - 8, 'more run')}")
    st.markdown("This deletes their metrics, rankings and notes. Questions and labels stay.")
    if any(row.is_baseline for row in chosen):
        st.warning(
            "The baseline is among them: the question set is left without one.",
            icon=":material/keep_off:",
        )
    confirm_button("Delete", "runs_delete_really", _delete, base, [row.run.id for row in chosen])


def _delete(base: KnowledgeBase, ids: list[str]) -> None:
    for run_id in ids:
        base.runs.remove(run_id)
    st.query_params.pop(SELECTED, None)
