"""Model providers with a real call to try one, and the wording of prompts."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.components.recipe.local_models import QUOTES
from pages.components.recipe.working_recipe import saved
from pages.components.shell.buttons import action_button, filled_button
from pages.components.shell.guard import guard
from pages.components.shell.session import bases, chosen_base, offered, workspace
from pages.components.shell.text import ago, plain
from rag import PROMPTS, KnowledgeBase, ModelFacts, ProviderStatus, Recipe, counted

_HEIGHT = 316  # pixels: half a row at the end says that there are more


def state_view() -> None:
    """Say in one line what search and answers of the chosen knowledge base use, and if it works."""
    recipe = saved(chosen_base()) if bases() else Recipe()
    absent, by_name = _absent(), {status.name: status for status in workspace().statuses()}
    works = {name for name, status in by_name.items() if status.ready and name not in absent}
    services = [by_name[name] for name in works - {QUOTES} if not by_name[name].findable]
    servers = [one for one in workspace().local_servers() if one.chat_models and not one.to_set]
    models = [one.label for one in services if one.chat_model] + [one.label for one in servers]

    def uses(what: str, name: str) -> str:
        label = plain(by_name[name].label) if name in by_name else plain(name)
        if name in works:
            return f":green[{what} {label}.]"
        return f":red[{what} {label}, which is not ready.]"

    embedder, provider = recipe.index.embedder.partition(":")[0], recipe.answer.provider
    if embedder in works and not by_name[embedder].address:
        said = ":green[Search works offline.]"
    else:
        said = uses("Search uses", embedder)
    if provider != QUOTES:
        said += f" {uses('Answers use', provider)}"
    elif models:
        said += f" Answers are quotes; :green[{plain(', '.join(sorted(models)))}] can answer too."
    else:
        said += " Answers are quotes: :orange[no language model is ready.]"
    st.markdown(f"##### {said}")


def _absent() -> set[str]:
    """The names of providers that would run on this computer, and do not."""
    if not workspace().settings.find_models:
        return set()
    running = {server.provider for server in workspace().local_servers()}
    return {one.name for one in workspace().statuses() if one.findable} - running


def providers_view() -> None:
    """Draw a table of the providers, those that can be used now first, and the details of one."""
    for facts in workspace().language_models():
        _learned(facts)
    statuses = [status for status in workspace().statuses() if not status.for_trials]
    absent = _absent()
    statuses.sort(key=lambda status: not status.ready or status.name in absent)
    st.dataframe(
        [_row(status, absent=status.name in absent) for status in statuses],
        key="settings_providers",
        hide_index=True,
        height=_HEIGHT,
        column_config={
            "State": st.column_config.TextColumn(
                width=190,
                help="Search and quotes work on this machine without a key. Set what a provider "
                "needs in the environment of the server, and start it again.",
            ),
        },
        alt="Model providers with their state, what they offer and their names in a recipe.",
    )
    _one({status.name: status for status in statuses})


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


def _row(status: ProviderStatus, *, absent: bool) -> dict[str, str]:
    offers = {
        "embeds": status.embedding_model,
        "answers": status.chat_model,
        "reranks": status.reranks,
        "decides": status.decides,
    }
    state = "ready"
    if status.missing:
        state = f"needs {status.missing}"
    elif absent:
        state = "not running"
    elif status.key_variable and status.key_found:
        state = "ready, key found"
    return {
        "Provider": status.label,
        "State": state,
        "For": ", ".join(name for name, offer in offers.items() if offer),
        "Name": status.name,
    }


def _one(statuses: Mapping[str, ProviderStatus]) -> None:
    """Draw the details of one of the providers, and a button that sends it a short request."""
    pressed = False
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Provider",
            list(statuses),
            format_func=lambda name: statuses[name].label,
            key="settings_provider",
            label_visibility="collapsed",
            width=320,
        )
        status = statuses[name]
        if status.ready and workspace().principal.administrator:
            pressed = st.button(
                "Test", key="settings_test", help="Sends a short request to the provider."
            )
    st.caption(plain(_facts(status)))
    if pressed:
        with guard(), st.spinner(f"Calling {plain(status.label)} …"):
            st.success(plain(workspace().check_provider(name)), icon=":material/check_circle:")


def _facts(status: ProviderStatus) -> str:
    models = dict.fromkeys(model for model in (status.embedding_model, status.chat_model) if model)
    parts = [", ".join(models)]
    if status.key_variable:
        parts.append(f"key in {status.key_variable}")
    if status.runtime:
        parts.append(f"run by {status.runtime}")
    parts += [status.address, status.note]
    return " · ".join(part for part in parts if part)


def prompts_view() -> None:
    """One prompt at a time, with its versions and what was changed."""
    base = chosen_base()
    st.caption(
        f"The prompts for answers in {plain(base.name)}. Touchstone replaces the names in "
        "braces for each question. An answer keeps the version of the prompt that it was "
        "made with."
    )
    name = st.selectbox("Prompt", list(PROMPTS), format_func=_title, key="prompt_name")
    prompts, saves = base.conversations.prompts, offered(base, "conversations.prompts.save")
    wording, versions = prompts.wording(), prompts.versions(name)
    key = f"prompt_text_{base.id}_{name}_{len(versions)}"
    text, persistence = (
        wording.text(name),
        "session",
    )  # a look at another prompt or page drops nothing
    st.text_area("Text", text, key=key, height=320, max_chars=20_000, persist_state=persistence)
    with st.container(horizontal=True, vertical_alignment="center"):
        if filled_button("Save the prompt", key="prompt_save", **saves):
            _save_prompt(base, name, key)
        if name in wording.edited:
            options = offered(base, "conversations.prompts.reset")
            action_button("Reset", "prompt_reset", "restart_alt", prompts.reset, name, **options)
        st.caption(f"In use: {plain(wording.version(name))}")
    if name in wording.edited:
        st.code(prompts.changes(name), language="diff", wrap_lines=True)
    if versions:
        with st.expander(counted(len(versions), "earlier change"), icon=":material/history:"):
            for at, version in enumerate(versions):
                size = "reset" if not version.text else f"{len(version.text):,} characters"
                st.caption(f"{ago(version.created)}: {size}")
                if version.text and at:
                    label, bring = "Bring back", f"prompt_back_{name}_{len(versions) - at}"
                    text = version.text
                    action_button(label, bring, "undo", prompts.save, name, text, **saves)


@guard()
def _save_prompt(base: KnowledgeBase, name: str, key: str) -> None:
    base.conversations.prompts.save(name, st.session_state[key])
    st.rerun()


def _title(name: str) -> str:
    return f"{PROMPTS[name].title} ({name})"
