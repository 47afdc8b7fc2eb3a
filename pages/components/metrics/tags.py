"""The figures of a run by tag of its questions: where it is good, and where not."""

from __future__ import annotations

import streamlit as st

from pages.components.metrics.cards import DOUBTED, REFUSED, cutoffs
from pages.components.metrics.readings import Version, by_tag
from rag import KnowledgeBase, Run, TagFigures, metric_title

_MEASURES = ("ndcg", "recall", "mrr")
_PREFERRED = 10
_HELP = {
    DOUBTED: "Unanswerable questions that were not answered.",
    REFUSED: "Unanswerable questions for which nothing came back.",
}


def tag_table(base: KnowledgeBase, run: Run, version: Version) -> None:
    """A row for each tag; nothing where no question has one."""
    k = _PREFERRED if _PREFERRED in cutoffs(run) else cutoffs(run)[-1]
    names = {f"{measure}@{k}": metric_title(f"{measure}@{k}") for measure in _MEASURES}
    leading = next(iter(names))
    refused = DOUBTED if DOUBTED in run.metrics else REFUSED
    rows = by_tag(base, run.id, (*names, refused), version)
    if rows:
        st.caption(f"The interval is that of {names[leading]}: a tag of few questions says little.")
        st.dataframe(
            [_row(row, names, leading, refused) for row in rows],
            key="metrics_by_tag",
            hide_index=True,
            column_config={
                label: st.column_config.NumberColumn(format="%.3f") for label in names.values()
            }
            | {
                metric_title(refused): st.column_config.NumberColumn(
                    format="percent", help=_HELP[refused]
                )
            },
            placeholder="–",
            alt=f"Tags with their questions, {', '.join(names.values())} and refusals.",
        )


def _row(row: TagFigures, names: dict[str, str], leading: str, refused: str) -> dict[str, object]:
    low, high = row.intervals.get(leading, (None, None))
    return {
        "Tag": row.tag,
        "Questions": row.questions,
        **{label: row.means.get(name) for name, label in names.items()},
        "95% interval": "–" if low is None else f"{low:.3f} to {high:.3f}",
        metric_title(refused): row.means.get(refused),
    }
