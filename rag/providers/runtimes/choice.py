"""onnxruntime, and the choice of a runtime: the faster one that runs on this computer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from rag.errors import MissingDependency
from rag.providers.runtimes.open_vino import OpenVino, Precision
from rag.providers.runtimes.runtime import Graph, Runtime, TokenIds, absent, minilm_graph
from rag.types import Vectors

log = logging.getLogger(__name__)

_NAMES = {"openvino": "OpenVINO", "onnxruntime": "onnxruntime"}


def open_runtime(
    graph: Callable[[], Graph] = minilm_graph, precision: Precision = "f32"
) -> Runtime:
    """The model, ready to run. onnxruntime has no other precision. Raises MissingDependency."""
    if installed_version("openvino"):
        try:
            return OpenVino(graph=graph, precision=precision)
        except MissingDependency:
            raise
        except Exception as error:  # its C++ side raises what it likes
            log.warning("OpenVINO does not run here, onnxruntime is used: %s", error)
    return OnnxRuntime(graph=graph)


def installed_runtime() -> str:
    """The runtime that is tried first, with its version; nothing is loaded. "" without any."""
    for package, name in _NAMES.items():
        if version := installed_version(package):
            return f"{name} {version}"
    return ""


@cache
def installed_version(package: str) -> str:
    """Return the version of a package, "" without it.

    It is looked up once: that takes a walk through folders, and every page of the chat asks.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


class OnnxRuntime:
    """Batches one after the other, each on ``threads`` threads. Raises MissingDependency."""

    batch = 4  # more is not faster on two cores, but takes memory in proportion

    def __init__(self, threads: int = 2, graph: Callable[[], Graph] = minilm_graph) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise absent(error) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Its threads would go on spinning after each question, on processors others wait for.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        loaded = graph()
        model = loaded.model if isinstance(loaded.model, bytes) else str(loaded.model)
        self._inputs = loaded.inputs
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )

    def means(self, batches: Sequence[TokenIds]) -> list[Vectors]:
        """See ``Runtime``."""
        return [self._session.run(None, self._inputs(ids))[0].mean(axis=1) for ids in batches]
