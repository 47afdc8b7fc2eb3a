"""``python -m rag VERB``: the verbs of the workspace, for scripts and CI.

With ``--json`` exactly one JSON object goes to standard output, everything else to standard error.
The exit codes are those that ``rag.cli.options`` and the verbs declare.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import signal
import sys
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from rag import TouchstoneError
from rag.cli import inputs
from rag.cli.options import STOPPED
from rag.cli.parser import parser

if TYPE_CHECKING:
    from rag.cli.printing import Output

log = logging.getLogger("rag")

_DENIED = frozenset([errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT])


def mcp(args: argparse.Namespace) -> Output:
    from rag.api.mcp_server import over_stdio  # slow to import, and for this verb alone

    # A thread waits for standard input, and no exception would end it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(STOPPED))
    over_stdio(inputs.workspace(args), tuple(args.scope or ("read", "ask")))
    from rag.cli.printing import Output

    return Output({}, "", silent=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return the exit code."""
    try:
        args = inputs.readable(parser(mcp).parse_args(arguments))
        output: Output = args.call(args)
    except TouchstoneError as error:
        return _fail(error.message, error.hint)
    except KeyboardInterrupt:
        hint = "Finished work is kept. Run the command again to continue."
        return _fail("Stopped.", hint, STOPPED)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _DENIED:
            return _fail(
                f"{error.filename or 'A file of the home'}: {error.strerror}.",
                "Check who may read and write the home (TOUCHSTONE_HOME), and its disk.",
            )
        identity = uuid.uuid4().hex[:8]
        log.exception("Unexpected error, id %s.", identity)
        return _fail(f"Unexpected error, id {identity}.", "The lines above have the details.")
    if output.silent:
        return 0
    try:
        _tell(_printable(output, as_json=args.json))
    except OSError as error:
        return _fail(f"The result could not be written: {error.strerror}.", "")
    code = 0 if output.passed else output.failing
    if code not in args.exits:
        raise AssertionError(f"{args.verb} does not declare the exit code {code}")
    return _fail(*output.problem, code or 2) if output.problem else code


def _tell(text: str) -> None:
    """Print a result. A reader who has seen enough, as ``head`` has, closes the pipe: no error.

    Raises OSError where it cannot be written, as on a full disk.
    """
    try:
        print(text, flush=True)
    except OSError as error:
        # What is still buffered would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def _printable(output: Output, *, as_json: bool) -> str:
    """The result in characters that standard output has: not every terminal or pipe is UTF-8."""
    from rag.cli.printing import encodable, harmless

    if as_json:
        text = json.dumps(output.data, ensure_ascii=False, default=encodable)
    else:
        text = harmless(output.text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        lossy = text.encode(encoding, "replace").decode(encoding)
        return json.dumps(output.data, default=encodable) if as_json else lossy
    return text


def _end(number: int, _frame: object) -> NoReturn:
    """Ends as by Ctrl+C, which hands the job under way back; asked twice, the process ends."""
    from rag import end_process

    signal.signal(number, signal.SIG_DFL)
    end_process()


def _fail(message: str, hint: str, code: int = 2) -> int:
    from rag.cli.printing import harmless

    print(harmless(f"Error: {message}"), file=sys.stderr)
    if hint:
        print(harmless(f"Hint: {hint}"), file=sys.stderr)
    return code


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    sys.exit(main())
