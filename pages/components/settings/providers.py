"""Model providers: what each offers, what it still needs, and a real call to try it."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard
from pages.components.shell.session import workspace
from pages.components.shell.text import plain
from rag import ModelFacts, ProviderStatus


def providers_view() -> None:
    """Providers that can be used now, then those that need something first."""
    for facts in workspace().language_models():
        _learned(facts)
    statuses = [status for status in workspace().statuses() if not status.for_trials]
    ready = [status for status in statuses if status.ready]
    for status in ready:
        _row(status)
    rest = [status for status in statuses if not status.ready]
    with st.expander(f"{len(rest)} more that need to be set up", icon=":material/key:"):
        st.caption("Set the variable in the environment of the server and start it again.")
        for status in rest:
            _row(status)


def _learned(facts: ModelFacts) -> None:
    """Draw what was learned of a model by asking it, with a button to try it again."""
    parts = []
    if facts.evidence:
        parts.append(f"reads {facts.evidence}: {facts.evidence_reason}")
    if (longest := facts.longest_prompt) is not None:
        parts.append(
            f"its server read {facts.read_tokens:,} of at least {facts.sent_tokens:,} tokens of a "
            f"prompt, so prompts have at most {longest:,} for a day"
        )
    if not parts:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = f"**{plain(facts.model)}** ({plain(facts.provider)})"
        st.markdown(f":material/neurology: {name} {plain('; '.join(parts))}.", width="content")
        if workspace().principal.administrator:
            key = f"settings_try_{facts.provider}_{facts.model}_{facts.address}"
            help_ = "Forgets this: the next answer tries the model with a prompt of full length."
            action_button("Try again", key, "", workspace().try_again, facts.name, help=help_)


def _row(status: ProviderStatus) -> None:
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{plain(status.label)}** {_badges(status)}", width="stretch")
            test_clicked = workspace().principal.administrator and st.button(
                "Test",
                key=f"settings_test_{status.name}",
                help="Sends a short request to the provider.",
                disabled=not status.ready,
            )
        st.caption(_facts(status))
        if test_clicked:
            _test(status)


def _badges(status: ProviderStatus) -> str:
    offers = [
        (":blue-badge[:material/scatter_plot: embeds]", status.embedding_model),
        (":violet-badge[:material/forum: answers]", status.chat_model),
    ]
    badges = [badge for badge, model in offers if model]
    if status.reranks:
        badges.append(":green-badge[:material/swap_vert: reranks]")
    if status.missing:
        badges.append(f":orange-badge[:material/key_off: needs {plain(status.missing)}]")
    elif status.key_variable and status.key_found:
        badges.append(":green-badge[:material/key: key found]")
    return " ".join(badges)


def _facts(status: ProviderStatus) -> str:
    models = dict.fromkeys(model for model in (status.embedding_model, status.chat_model) if model)
    parts = [f"`{status.name}`", ", ".join(plain(model) for model in models)]
    if status.key_variable:
        parts.append(f"key in {plain(status.key_variable)}")
    if status.runtime:
        parts.append(f"run by {plain(status.runtime)}")
    parts += [plain(status.address), plain(status.note)]
    return " · ".join(part for part in parts if part)


def _test(status: ProviderStatus) -> None:
    with guard(), st.spinner(f"Calling {plain(status.label)} …"):
        result = workspace().check_provider(status.name)
        st.success(plain(result), icon=":material/check_circle:")
