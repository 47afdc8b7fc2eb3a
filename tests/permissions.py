"""The page docs/permissions.md from the declarations: ``python -m tests.permissions > FILE``."""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rag.operation import Operation
from rag.workspace.authorization import WHOLE_BASE
from tests.workspaces import workspace_at

_HEADER = """# Permissions

Each operation of a knowledge base declares its least role above its method (`@operation`), and
pages, REST and MCP all call the same operation. This page is generated from the declarations:
`python -m tests.permissions > docs/permissions.md`.

- **role**: the least role. `guest` is a person with a link. `server` is the command line alone,
  because the operation reads files of the server.
- **audit**: the kind of the entry in the audit log. Operations without one store nothing permanent,
  or only read.
- **models**: the steps of a recipe that the operation runs, and that may ask a paid model. An
  operation that takes a recipe runs those of a search, unless the column says otherwise.

| operation | role | audit | models |
|---|---|---|---|
"""


def page(operations: Mapping[str, Operation]) -> str:
    """Return the text of the page."""
    whole = {path: Operation(role, models="none") for path, role in WHOLE_BASE.items()}
    rows = sorted({**operations, **whole}.items())
    return _HEADER + "".join(
        f"| `{path}` | {one.role} | {one.audit} | {_models(one)} |\n" for path, one in rows
    )


def _models(operation: Operation) -> str:
    return "" if operation.models == "search" else operation.models


def main() -> None:
    """Print the page."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = workspace_at(Path(folder))
        sys.stdout.write(page(workspace.operations))
        workspace.close()


if __name__ == "__main__":
    main()
