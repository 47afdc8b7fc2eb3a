"""An embedder under OpenVINO, which is faster where the processor is one of Intel's kind.

Several runs go on at once, each on one thread: the sums of a text are in the same order however
many processors there are, and whatever else is embedded. Nothing is kept on disk.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, Literal

import numpy as np

from rag.providers.runtimes.runtime import Graph, TokenIds, absent, minilm_graph
from rag.types import Vectors

if TYPE_CHECKING:
    import openvino

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
        _silence()
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


def _silence() -> None:
    """Keep OpenVINO from telling its makers that it was imported.

    Its tools send an event to Google Analytics, unless the package for it is absent: here it is.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
