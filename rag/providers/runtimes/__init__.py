"""Runtimes of the transformers on this computer: OpenVINO, or onnxruntime if OpenVINO is absent.

Both compute in float32, and their vectors agree to the last digits: one vector space.
"""

from rag.providers.runtimes.choice import installed_runtime, open_runtime
from rag.providers.runtimes.runtime import Graph, Runtime

__all__ = ["Graph", "Runtime", "installed_runtime", "open_runtime"]
