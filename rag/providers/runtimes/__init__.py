"""What runs the weights of the default embedder: OpenVINO, or onnxruntime where it is absent.

Both do the arithmetic in float32, and their vectors agree to the last digits: one vector space.
"""

from rag.providers.runtimes.choice import installed, opened
from rag.providers.runtimes.runtime import Runtime

__all__ = ["Runtime", "installed", "opened"]
