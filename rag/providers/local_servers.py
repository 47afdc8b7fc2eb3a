"""Servers of language models on this computer: each is known by what it answers, not by its port.

Nothing is sent but requests that list models, and no key goes to an address that nobody set.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.providers.endpoint import RetryPolicy, model_of, resolve
from rag.providers.table import ROWS, TRAITS, ProviderRow, Variables, chat_row, may_cost

if TYPE_CHECKING:
    import httpx

GUESSED_SECONDS, CONFIGURED_SECONDS = 0.5, 2.0
"""How long a server may take in all, at its usual address and at one that was set."""
_MOST_BYTES = 2_000_000
_MOST_MODELS = 24
"""Models of a server whose kind or size is asked for: each takes a request."""

WORDING = 0.3e9
"""Parameters of a model below which it does not even word quotes."""
_PARAMETER_COUNT = "general.parameter_count"
"""The name of a model's size in what Ollama tells of it."""
_SIZE = re.compile(
    r"(?<![a-z\d.])(?:(?P<experts>\d+)x)?(?P<number>\d+(?:\.\d+)?)"
    r"(?P<unit>b|(?<=\d\d)m)(?![a-z\d])",  # a window of "1M" tokens is no size
    re.IGNORECASE,
)
_IN_CONTAINER = Path("/.dockerenv")

Ask = Callable[..., Any]
"""Takes a path, and a body to post; returns the JSON of the reply, None for any other reply."""
Models = dict[str, bool]
"""Whether a model embeds, by its name."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that runs, and the models that it offers; those that are loaded come first.

    ``configured`` says that a variable names its address; else it is the usual one. ``to_set`` is
    the variable with the value that it needs before it can be used, such as one on the host of this
    container; "" where it can be used at once. ``too_small`` are chat models that are known to have
    too few parameters to word quotes: they are offered for nothing.
    """

    provider: str
    label: str
    address: str
    configured: bool
    chat_models: tuple[str, ...]
    embedding_models: tuple[str, ...]
    to_set: str = ""
    too_small: tuple[str, ...] = ()


def find_local_servers(settings: Variables) -> list[LocalServer]:
    """Return the model servers that run on this computer or at a configured address.

    All are asked at once: the usual addresses for half a second, configured ones for two.
    """
    import httpx  # takes a while, and most commands ask no server

    rows = [row for row in ROWS if row.name in IDENTIFIED]
    client, pool = httpx.Client(trust_env=False), ThreadPoolExecutor(len(rows))
    futures = [pool.submit(_server, row, settings, client) for row in rows]
    done, _ = wait(futures, CONFIGURED_SECONDS)
    pool.shutdown(wait=False)  # to look up a name may take longer than any limit of a request
    if len(done) == len(futures):
        client.close()
    servers = [future.result() for future in futures if future in done]
    return [server for server in servers if server is not None]


def parameters(provider: str, model: str | None, settings: Variables) -> float | None:
    """Return the number of parameters of a chat model; None where nothing tells it.

    Ollama, llama.cpp and LM Studio do, and many names ("qwen3:1.7b"). A service that may cost
    money is not asked. Raises InvalidRecipe.
    """
    import httpx

    row = chat_row(provider)
    name, size = model_of(row, model or row.chat_model, settings), None
    if row.wire in ("openai", "ollama") and not may_cost(provider, settings):
        endpoint = resolve(row, settings, RetryPolicy(CONFIGURED_SECONDS, tries=1))
        deadline, root = time.monotonic() + CONFIGURED_SECONDS, server_root(endpoint.base_url)
        with httpx.Client(trust_env=False) as client:
            size = _told_size(row, name, partial(_reply, client, root, {}, deadline))
    return size or _named_size(name)


def _told_size(row: ProviderRow, name: str, ask: Ask) -> float | None:
    """The parameters of a model by what its server tells of it."""
    if row.wire == "ollama":
        shown = ask("/api/show", {"model": name})
        count = _get(_get(shown, "model_info"), _PARAMETER_COUNT)
        label = _get(_get(shown, "details"), "parameter_size")
    elif row.name == "lmstudio":
        entries = _entries(ask("/api/v1/models"), "models")
        own = [one for one in entries if name in _names(one)]
        count, label = None, next((_get(one, "params_string") for one in own), None)
    else:
        entries = _entries(ask("/v1/models"), "data")
        own = [one for one in entries if one.get("id") == name] or entries[:1]
        count = next((_get(one.get("meta"), "n_params") for one in own), None)
        label = None if count else _get(ask("/props"), "model_path")
    if isinstance(count, int | float) and not isinstance(count, bool):
        return float(count)
    return _named_size(label) if isinstance(label, str) else None


def _named_size(name: str) -> float | None:
    """The parameters by a name: "qwen3:1.7b", "Mixtral-8x7B", "smollm2:135M", the path of a file.

    Files stand in folders that may be called anything.
    """
    size = _SIZE.search(name.replace("\\", "/").rpartition("/")[2])
    if size is None:
        return None
    unit = 1e9 if size["unit"] in "bB" else 1e6
    return int(size["experts"] or 1) * float(size["number"]) * unit


