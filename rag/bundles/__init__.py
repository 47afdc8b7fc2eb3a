"""A run in one file that another machine can repeat: packed here, restored there."""

from __future__ import annotations

from rag.bundles.opening import Bundle, opened
from rag.bundles.packing import Packer
from rag.bundles.reproduction import Deviation, Reproduction
from rag.bundles.restoring import Restorer

__all__ = ["Bundle", "Deviation", "Packer", "Reproduction", "Restorer", "opened"]
