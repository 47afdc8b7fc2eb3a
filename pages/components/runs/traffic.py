"""Live traffic on the tab Systems: what other services were asked, and how good their hops are."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from pages.components.shell.buttons import action_button, confirm_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import allowed, offered
from pages.components.shell.text import plain
from pages.components.shell.wording import ago
from rag import KnowledgeBase, Run, TrafficSystem, counted, percent

_DONE = ":material/check:"
_SHOWN = 20  # questions of a service


def traffic_view(base: KnowledgeBase, systems: list[TrafficSystem], set_name: str) -> None:
    """The services that sent traces, and how to send them; ``set_name`` is "" without any set."""
    st.markdown("**Live traffic**")
    if systems:
        st.caption(
            "These services send their traces. A request is a trace; if it has several "
            "retrievals, as those of an agent do, they are its hops."
        )
    for item in systems:
        with guard(), st.container(border=True, gap="small"):
            _card(base, item, set_name)
    _instructions(base)


def _card(base: KnowledgeBase, item: TrafficSystem, set_name: str) -> None:
    st.markdown(
        f"**{plain(item.name)}** :gray-badge[live traffic]  \n"
        f"{counted(item.requests, 'request')} with {counted(item.questions, 'question')}, "
        f"the last {ago(item.last)}.{_hops(item)}"
    )
    if set_name:
        _measured(base, item, set_name)
    with st.container(horizontal=True, gap="small"):
        name = item.name
        if set_name:
            options = offered(base, "traffic.evaluate")
            key = f"traffic_evaluate_{name}"
            action_button("Evaluate", key, "monitoring", _evaluate, base, set_name, name, **options)
        if item.has_text and allowed(base, "traffic.collect"):
            with st.popover("Collect questions", icon=":material/playlist_add:"):
                _collect(base, name)
        options = offered(
            base, "traffic.remove", key=f"traffic_delete_{name}", icon=":material/delete:"
        )
        if st.button("Delete", **options):
            _confirm_delete(base, name)
    if allowed(base, "traffic.questions"):
        shown = st.expander("Questions", key=f"traffic_questions_{item.name}", on_change="rerun")
        if shown.open:
            with shown:
                _questions(base, item.name)


def _hops(item: TrafficSystem) -> str:
    if not item.multi_hop:
        return ""
    redundant = counted(item.redundant_calls, "call") if item.redundant_calls else "none"
    return (
        f" {counted(item.multi_hop, 'request')} with several retrievals, "
        f"{item.mean_hops:.1f} on average; {redundant} of these returned nothing new."
    )


def _measured(base: KnowledgeBase, item: TrafficSystem, set_name: str) -> None:
    run = next((run for run in base.runs.list_all(set_name) if _is_of(run, item)), None)
    if run is None:
        st.caption(f"Not evaluated on *{plain(set_name)}* yet.")
        return
    value = run.metrics.get("ndcg@10")
    figure = "" if value is None else f": nDCG@10 **{value:.3f}**"
    st.markdown(
        f"Evaluated {ago(run.created)} on {counted(run.questions, 'question')}{figure}."
        f"{_evidence(run)}"
    )


def _evidence(run: Run) -> str:
    hops = run.system.hops if run.system else {}
    if not hops:
        return ""
    first, last, useful = (hops[n] for n in ("first_evidence", "last_evidence", "first_useful"))
    helped = "" if useful is None else f"; the first useful hop is number {useful:.1f} on average"
    return (
        f" Of the evidence, {percent(first or 0)} came back after the first hop and "
        f"{percent(last or 0)} after the last{helped}."
    )


def _is_of(run: Run, item: TrafficSystem) -> bool:
    return run.system is not None and (run.system.kind, run.system.name) == ("traces", item.name)


def _evaluate(base: KnowledgeBase, set_name: str, name: str) -> None:
    run = base.traffic.evaluate(set_name, name).evaluation.run
    st.toast(f"Measured {counted(run.questions, 'question')} of {plain(name)}.", icon=_DONE)


def _collect(base: KnowledgeBase, name: str) -> None:
    key = f"traffic_set_{name}"
    st.text_input("Question set", f"{name} live", key=key, help="It is created if there is none.")
    action_button("Add", f"traffic_collect_{name}", "add", _add, base, name, key)


def _add(base: KnowledgeBase, name: str, key: str) -> None:
    set_name = str(st.session_state[key])
    added = base.traffic.collect(name, set_name)
    message = f"Added {counted(added, 'question')} to {plain(set_name)}. Label them on Metrics."
    st.toast(message, icon=_DONE)


def _questions(base: KnowledgeBase, name: str) -> None:
    questions = base.traffic.questions(name)
    for question in questions[:_SHOWN]:
        text = plain(question.text) or ":gray[text not stored]"
        times = f"{question.requests:,}×" if question.requests > 1 else ""
        st.markdown(
            f"{text}  \n:small[:gray[{times} {ago(question.last)}, "
            f"{counted(question.results, 'result')}]]"
        )
    if len(questions) > _SHOWN:
        st.caption(f"The newest {_SHOWN} of {len(questions):,}.")


def _instructions(base: KnowledgeBase) -> None:
    with st.expander("Receive live traffic", icon=":material/sensors:"):
        st.markdown(
            "Any service that exports OpenTelemetry traces can send what it retrieves. Make a "
            "token with the scope *traces* in Settings, and start the service with these "
            "variables:"
        )
        address = urlsplit(st.context.url or "")
        server = f"{address.scheme}://{address.netloc}" if address.netloc else "https://HOST"
        st.code(
            f"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT={server}/api/v1/knowledge-bases/{base.id}"
            "/otlp/v1/traces\n"
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS=Authorization=Bearer%20TOKEN\n"
            "OTEL_SERVICE_NAME=assistant",
            language=None,
            wrap_lines=True,
        )
        st.caption(
            "Spans of retrievals by OpenInference or the generative AI conventions are stored, "
            "up to a daily budget."
        )


@st.dialog("Delete this traffic?", icon=":material/delete:")
def _confirm_delete(base: KnowledgeBase, name: str) -> None:
    st.markdown(f"All requests of **{plain(name)}** are deleted. Its runs stay.")
    confirm_button("Delete", "traffic_confirm_delete", base.traffic.remove, name)