def _server(row: ProviderRow, settings: Variables, client: httpx.Client) -> LocalServer | None:
    """The server of a row if it runs: what its models are tells that it does."""
    configured = bool(settings.variable(row.base_url_variable))
    seconds = CONFIGURED_SECONDS if configured else GUESSED_SECONDS
    endpoint = resolve(row, settings, RetryPolicy(seconds, tries=1))
    headers = {"Authorization": f"Bearer {endpoint.key}"} if configured and endpoint.key else {}
    usual, urls = endpoint.base_url, [endpoint.base_url]
    if not configured and _IN_CONTAINER.exists():
        urls.append(usual.replace("//127.0.0.1", "//host.docker.internal"))
    for url in urls:
        ask = partial(_reply, client, server_root(url), headers, time.monotonic() + seconds)
        models = IDENTIFIED[row.name](ask)
        if models is not None:
            chat_models = [name for name, embeds in models.items() if not embeds]
            sizes = {
                name: _named_size(name) or _told_size(row, name, ask) or WORDING
                for name in chat_models[:_MOST_MODELS]
            }
            too_small = tuple(name for name, size in sizes.items() if size < WORDING)
            return LocalServer(
                row.name,
                row.label,
                replace(endpoint, base_url=url).origin,
                configured,
                tuple(name for name in chat_models if name not in too_small),
                tuple(name for name, embeds in models.items() if embeds),
                to_set="" if url == usual else f"{row.base_url_variable}={url}",
                too_small=too_small,
            )
    return None


def _reply(
    client: httpx.Client,
    root: str,
    headers: Mapping[str, str],
    deadline: float,
    path: str,
    body: Any = None,
) -> Any:
    """The JSON of a reply by a deadline of time.monotonic(); None for every other reply."""
    import httpx

    remaining, method, content = deadline - time.monotonic(), "GET" if body is None else "POST", b""
    if remaining <= 0:
        return None
    try:
        with client.stream(
            method, root + path, json=body, headers=headers, timeout=remaining
        ) as response:
            for block in response.iter_bytes():
                content += block
                if len(content) > _MOST_BYTES or time.monotonic() > deadline:
                    return None
            return json.loads(content) if response.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        return None


def server_root(url: str) -> str:
    """Return the address of a server without the path of its OpenAI-compatible interface."""
    url = url if "://" in url else f"http://{url}"
    return url.rstrip("/").removesuffix("/v1").removesuffix("/engines")


def _ollama(ask: Ask) -> Models | None:
    if not isinstance(_get(ask("/api/version"), "version"), str):
        return None
    entries = _entries(ask("/api/tags"), "models")
    # Models of Ollama's cloud are listed too, but do not run here.
    names = [name for entry in entries if not entry.get("remote_host") for name in _names(entry)]
    kinds = {
        name: _get(ask("/api/show", {"model": name}), "capabilities")
        for name in names[:_MOST_MODELS]
    }
    return {
        name: "completion" not in kinds[name]
        if isinstance(kinds.get(name), list)
        else _is_named_embedder(name)
        for name in names
    }


def _lm_studio(ask: Ask) -> Models | None:
    entries = _entries(ask("/api/v1/models"), "models") or _entries(ask("/api/v0/models"), "data")
    known = [
        (not (entry.get("loaded_instances") or entry.get("state") == "loaded"), name, kind)
        for entry in entries
        if (kind := entry.get("type")) in ("llm", "vlm", "embedding", "embeddings")
        for name in _names(entry)
    ]
    models = {
        name: kind.startswith("embedding")
        for _, name, kind in sorted(known, key=lambda one: one[0])
    }
    return models or None


def _llama_cpp(ask: Ask) -> Models | None:
    properties = ask("/props") if _get(ask("/health"), "status") else None
    if not {"default_generation_settings", "model_path"} & {*(properties or ())}:
        return None
    return _served(ask("/v1/models"))


def _vllm(ask: Ask) -> Models | None:
    listed = ask("/v1/models") if isinstance(_get(ask("/version"), "version"), str) else None
    owners = {entry.get("owned_by") for entry in _entries(listed, "data")}
    return _served(listed) if "vllm" in owners else None


def _docker(ask: Ask) -> Models | None:
    listed = ask("/engines/v1/models")
    return _served(listed) if _get(listed, "object") == "list" else None


IDENTIFIED: dict[str, Callable[[Ask], Models | None]] = {
    "ollama": _ollama,
    "lmstudio": _lm_studio,
    "llamacpp": _llama_cpp,
    "vllm": _vllm,
    "docker": _docker,
}
"""By provider, what reads the models of its server; None where another program answers."""


def _served(listed: Any) -> Models | None:
    """The models of a list in the form of OpenAI, which does not tell their kind."""
    if not isinstance(_get(listed, "data"), list):
        return None
    names = chain.from_iterable(map(_names, _entries(listed, "data")))
    return {name: _is_named_embedder(name) for name in names}


def _names(entry: Any) -> Iterator[str]:
    name = entry.get("key") or entry.get("id") or entry.get("name")
    if isinstance(name, str) and name:
        yield name


def _is_named_embedder(model: str) -> bool:
    """Whether a model is one of the table of embedding models, by its name without folders."""
    name = model.lower().replace("\\", "/").rpartition("/")[2]
    return any(fnmatchcase(name, entry.pattern) for entry in TRAITS)


def _get(reply: Any, key: str) -> Any:
    return reply.get(key) if isinstance(reply, dict) else None


def _entries(reply: Any, key: str) -> list[Any]:
    entries = _get(reply, key)
    return (
        [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    )
