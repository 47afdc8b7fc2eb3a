"""``python -m rag VERB``: the verbs of the workspace, for scripts and CI.

With ``--json`` exactly one JSON object goes to standard output, everything else to standard error.
Exit codes: 0 done, 1 a check failed, 2 bad usage or bad input, or nothing came of it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import uuid
from collections.abc import Sequence

from rag import TouchstoneError
from rag.cli.parser import parser
from rag.cli.verbs import VERBS

log = logging.getLogger("rag")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    args = parser().parse_args(arguments)
    try:
        output = VERBS[args.verb](args)
    except TouchstoneError as error:
        return _fail(error.message, error.hint)
    except KeyboardInterrupt:
        return _fail("Stopped.", "What was finished stays; run the command again to go on.")
    except Exception:
        identity = uuid.uuid4().hex[:8]
        log.exception("Unexpected error, id %s.", identity)
        return _fail(f"Unexpected error, id {identity}.", "The lines above have the details.")
    _tell(json.dumps(output.data, ensure_ascii=False) if args.json else output.text)
    if output.problem:
        return _fail(*output.problem)
    return 0 if output.passed else 1


def _tell(text: str) -> None:
    """Prints a result. A reader who has seen enough, as ``head`` has, closes the pipe: no error."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # What is still buffered would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, hint: str) -> int:
    print(f"Error: {message}", file=sys.stderr)
    if hint:
        print(f"Hint: {hint}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
