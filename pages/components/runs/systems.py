"""The tab Systems: other retrievers, tried with a question, evaluated, and held beside a recipe."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.labels import question_sets
from pages.components.runs.table import SELECTED
from pages.components.shell.buttons import action_button, confirm_button, dialog, filled_button
from pages.components.shell.guard import guard
from pages.components.shell.job_progress import failure, follow
from pages.components.shell.session import allowed, cache_data, offered
from pages.components.shell.text import ago, clipped, plain, read_headers
from rag import (
    LOCAL_FORMS,
    SYSTEM_FORMS,
    HttpSystem,
    KnowledgeBase,
    ParityData,
    Run,
    SystemData,
    SystemTrialData,
    counted,
    local_system,
    mcp_system,
    percent,
    system_of,
)

_COMMAND = "command"
_TITLES = {
    "touchstone": "Touchstone",
    "dify-external": "Dify, external knowledge",
    "dify-dataset": "Dify, dataset",
    "openai": "OpenAI vector store",
    "ragflow": "RAGFlow",
    "mcp": "MCP server",
    _COMMAND: "MCP server, a command",
    "grep": "Grep: lines with the words",
    "documents": "Whole documents",
    "": "Other",
}
_PATHS = {
    "results": ("Results", "data.results"),
    "text": ("Text", "text"),
    "title": ("Title", "title"),
    "id": ("ID", "id"),
    "score": ("Score", "score"),
}
_ADDING, _TRYING = "systems_adding", "systems_trying"
_SHOWN = 200  # characters of a result
_PARITY_K = 10


def systems_view(base: KnowledgeBase, tab: str) -> None:
    """All systems with their latest runs, and a form for a new one; ``tab`` is its tabs' key."""
    stored = base.systems.list_all()
    sets = [item.name for item in base.questions.list_all()]
    question_sets.settle_set(sets)
    st.caption(
        "A system is another retriever: a service that returns texts for a question. Its results "
        "are located in your documents, so its runs compare with those of your recipes."
    )
    if not stored:
        st.markdown("No systems yet. Add one, test it with a question, then evaluate it.")
    if stored and sets:
        st.selectbox("Question set", sets, key=question_sets.SET, bind="query-params", width=320)
    chosen = st.session_state.get(question_sets.SET) or (sets[0] if sets else "")
    if stored and not sets:
        st.page_link("metrics.py", label="Get questions to evaluate", icon=":material/quiz:")
    for item in stored:
        with guard():
            _card(base, item, chosen, tab)
    if not stored or st.session_state.get(_ADDING):
        _new(base, cancel=bool(stored))
    else:
        options = offered(base, "systems.add")
        action_button("Add a system", "systems_add", "add", _set, _ADDING, True, **options)


def _card(base: KnowledgeBase, item: SystemData, set_name: str, tab: str) -> None:
    with st.container(border=True, gap="small"):
        place = item.definition.url or item.definition.command or "this knowledge base"
        st.markdown(f"**{plain(item.name)}** {_badges(item)}  \n:small[{plain(place)}]")
        job = base.systems.latest_evaluation(set_name, item.name)
        works = job is not None and job.active
        against = None
        if job is not None and works:
            follow(job.id, f"system_{item.name}")
        elif set_name:
            failure(job)
            with guard():
                against = _measured(base, item, set_name)
        with st.container(horizontal=True, gap="small"):
            _buttons(base, item, "" if works else set_name)
            if against:
                key = f"systems_compare_{item.name}"
                action_button("Compare", key, "compare_arrows", _compare, tab, *against)
        if st.session_state.get(_TRYING) == item.name:
            _try(base, item)


def _buttons(base: KnowledgeBase, item: SystemData, set_name: str) -> None:
    name = item.name
    if set_name:
        start = base.systems.start_evaluation
        options = offered(base, "systems.start_evaluation")
        key = f"systems_evaluate_{name}"
        action_button("Evaluate", key, "monitoring", start, set_name, name, **options)
    label, value = ("Close", "") if st.session_state.get(_TRYING) == name else ("Test", name)
    options = offered(base, "systems.test")
    action_button(label, f"systems_test_{name}", "play_arrow", _set, _TRYING, value, **options)
    key = f"systems_delete_{name}"
    options = offered(base, "systems.remove", key=key, icon=":material/delete:")
    if st.button("Delete", **options):
        _confirm_delete(base, name)


