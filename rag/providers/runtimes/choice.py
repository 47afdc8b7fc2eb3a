"""Choice of the runtime: the faster one that is installed and runs on this computer."""

from __future__ import annotations

import logging
from importlib.metadata import PackageNotFoundError, version

from rag.errors import MissingDependency
from rag.providers.runtimes.onnx import OnnxRuntime
from rag.providers.runtimes.open_vino import OpenVino
from rag.providers.runtimes.runtime import Runtime

log = logging.getLogger(__name__)

_NAMES = {"openvino": "OpenVINO", "onnxruntime": "onnxruntime"}


def open_runtime() -> Runtime:
    """The model, ready to run. Raises MissingDependency."""
    if _version("openvino"):
        try:
            return OpenVino()
        except MissingDependency:
            raise
        except Exception as error:  # its C++ side raises what it likes
            log.warning("OpenVINO does not run here, onnxruntime is used: %s", error)
    return OnnxRuntime()


def installed_runtime() -> str:
    """The runtime that is tried first, with its version; nothing is loaded. "" without any."""
    for package, name in _NAMES.items():
        if version := _version(package):
            return f"{name} {version}"
    return ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
