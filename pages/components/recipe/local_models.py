"""Language models that run on this computer, offered for the answers of a knowledge base."""

from __future__ import annotations

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell.buttons import action_button
from pages.components.shell.session import bases, chosen_base, refusal, workspace
from pages.components.shell.text import plain
from rag import KnowledgeBase, LocalServer, model_name

QUOTES = "extractive"
_MOST = 3
"""Models of a server with a button of their own; the recipe takes the name of any other."""


def offered_server(base: KnowledgeBase) -> LocalServer | None:
    """Return the first server whose models could answer in place of quotes, or None.

    None also for visitors who may not save the recipe.
    """
    if working_recipe.saved(base).answer.provider != QUOTES or refusal(base, "recipes.save"):
        return None
    servers = workspace().local_servers()
    return next((server for server in servers if server.chat_models and not server.to_set), None)


def running(server: LocalServer) -> str:
    """Return the sentence about a server and its models, as Markdown."""
    models = [*server.chat_models[:_MOST], *server.embedding_models[:1]] or ["no usable model"]
    models = [*map(model_name, models)]
    listed = " and ".join(filter(None, (", ".join(models[:-1]), models[-1])))
    return f"{plain(server.label)} is running here with {plain(listed)}."


def model_offer(base: KnowledgeBase) -> None:
    """Draw one line: the server that runs here, with a button for each of its first models."""
    server = offered_server(base)
    if server is not None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            text = f":material/neurology: {running(server)} Use it for answers?"
            st.caption(text, width="content")
            _buttons(base, server)


def _buttons(base: KnowledgeBase, server: LocalServer) -> None:
    for model in server.chat_models[:_MOST]:
        save, key = working_recipe.save_model, f"use_model_{server.provider}_{model}"
        action_button(
            f"Use {plain(model_name(model))}", key, "", save, base, server.provider, model
        )


def local_servers_view() -> None:
    """Draw the model servers that run here, or the command that gets one."""
    if not workspace().settings.find_models:
        return
    servers = workspace().local_servers()
    offered = offered_server(chosen_base()) if bases() else None
    for server in servers:
        facts = [f"at {server.address}"]
        if server.embedding_models:
            names = (f"{server.provider}:{name}" for name in server.embedding_models)
            facts.append(f"as embedder: {', '.join(names)}")
        if server.too_small:
            facts.append(
                f"too small to word answers: {', '.join(map(model_name, server.too_small))}"
            )
        if server.to_set:
            facts.append(f"to use it, set {server.to_set}")
        details = " · ".join(map(plain, facts))
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            text = f":material/neurology: {running(server)} :gray[{details}]"
            st.markdown(text, width="content")
            if server == offered:
                _buttons(chosen_base(), server)
    if not servers:
        st.caption(
            "For a language model on this computer, install Ollama and run "
            "`ollama pull qwen3:1.7b`."
        )