def _badges(item: SystemData) -> str:
    title = _TITLES.get(item.definition.form, item.definition.form)
    unset = ", ".join(item.unset)
    missing = f" :orange-badge[:material/key_off: needs {plain(unset)}]" if unset else ""
    return f":gray-badge[{plain(title)}] :gray-badge[version {item.version}]{missing}"


def _measured(base: KnowledgeBase, item: SystemData, set_name: str) -> tuple[str, str] | None:
    """The latest run of a system; return its id and that of a run to compare it with."""
    runs = base.runs.list_all(set_name)
    mine = next((run for run in runs if _is_of(run, item)), None)
    if mine is None:
        st.caption(f"Not evaluated on *{plain(set_name)}* yet.")
        return None
    own = _standing(base, item, mine, runs)
    if mine.system and mine.system.errors:
        _errors(base, mine)
    return (mine.id, own.id) if own else None


def _is_of(run: Run, item: SystemData) -> bool:
    return run.system is not None and (run.system.kind, run.system.name) == ("http", item.name)


def _standing(base: KnowledgeBase, item: SystemData, mine: Run, runs: Sequence[Run]) -> Run | None:
    """The figure of a run, and its parity with the latest run of the saved recipe; return that."""
    value = mine.metrics.get("ndcg@10")
    figure = "" if value is None else f": nDCG@10 **{value:.3f}**"
    is_old = mine.system is not None and mine.system.version != item.version
    version = f", version {mine.system.version}" if is_old and mine.system else ""
    line = f"Evaluated {ago(mine.created)}{version}{figure}."
    saved = base.recipe()
    of_recipes = [run for run in runs if run.recipe]
    own = next((run for run in of_recipes if run.recipe == saved), next(iter(of_recipes), None))
    if own is None:
        st.markdown(f"{line} Evaluate a recipe on Metrics to compare the two.")
        return None
    parity = _parity(base, mine.id, own.id)
    title = "the saved recipe" if own.recipe == saved else "the latest run of a recipe"
    st.markdown(
        f"{line} {parity.equal:,} of {counted(len(parity.questions), 'question')} have the same "
        f"first {_PARITY_K} passages as {title}; overlap {percent(parity.overlap)}."
    )
    return own


@cache_data(32)
def _parity(base: KnowledgeBase, run_id: str, other_id: str) -> ParityData:
    return base.runs.parity(run_id, other_id, _PARITY_K)


def _compare(tab: str, run_id: str, other_id: str) -> None:
    """Open the comparison of two runs on the tab Runs."""
    st.query_params[SELECTED] = f"{run_id},{other_id}"
    st.session_state[tab] = "Runs"


def _errors(base: KnowledgeBase, run: Run) -> None:
    errors = run.system.errors if run.system else {}
    with st.expander(f"{counted(len(errors), 'question')} failed", icon=":material/error:"):
        texts = {item.id: item.text for item in base.systems.questions(run.question_set)}
        for name, reason in list(errors.items())[:20]:
            st.markdown(f"{plain(texts.get(name, name))}  \n:small[:gray[{plain(reason)}]]")


def _try(base: KnowledgeBase, item: SystemData) -> None:
    question = st.text_input("Question", key=f"systems_question_{item.name}")
    if st.button("Ask", key=f"systems_ask_{item.name}", disabled=not question.strip()):
        with guard(), st.spinner(f"Asking {plain(item.name)} …"):
            _show(base.systems.test(item.name, question))


def _show(trial: SystemTrialData) -> None:
    st.caption(
        f"{counted(len(trial.results), 'result')} in {trial.seconds:.1f} s, {trial.located} of "
        "them located in your documents"
    )
    for result in trial.results:
        page = f", page {result.page}" if result.page else ""
        where = f"{plain(result.document)}{page}" if result.document else ":orange[in no document]"
        score = "" if result.score is None else f" :gray[· score {result.score:.3g}]"
        text = plain(clipped(result.text, _SHOWN)) or "no text"
        st.markdown(f"**{result.rank}** · {where}{score}  \n:small[:gray[{text}]]")


