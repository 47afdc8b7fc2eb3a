"""The drift watch: looks at a question set, and what they found."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.labels.question_sets import SET
from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button
from pages.components.shell.permission import offered
from pages.components.shell.text import plain
from rag import KnowledgeBase, WatchLook

_SET = "drift_set"
_ICONS = {
    "reference": (st.info, ":material/flag:"),
    "passed": (st.success, ":material/check:"),
    "drifted": (st.error, ":material/trending_down:"),
    "incomparable": (st.warning, ":material/update:"),
}


def drift_watch(base: KnowledgeBase) -> None:
    """Draw the last look at a question set, a button for the next, and a table of all."""
    names = [item.name for item in base.questions.list_all()]
    if not names:
        return
    st.header("Drift watch", divider="gray")
    st.caption(
        "A look compares the embedder, the metrics, the canary questions and the questions of "
        "chats with a reference. To look on a schedule, run `python -m rag watch` with cron."
    )
    wanted = st.query_params.get(SET)
    start = names.index(wanted) if wanted in names else 0
    name = st.selectbox("Question set", names, index=start, key=_SET)
    recipe = base.recipe()
    job = base.watches.latest(name, recipe)
    if job is not None and job.active:
        job_progress.follow(job.id, "drift")
        return
    looks = base.watches.looks(name)
    job_progress.failure(job, looks[0].created if looks else None)
    if looks:
        _last(looks[0])
    options = offered(base, "watches.start")
    with st.container(horizontal=True, gap="small"):
        action_button("Look now", "drift_look", "visibility", _look, base, name, **options)
        if looks and not looks[0].report.is_reference:
            action_button(
                "New reference", "drift_reset", "flag", _look, base, name, True, **options
            )
    if len(looks) > 1:
        _table(looks)


def _look(base: KnowledgeBase, name: str, reset: bool = False) -> None:
    base.watches.start(name, base.recipe(), reset=reset)


def _last(look: WatchLook) -> None:
    report = look.report
    draw, icon = _ICONS[report.outcome]
    sentences = [*report.findings, *report.obstacles] or [report.headline]
    if report.metrics is not None and report.metrics.verdict != "worse":
        sentences.append(report.metrics.sentence)
    points = "\n".join(f"- {plain(sentence)}" for sentence in sentences)
    draw(points if len(sentences) > 1 else plain(sentences[0]), icon=icon)
    notes = " ".join(report.notes)
    st.caption(f"{look.created:%Y-%m-%d %H:%M} UTC. {plain(notes)}")


def _table(looks: Sequence[WatchLook]) -> None:
    st.dataframe(
        [_row(look) for look in looks],
        key="drift_looks",
        hide_index=True,
        placeholder="–",
        column_config={
            "Time": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm", pinned=True),
            "nDCG@10": st.column_config.NumberColumn(format="%.3f"),
            "Lowest cosine": st.column_config.NumberColumn(format="%.4f"),
            "Distance of questions": st.column_config.NumberColumn(format="%.3f"),
        },
        alt="Looks of the drift watch with outcome, nDCG@10, lowest cosine and canaries, "
        "newest first.",
    )


def _row(look: WatchLook) -> dict[str, object]:
    report = look.report
    return {
        "Time": look.created,
        "Outcome": report.outcome,
        "nDCG@10": report.mean,
        "p": f"{report.metrics.p:.2g}" if report.metrics else None,
        "Lowest cosine": report.vectors.lowest,
        "Canaries changed": f"{len(report.changed)} of {report.canaries}",
        "Distance of questions": report.questions.distance if report.questions else None,
    }
