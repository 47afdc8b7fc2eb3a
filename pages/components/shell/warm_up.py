"""Opening the workspace and loading what is slow to load, before anybody waits for it."""

from __future__ import annotations

import importlib
import logging
import time

from pages.components.shell.session import start_work, workspace

log = logging.getLogger(__name__)

_SLOW_MODULES = ("pandas", "plotly.graph_objects")
_FIRST_PAGE_SECONDS = 4.0  # left to the first visitor alone: a processor is better used there


def warm_up() -> None:
    """What fails here fails again where somebody sees it, so it is only noted."""
    try:
        workspace()
        time.sleep(_FIRST_PAGE_SECONDS)
        for name in _SLOW_MODULES:
            importlib.import_module(name)
        _search_once()
        start_work()
    except Exception:
        log.warning("The workspace could not be warmed up.", exc_info=True)


def _search_once() -> None:
    """Loads a model and an index, which every first question needs."""
    info = next((info for info in workspace().bases() if info.passages), None)
    if info is not None:
        base = workspace().base(info.name)
        base.search("warm-up", base.recipe())


def stop() -> None:
    """Stops the worker; its job resumes at the next start."""
    workspace().close()
