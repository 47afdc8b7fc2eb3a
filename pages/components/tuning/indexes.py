"""Indexes side by side: build the missing ones in a job, then measure them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.components.recipe import index_builds, working_recipe
from pages.components.recipe.index_builds import cost_of, unread_passages
from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button
from pages.components.shell.session import keep, offered, workspace
from pages.components.shell.tables import picked_rows
from pages.components.shell.text import (
    CONTEXT_HELP,
    CONTEXTS,
    chunking,
    plain,
    token_note,
)
from pages.components.tuning.bench import Bench
from rag import (
    UNCHANGED,
    BuildFigures,
    Grid,
    IndexRecipe,
    KnowledgeBase,
    chunker_name,
    counted,
    metric_title,
)

_CUTOFFS = (5, 10)
_BUILD = "build-several"
_CHUNKING_WIDTH = 220  # pixels that its longest description takes
_FIGURES = ("ndcg@10", "recall@5", "span_recall@5", "span_precision@5", "span_iou@5")


_READING = (
    "Scroll the table sideways for all metrics. Labels are places in the documents, so they count "
    "in every index. A passage that no label touches counts as not relevant until you judge it, so "
    "an index may be better than its nDCG and recall. Span metrics count the labelled words "
    "themselves, whatever the chunking."
)


def indexes(bench: Bench) -> None:
    """The section of the page."""
    st.header("Chunking and embedding models", divider="gray")
    keep(bench.base, "cuts", first=False)
    if not st.toggle(
        "Compare indexes",
        key="cuts",
        bind="query-params",
        help="Labels are places in documents, so they are valid for every index.",
    ):
        return
    values = _fields(bench)
    grid = Grid.parse(values, bench.recipe)
    recipes = [recipe.index for recipe in grid.indexes()]
    if note := index_builds.unread_note(recipes):
        st.caption(note)
    missing = [recipe for recipe in recipes if bench.base.documents.missing(recipe)]
    tables = bench.base.tuning.build_tables
    job = tables.latest(bench.set_name, grid)
    building = [job for job in job_progress.active(bench.base.id) if job.kind == _BUILD]
    if building:
        job_progress.follow(building[0].id, "tuning")
    elif missing:
        _missing(bench.base, recipes, missing)
    elif job is not None and job.active:
        job_progress.follow(job.id, "compare")
    else:
        _compare(bench, values, grid)
    job_progress.failure(job)
    result = tables.result(bench.set_name, grid)
    if result is None:
        return
    if result.state == bench.state:
        _table(bench, result.rows)
    elif not (missing or building or (job is not None and job.active)):
        st.info(
            "The last comparison is discarded: documents, questions or labels changed while it ran "
            "or since then. Compare again to measure them as they are now.",
            icon=":material/history:",
        )


def _fields(bench: Bench) -> dict[str, Sequence[Any]]:
    """The values of a grid around the present recipe."""
    now = bench.recipe.index
    first = {
        "chunkers": [*dict.fromkeys([now.chunker, "sentence"])],
        "embedders": [now.embedder],
        "overlaps": [now.chunk_overlap],
        "sizes": [now.chunk_size],
        "contexts": [now.context],
    }

    def choose(name: str, label: str, options: Iterable[Any], **more: Any) -> list[Any]:
        key = f"cut_{name}"
        keep(bench.base, key, first[name])
        # No default: an address leaves a default out, and another recipe would have another one.
        return st.multiselect(label, options, key=key, bind="query-params", **more)

    free = partial(choose, accept_new_options=True)
    left, right = st.columns(2)
    with left:
        chunkers = choose(
            "chunkers", index_builds.CHUNKER, index_builds.CHUNKERS, format_func=chunker_name
        )
    with right:
        embedders = free("embedders", index_builds.EMBEDDER, index_builds.embedders(now))
        label = f"{index_builds.OVERLAP} ({now.unit})"
        overlaps = free("overlaps", label, sorted({0, 25, 50, now.chunk_overlap}))
    with left:
        label = f"{index_builds.SIZE} ({now.unit})"
        sizes = free("sizes", label, sorted({100, 200, 400, now.chunk_size}))
        contexts = choose(
            "contexts",
            index_builds.CONTEXT,
            CONTEXTS,
            format_func=CONTEXTS.get,
            help=CONTEXT_HELP,
        )
    return {
        "index.chunker": chunkers or [now.chunker],
        "index.chunk_size": [_number(size) for size in sizes] or [now.chunk_size],
        "index.chunk_overlap": [_number(overlap) for overlap in overlaps] or [now.chunk_overlap],
        "index.embedder": embedders or [now.embedder],
        "index.context": contexts or [now.context],
    }


def _number(value: object) -> object:
    """Convert typed digits to an integer; return anything else as is, for the recipe to reject."""
    return int(value) if isinstance(value, str) and value.strip().isdecimal() else value


def _missing(
    base: KnowledgeBase, recipes: Sequence[IndexRecipe], missing: Sequence[IndexRecipe]
) -> None:
    """Draw the builds that are missing and their cost, with a button to start them."""
    stopped = any(
        job.kind == _BUILD and job.status in ("cancelled", "failed")
        for job in workspace().jobs.recent(base.id)[:1]
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        label = (
            "Continue building" if stopped else f"Build {counted(len(missing), 'index', 'indexes')}"
        )
        build = base.documents.build_several
        options = offered(base, "documents.build_several")
        action_button(label, "tuning_cut_build", "construction", build, missing, **options)
        there = len(recipes) - len(missing)
        st.caption(
            f"{there:,} of {counted(len(recipes), 'index', 'indexes')} "
            f"{'is' if there == 1 else 'are'} built. "
            f"{cost_of(base, missing)} Embedded text is reused."
        )


def _compare(bench: Bench, values: Mapping[str, Sequence[Any]], grid: Grid) -> None:
    variants = len(grid)
    brings = any(recipe.search != bench.recipe.search for recipe in grid.indexes())
    with st.container(horizontal=True, vertical_alignment="center"):
        arguments = (bench.set_name, values, bench.recipe, _CUTOFFS)
        start = partial(bench.base.tuning.build_tables.start, *arguments)
        label, options = (
            "Measure this index" if variants == 1 else f"Compare {variants:,} indexes",
            offered(bench.base, "tuning.build_tables.start"),
        )
        action_button(label, "tuning_cut_compare", "table_chart", start, **options)
        st.caption(
            ("It is built. It is" if variants == 1 else "All are built. Each one is")
            + " searched with all questions and the current recipe."
            + (" Another embedding model brings its own dense weight." if brings else "")
        )


def _table(bench: Bench, rows: Sequence[BuildFigures]) -> None:
    """A row for each index; the picked one can be tried."""
    event = st.dataframe(
        [_row(row) for row in rows],
        key="tuning_cut_table",
        hide_index=True,
        on_select="rerun",
        selection_mode=("single-row", "single-cell"),
        column_config={
            metric_title(name): st.column_config.NumberColumn(format="%.3f") for name in _FIGURES
        }
        | {
            "Model": st.column_config.TextColumn(pinned=True, width="small"),
            "Chunking": st.column_config.TextColumn(width=_CHUNKING_WIDTH),
            "Tokens": st.column_config.NumberColumn(format="%.0f", help="Mean length."),
        },
        alt="Indexes with passages, mean length and metrics.",
    )
    st.caption(_READING)
    if note := token_note((row.recipe.index, row.passages) for row in rows):
        st.caption(note)
    if unread := unread_passages(bench.base, (row.recipe.index for row in rows)):
        st.caption(unread)
    picked = [rows[place] for place in picked_rows(event) if place < len(rows)]
    st.caption(
        plain(_takeaway(rows)) + ("" if picked else " Click a row, then *Try this index* below.")
    )
    if not picked:
        return
    use = partial(working_recipe.use_index, bench.base, picked[0].recipe.index)
    explained = working_recipe.UNTIL_SAVED
    action_button("Try this index", "tuning_cut_use", "check", use, help=explained)


def _row(row: BuildFigures) -> dict[str, object]:
    index = row.recipe.index
    return {
        "Model": index.embedder,
        "Chunking": chunking(index),
        "Context": CONTEXTS[index.context],
        "Passages": row.passages,
        "Tokens": row.mean_tokens,
    } | {metric_title(name): row.metrics[name] for name in _FIGURES if name in row.metrics}


def _takeaway(rows: Sequence[BuildFigures]) -> str:
    """The best by nDCG@10, and how far it is ahead."""
    ranked = sorted(rows, key=lambda row: -row.metrics["ndcg@10"])
    best = ranked[0].recipe.index
    highest = ranked[0].metrics["ndcg@10"]
    chunks = f"{chunker_name(best.chunker)} {best.chunk_size}/{best.chunk_overlap}"
    verdict = f"Highest nDCG@10: {chunks} with {best.embedder}, {highest:.3f}."
    if len(ranked) == 1:
        return verdict
    lead = highest - ranked[1].metrics["ndcg@10"]
    if lead < UNCHANGED:
        tied = sum(highest - row.metrics["ndcg@10"] < UNCHANGED for row in rows)
        return f"{counted(tied, 'index', 'indexes')} share the highest nDCG@10, {highest:.3f}."
    return (
        f"{verdict} The next is {lead:.3f} behind; evaluate both and compare them in Runs to see "
        "whether that is more than noise."
    )
