"""A run in one file that another machine can repeat: packed here, restored there."""

from __future__ import annotations

from rag.experiments.bundles.contents import Packer
from rag.experiments.bundles.reproduction import Deviation, Reproduction
from rag.experiments.bundles.restoring import Bundle, Restorer, opened

__all__ = ["Bundle", "Deviation", "Packer", "Reproduction", "Restorer", "opened"]
