"""Requests that nobody thought of get the answers that the OpenAPI document describes."""

import tempfile
from pathlib import Path

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rag import SCOPES, Settings, Workspace
from rag.api.mounting import Api
from tests.workspaces import QUICK, add

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


def _schema() -> tuple[schemathesis.BaseSchema, dict[str, str]]:
    """The document of a workspace that holds something of everything, with a token for all."""
    home = Path(tempfile.mkdtemp())
    workspace = Workspace(Settings.from_env({"TOUCHSTONE_API_RATE": "1000000"}, home=home))
    base = workspace.create("sample", QUICK)
    add(workspace, base, {"leave.md": "Leave is thirty days."})
    base.questions.create_set("policies")
    base.questions.add_question("policies", "How long?")
    secret, _ = workspace.access.tokens.create("fuzz", SCOPES)
    headers = {"Authorization": f"Bearer {secret}"}
    app = Starlette(routes=Api(lambda: workspace).routes())
    document = TestClient(app, headers=headers).get("/api/v1/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    schema.app = app
    return schema, headers


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
schema, headers = _schema()


@schema.parametrize()
@hypothesis.settings(
    max_examples=5,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
def test_an_answer_is_as_the_document_says(case):
    case.call_and_validate(headers=headers, checks=CHECKS)
