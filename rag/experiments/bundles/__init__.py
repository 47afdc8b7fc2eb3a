"""A run in one file that another machine can repeat: packed here, restored there."""

from __future__ import annotations

from rag.experiments.bundles.opening import Bundle, opened
from rag.experiments.bundles.packing import Packer
from rag.experiments.bundles.reproduction import Deviation, Reproduction
from rag.experiments.bundles.restoring import Restorer

__all__ = ["Bundle", "Deviation", "Packer", "Reproduction", "Restorer", "opened"]
