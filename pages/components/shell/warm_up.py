"""Opening the workspace and loading what is slow to load, before anybody waits for it."""

from __future__ import annotations

import gc
import importlib
import logging
import threading
import time
from contextlib import suppress

from pages.components.shell.session import opened, start_work

log = logging.getLogger(__name__)

_SLOW_MODULES = ("pandas", "plotly.graph_objects")
_SECONDS_BETWEEN_COLLECTIONS = 30.0
_FIRST_PAGE_SECONDS = 4.0  # left to the first visitor alone: a processor is better used there

_stopped = threading.Event()


def warm_up() -> None:
    """Load what every first question needs, then collect garbage until ``stop``."""
    _load()
    _collect_garbage()


def _load() -> None:
    """Open the workspace, import the slow modules, warm up the workspace and start the worker.

    Only log an error: it occurs again on the page of a visitor, where it is shown.
    """
    try:
        opened()
        time.sleep(_FIRST_PAGE_SECONDS)
        for name in _SLOW_MODULES:
            importlib.import_module(name)
        opened().warm_up()
    except Exception:
        log.warning("The workspace could not be warmed up.", exc_info=True)
    _start_work()


def _start_work() -> None:
    """Start the worker if it does not work yet, whatever failed before."""
    with suppress(Exception):  # logged where the workspace was opened first
        start_work()


def _collect_garbage() -> None:
    """Free cycles of old reruns now and then: after every rerun would cost more than the rerun.
    Where the worker could not be started, try that again.

    What is loaded by now stays for good, so it is not looked through again.
    """
    gc.collect()
    gc.freeze()
    while not _stopped.wait(_SECONDS_BETWEEN_COLLECTIONS):
        _start_work()
        gc.collect()


def stop() -> None:
    """Stop the worker; its job resumes at the next start."""
    _stopped.set()
    opened().close()
