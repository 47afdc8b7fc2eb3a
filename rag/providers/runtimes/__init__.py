"""Runtimes of the default embedder: OpenVINO, or onnxruntime if OpenVINO is absent.

Both compute in float32, and their vectors agree to the last digits: one vector space.
"""

from rag.providers.runtimes.choice import installed_runtime, open_runtime
from rag.providers.runtimes.runtime import Runtime

__all__ = ["Runtime", "installed_runtime", "open_runtime"]
