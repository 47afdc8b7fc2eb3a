"""What the page on the API says is what the OpenAPI document says."""

import json
import re
import shlex

import pytest

from rag import SCOPES, Recipe, Workspace
from tests.api import client
from tests.documentation import FENCED
from tests.rooms import ROOT
from tests.workspaces import workspace_at

PAGE = (ROOT / "docs" / "api.md").read_text()
ADDRESS = "http://127.0.0.1:8501"
CURLS = [
    line
    for _, block in FENCED.findall(PAGE)
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("curl")
]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, object]]]:
    workspace: Workspace = workspace_at(tmp_path_factory.mktemp("home"))
    found: dict[str, dict[str, dict[str, object]]] = (
        client(workspace).get("/api/v1/openapi.json").json()["paths"]
    )
    workspace.close()
    return found


def named(path: str) -> re.Pattern[str]:
    """What an address of the document looks like when its names are filled in."""
    return re.compile("/api" + re.sub(r"\{\w+\}", "[^/]+", path))


@pytest.mark.parametrize("line", CURLS)
def test_requests_are_addressed_to_something(line, document):
    words = shlex.split(line)
    path = next(word for word in words if word.startswith(ADDRESS)).removeprefix(ADDRESS)
    method = "post" if "-d" in words or "-F" in words else "get"
    (found,) = (item for each, item in document.items() if named(each).fullmatch(path))
    assert method in found
    if "-d" in words:
        body = json.loads(words[words.index("-d") + 1])
        Recipe().with_fields(body.get("fields", {}))


def test_every_address_is_listed(document):
    rows = re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE)
    told = set(re.findall(r"`([\w/-]+)`", " ".join(rows)))

    def listed(address: str) -> bool:
        above, _, last = address.rpartition("/")
        return address in told or (above in told and last in told)

    for path in document:
        address = re.sub(r"\{(\w+)\}", _placeholder, path.removeprefix("/v1/"))
        address = address.replace("knowledge-bases/KB", "KB")
        if "/question-sets/SET/" in address:
            address = address.removesuffix("/ID")
        assert listed(address), path


def _placeholder(found: re.Match[str]) -> str:
    names = {
        "kb": "KB",
        "system": "NAME",
        "store": "KB",
        "version": "HASH",
        "build": "HASH",
        "member": "EMAIL",
        "questions": "SET",
        "run": "RUN",
        "kind": "KIND",
        "fusion": "HASH",
    }
    return names.get(found[1], "ID")


def test_every_scope_is_told():
    assert set(re.findall(r"^\| `(\w+)` \| to ", PAGE, re.MULTILINE)) == set(SCOPES)
