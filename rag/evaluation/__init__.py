"""Measuring retrieval: labels, metrics, runs and what follows from them.

The names for other rooms stand in ``__init__.pyi``. Each is imported when it is first used.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
