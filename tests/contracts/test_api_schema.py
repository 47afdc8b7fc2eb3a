"""The OpenAPI document says what each operation answers, and which problems it may have."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.api import client
from tests.workspaces import workspace_at

PROBLEM = "application/problem+json"
METHODS = {"HEAD", "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}
OTHER_TYPES = {
    "ask_question": ["application/json", "text/event-stream"],
    "stream_job_events": ["text/event-stream"],
    "download_original": ["*/*"],
    "export_question_set": ["application/jsonl"],
    "get_report": ["text/html"],
}
"""The media types of operations that do not answer with JSON alone."""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    workspace = workspace_at(tmp_path_factory.mktemp("home"))
    document: dict[str, Any] = client(workspace).get("/api/v1/openapi.json").json()
    workspace.close()
    return document


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from path.values()


def answers(operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The responses of an operation that are no problems, by status."""
    return {
        status: response
        for status, response in operation["responses"].items()
        if "$ref" not in response
    }


def test_the_document_is_valid_by_the_specification_that_it_names(document):
    assert document["openapi"].startswith("3.1")
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_methods_are_answered_or_named(document, tmp_path_factory):
    """HEAD answers where GET does; 405 lists every method of the address."""
    workspace = workspace_at(tmp_path_factory.mktemp("methods"))
    api = client(workspace)
    for path, methods in document["paths"].items():
        address = "/api" + re.sub(r"\{\w+\}", "1", path)
        answers = {name: api.request(name, address) for name in METHODS}
        working = {name for name, answer in answers.items() if answer.status_code != 405}
        assert {method.upper() for method in methods} <= working, path
        for name in METHODS - working:
            assert set(answers[name].headers["allow"].split(", ")) == working, path
        if "GET" in working:
            head, get = answers["HEAD"], api.get(address)
            assert (head.status_code, head.content) == (get.status_code, b""), path
            assert head.headers["content-type"] == get.headers["content-type"]
    workspace.close()


def test_every_operation_names_the_schema_of_its_answer(document):
    described = []
    for operation in operations(document):
        ((status, answer),) = answers(operation).items()
        name = operation["operationId"]
        if status == "204":
            assert "content" not in answer, name
            described.append(name)
            continue
        content = answer["content"]
        assert list(content) == OTHER_TYPES.get(name, ["application/json"]), name
        for media_type in content.values():
            schema = media_type["schema"]
            assert schema.keys() & {"$ref", "anyOf", "type"}, name
            described.append(name)
    assert len(set(described)) == 88


def test_to_save_a_recipe_takes_the_scope_write(document):
    named = {operation["operationId"]: operation["security"] for operation in operations(document)}
    assert named["replace_recipe"] == [{"bearer": ["write"]}]


def test_every_operation_names_its_problems(document):
    shared = document["components"]["responses"]
    for operation in operations(document):
        statuses = [int(status) for status in operation["responses"] if status >= "400"]
        assert {401, 403, 422, 429} <= set(statuses), operation["operationId"]
        assert ("{" in operation["operationId"]) or statuses == sorted(statuses)
        for status in statuses:
            reference = operation["responses"][str(status)]
            assert reference == {"$ref": f"#/components/responses/Problem{status}"}
    for name, response in shared.items():
        (problem,) = response["content"].items()
        assert problem[0] == PROBLEM
        assert problem[1]["schema"] == {"$ref": "#/components/schemas/Problem"}
        assert problem[1]["example"]["status"] == int(name.removeprefix("Problem"))


def test_examples_are_as_their_schema_says(document):
    examples = 0
    for operation in operations(document):
        for body in (operation.get("requestBody", {}), *answers(operation).values()):
            if content := body.get("content", {}).get("application/json"):
                schema = {**content["schema"], "components": document["components"]}
                problems = Draft202012Validator(schema).iter_errors(content["example"])
                told = [problem.message for problem in problems]
                assert told == [], operation["operationId"]
                examples += 1
    assert examples >= 100
    by_name = {operation["operationId"]: operation for operation in operations(document)}
    search = by_name["search_passages"]
    example = search["requestBody"]["content"]["application/json"]["example"]
    assert example == {"question": "How long may unused leave be carried over?"}
    hit = search["responses"]["200"]["content"]["application/json"]["example"]["hits"][0]
    assert (hit["document"], hit["rank"]) == ("leave.md", 1)


def test_a_field_that_is_always_there_is_required(document):
    schemas = document["components"]["schemas"]
    answered = {name: schema for name, schema in schemas.items() if name.endswith("Data")}
    assert len(answered) >= 40
    for name, schema in answered.items():
        assert schema["required"] == list(schema["properties"]), name
        assert schema["additionalProperties"] is False, name
