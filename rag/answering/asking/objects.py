"""JSON objects in what a language model wrote, also amid other words."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

_DECODER = json.JSONDecoder(strict=False)  # models break lines within strings
_MOST_TRIES = 100
"""So many places where an object may begin: each is read up to where it goes wrong."""


def objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects of a text in order of their beginnings, those within others too."""
    for match in itertools.islice(re.finditer(r"\{", text), _MOST_TRIES):
        try:
            yield _DECODER.raw_decode(text, match.start())[0]
        except (ValueError, RecursionError):  # json.JSONDecodeError, or a figure of many digits
            continue
