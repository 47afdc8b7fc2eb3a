"""The default embedder under onnxruntime, which has a wheel nearly everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from rag.providers.runtimes.runtime import TokenIds, absent, inputs, weights
from rag.types import Vectors


class OnnxRuntime:
    """Batches one after the other, each on ``threads`` threads. Raises MissingDependency."""

    batch = 4  # more is not faster on two cores, but takes memory in proportion

    def __init__(self, threads: int = 2) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise absent(error) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Its threads would go on spinning after each question, on processors others wait for.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(weights()), options, providers=["CPUExecutionProvider"]
        )

    def means(self, batches: Sequence[TokenIds]) -> list[Vectors]:
        """See ``Runtime``."""
        return [self._session.run(None, inputs(ids))[0].mean(axis=1) for ids in batches]