def _new(base: KnowledgeBase, *, cancel: bool) -> None:
    if not allowed(base, "systems.add"):
        return
    with st.container(border=True):
        st.markdown("**Add a system**")
        # No form of Streamlit: that keeps what is typed to itself until it is sent.
        form = st.selectbox(
            "Product", list(_TITLES), format_func=_TITLES.__getitem__, key="systems_form", width=320
        )
        match form:
            case "":
                _free()
            case "grep" | "documents":
                _local()
            case "command":
                _command()
            case _:
                _product()
        question = st.text_input(
            "Question to test it with", key="systems_question", placeholder="What should it find?"
        )
        with st.container(horizontal=True, gap="small"):
            tested = filled_button("Test", key="systems_try", disabled=not question.strip())
            action_button("Add", "systems_save", "add", _add, base)
            if cancel:
                action_button("Cancel", "systems_cancel", "", _set, _ADDING, False)
        if tested:
            with guard(), st.spinner("Asking the system …"):
                _show(base.systems.test_definition(_typed(), question))


def _product() -> None:
    with st.grid(2, min_column_width=240):
        st.text_input("Name", key="systems_name", placeholder="production")
        st.text_input("Address", key="systems_address", placeholder="https://search.example")
        st.text_input("Knowledge base, dataset or vector store", key="systems_collection")
        st.text_input(
            "Variable of its key",
            key="systems_key",
            placeholder="TOUCHSTONE_TOOL_NAME",
            help="The name of an environment variable of the server, never the key itself.",
        )
        st.number_input("Results", 1, 100, 10, key="systems_depth")


def _local() -> None:
    with st.grid(2, min_column_width=240):
        st.text_input("Name", key="systems_name", placeholder="grep")
        st.number_input("Results", 1, 100, 10, key="systems_depth")


def _command() -> None:
    with st.grid(2, min_column_width=240):
        st.text_input("Name", key="systems_name", placeholder="docs-server")
        st.text_input(
            "Command",
            key="systems_command",
            placeholder="uvx some-server --folder docs",
            help="It runs with the rights of this server, so only an administrator can add it.",
        )
        st.text_input("Tool", key="systems_tool", placeholder="search")
        st.text_input("Argument with the question", key="systems_argument", placeholder="query")
        st.number_input("Results", 1, 100, 10, key="systems_depth")


def _free() -> None:
    st.text_input("Name", key="systems_name", placeholder="production")
    st.text_input(
        "Address",
        key="systems_url",
        placeholder="https://search.example/api?q={question}",
        help="Write {question} where the question goes, here or in the body.",
    )
    st.text_area(
        "Body, as JSON; empty for a GET request",
        key="systems_body",
        placeholder='{"query": "{question}", "limit": 10}',
    )
    st.text_area(
        "Headers, one a line",
        key="systems_headers",
        placeholder="Authorization: Bearer TOUCHSTONE_TOOL_KEY",
        help="Names of environment variables that begin with TOUCHSTONE_TOOL_, never values.",
    )
    st.caption("The places of the fields in the answer, as JMESPath.")
    with st.grid(3, min_column_width=160):
        for path, (label, example) in _PATHS.items():
            st.text_input(label, key=f"systems_{path}", placeholder=example)


def _typed() -> HttpSystem:
    """The definition in the form, as it is now. Raises InvalidInput."""

    def value(field: str) -> str:
        return str(st.session_state[f"systems_{field}"]).strip()

    form = st.session_state["systems_form"]
    if form in LOCAL_FORMS:
        return local_system(value("name"), form, int(value("depth")))
    if form == _COMMAND:
        return mcp_system(
            value("name"),
            command=value("command"),
            tool=value("tool") or "search",
            arguments={value("argument") or "query": "{question}"},
            depth=int(value("depth")),
        )
    if form in SYSTEM_FORMS:
        place = value("address"), value("collection"), int(value("depth"))
        return system_of(form, value("name"), *place, value("key"))
    fields = {field: value(field) for field in ("name", "url", "body", *_PATHS)}
    fields["text"] = fields["text"] or "text"
    headers = read_headers(value("headers"))
    method = "POST" if fields["body"] else "GET"
    return HttpSystem.parse({**fields, "headers": headers, "method": method})


def _add(base: KnowledgeBase) -> None:
    base.systems.add(_typed())
    st.session_state[_ADDING] = False


def _set(key: str, value: object) -> None:
    st.session_state[key] = value


@dialog("Delete this system?", icon=":material/delete:")
def _confirm_delete(base: KnowledgeBase, name: str) -> None:
    st.markdown(f"**{plain(name)}** and its versions are deleted. Its runs stay.")
    confirm_button("Delete", "systems_confirm_delete", base.systems.remove, name)
